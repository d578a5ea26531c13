"""A registry file (YAML): which checkpoints there are, what their files must be, and what may be done with them.

Its values are texts, whatever they look like: a commit of digits only stays one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from tnet_core.errors import TNetError, find_problem
from tnet_core.schemas.base import Many, Schema, check_line
from tnet_core.schemas.files import FORMAT_FILES, MAX_BYTES, REQUIRED_FILES, read_bounded
from tnet_core.schemas.hub_id import COMMIT, HubId, check_repo
from tnet_core.schemas.text import parse_yaml

SCHEMA = 1
EXAMPLE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
_MAX_REGISTRY = 256 << 10
_MAX_EXAMPLES = 24
_MAX_EXAMPLE_BYTES = 12 << 20
_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_PICTURE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*){0,4}")  # a path without surprises


def _match(pattern: str | re.Pattern[str], rule: str) -> AfterValidator:
    """Return a check for texts of one form; `rule` says which."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"must be {rule}")
        return text

    return AfterValidator(check)


def _check_citation(text: str) -> str:
    lines = text.split("\n")
    if not text or sum(map(len, lines)) > 4000 or not all(line.isprintable() for line in lines):
        raise ValueError("must be a printable text of at most 4000 characters")
    return text


def _read_digits(value: Any) -> Any:
    return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value) else value


def _find_folder(value: Any, info: ValidationInfo) -> Path:
    """Return the folder a registry means, which must lie beside it."""
    base = Path(info.context or "").resolve().parent
    relative = PurePosixPath(value if isinstance(value, str) else "")
    is_plain = isinstance(value, str) and value.isprintable() and not re.search(r"[\\:]", value)
    found = (base / relative).resolve() if is_plain and ".." not in relative.parts else base
    if relative.is_absolute() or not found.is_relative_to(base) or found == base:  # a symbolic link may point elsewhere
        raise ValueError("must be a path inside the registry's own folder")
    return found


_Text = Annotated[str, StringConstraints(strip_whitespace=True)]
_Repo = Annotated[str, AfterValidator(check_repo)]
_Commit = Annotated[str, _match(COMMIT, "a full commit: 40 lower-case hexadecimal digits")]
_Licence = Annotated[_Text, check_line(300)]


@dataclass(frozen=True)
class FileDigest:
    """The sha256 and the size that a file must have."""

    sha256: Annotated[str, _match(r"[0-9a-f]{64}", "64 lower-case hexadecimal digits")]
    size: Annotated[int, BeforeValidator(_read_digits), Field(ge=1)]  # bytes


def _check_listed(
    files: dict[str, FileDigest], what: str, fits: Callable[[str], object], find_limit: Callable[[str], int]
) -> None:
    """Refuse files of other names or larger than they may be; `what` says whose files they should be."""
    for name, file in files.items():
        if not fits(name):
            raise ValueError(f"names '{name:.40}', which is not {what}")
        if file.size > (limit := find_limit(name)):
            raise ValueError(f"gives '{name}' {file.size} bytes; at most {limit} are accepted")


def _check_files(files: dict[str, FileDigest]) -> dict[str, FileDigest]:
    whose = f"a checkpoint's ({', '.join(FORMAT_FILES)})"
    _check_listed(files, whose, FORMAT_FILES.__contains__, MAX_BYTES.__getitem__)
    for name in REQUIRED_FILES:
        if name not in files:
            raise ValueError(f"does not name {name}")
    return {name: files[name] for name in FORMAT_FILES if name in files}


def _check_pictures(files: dict[str, FileDigest]) -> dict[str, FileDigest]:
    if not 1 <= len(files) <= _MAX_EXAMPLES:
        raise ValueError(f"must list 1 to {_MAX_EXAMPLES} pictures")
    whose = f"the path of a picture ({', '.join(EXAMPLE_SUFFIXES)})"
    _check_listed(files, whose, _is_picture, lambda _: _MAX_EXAMPLE_BYTES)
    return files


def _is_picture(name: str) -> bool:
    return len(name) <= 200 and bool(_PICTURE.fullmatch(name)) and name.lower().endswith(EXAMPLE_SUFFIXES)


@dataclass(frozen=True)
class HubSource:
    """A repository at one commit; together they always mean the same files."""

    repo: _Repo
    commit: _Commit

    @property
    def id(self) -> HubId:
        return HubId(self.repo, self.commit)


@dataclass(frozen=True)
class ExampleSet:
    """Pictures of a data set at one commit, for a checkpoint's gallery."""

    dataset: _Repo  # owner/name on the Hub
    commit: _Commit
    licence: _Licence  # of the pictures
    # path in the data set -> what it must be
    files: Annotated[dict[str, FileDigest], AfterValidator(_check_pictures)] = field(hash=False)

    @property
    def id(self) -> HubId:
        return HubId(self.dataset, self.commit)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())


class Source(Schema):
    """A folder beside the registry, or a repository on the Hub."""

    folder: Annotated[Path, PlainValidator(_find_folder)] | None = None
    repo: _Repo | None = None
    commit: _Commit | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.model_fields_set not in ({"folder"}, {"repo", "commit"}):
            raise ValueError("must hold either 'folder', or 'repo' and 'commit'")
        return self


class Licence(Schema):
    weights: _Licence
    data: _Licence


class Entry(Schema):
    """Where a checkpoint is, what its files must be, and what may be done with it."""

    id: Annotated[str, _match(_ID, "1 to 64 letters, digits, '.', '_' or '-', starting with a letter or digit")]
    title: Annotated[_Text, check_line(120)]
    description: Annotated[_Text, check_line(300)]
    source: Source
    files: Annotated[dict[str, FileDigest], AfterValidator(_check_files)]
    licence: Licence
    citation: Annotated[_Text, AfterValidator(_check_citation)]
    numbers: Annotated[_Text, check_line(1000)]  # where its accuracy comes from
    published: HubSource | None = Field(None, alias="hub")  # where a folder was published
    examples: ExampleSet | None = None  # further pictures for its gallery
    _registry: Path = Path()

    def model_post_init(self, context: Any) -> None:
        self._registry = Path(context)

    @model_validator(mode="after")
    def _check_hub(self) -> Self:
        if self.published is not None and self.folder is None:
            raise ValueError("has a field 'hub', which belongs to entries whose source is a folder")
        return self

    @property
    def registry(self) -> Path:
        """The file it was read from."""
        return self._registry

    @property
    def folder(self) -> Path | None:
        """The folder of a checkpoint that is bundled beside the registry."""
        return self.source.folder

    @property
    def hub(self) -> HubSource | None:
        """The source itself, or where a bundled checkpoint was published."""
        repo, commit = self.source.repo, self.source.commit
        return HubSource(repo, commit) if repo is not None and commit is not None else self.published

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())

    @property
    def where(self) -> str:
        """'folder checkpoints/x' or 'hf:owner/name@commit'."""
        if self.folder is not None:
            return f"folder {self.folder.relative_to(self.registry.resolve().parent).as_posix()}"
        assert self.hub is not None
        return str(self.hub.id)


def _check_ids(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise ValueError(f"has the id '{entry.id}' more than once")
        seen.add(entry.id)
    return entries


def _check_schema(value: str) -> str:
    if value != str(SCHEMA):
        raise ValueError(f"is {value!r:.40}, but this version reads schema {SCHEMA}")
    return value


class RegistryFile(Schema):
    schema_number: Annotated[str, AfterValidator(_check_schema)] = Field(str(SCHEMA), alias="schema")
    checkpoints: Annotated[Many[Entry], AfterValidator(_check_ids)]


def read_registry(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a registry file, in its order."""
    return parse_registry(read_bounded(path, _MAX_REGISTRY), path)


def parse_registry(data: bytes, path: Path) -> tuple[Entry, ...]:
    """Return the entries of a text that is, or will be, stored at `path`."""
    try:
        content = _fill_empty(parse_yaml(data))
        return RegistryFile.model_validate_json(json.dumps(content), context=path).checkpoints
    except ValidationError as error:
        raise TNetError(f"Registry '{path}': {_name_entry(content, *find_problem(error))}.") from None
    except TNetError as error:
        raise TNetError(f"Registry '{path}': {error}") from None


def _fill_empty(content: Any) -> Any:
    """Let optional fields that were written without a value, which YAML reads as an empty text, mean none."""
    if isinstance(content, dict) and content.get("checkpoints") == "":
        content["checkpoints"] = []
    for entry in content.get("checkpoints", ()) if isinstance(content, dict) else ():
        for name in {"hub", "examples"} & set(entry if isinstance(entry, dict) else ()):
            entry[name] = entry[name] or None
    return content


def _name_entry(content: Any, field: str, problem: str) -> str:
    """Return a problem with the entry it belongs to, by its id where it has one."""
    at = re.match(r"checkpoints\[(\d+)\]\.?", field)
    if at is None:
        return f"its field '{field}'{problem}" if field else f"it{problem}"
    number, name = int(at[1]), field[at.end() :]
    values = content["checkpoints"][number]
    identity = values.get("id") if isinstance(values, dict) else None
    known = isinstance(identity, str) and _ID.fullmatch(identity)
    entry = f"entry '{identity}'" if known else f"entry {number + 1}"
    return f"{entry}, field '{name}'{problem}" if name else f"{entry}{problem}"
