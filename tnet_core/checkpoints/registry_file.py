"""Reading a registry file (YAML) without trusting it: bounded, without anchors, every field checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from tnet_core.checkpoints.digests import FileDigest
from tnet_core.checkpoints.entry import Entry, HubSource
from tnet_core.checkpoints.files import FORMAT_FILES, MAX_BYTES, REQUIRED_FILES, read_bounded, reason
from tnet_core.checkpoints.hub_examples import MOST_BYTES, MOST_FILES, SUFFIXES, ExampleSet
from tnet_core.checkpoints.hub_id import check_repo, is_commit
from tnet_core.errors import TNetError

SCHEMA = 1
_MAX_REGISTRY = 256 << 10
_MAX_DEPTH = 12
_MAX_PARTS = 30_000  # an entry has about sixty
_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_TEXTS = {"title": 120, "description": 300, "citation": 4000, "numbers": 1000}  # longest accepted
_FIELDS = {"id", "source", "files", "licence", "hub", "examples", *_TEXTS}
_PICTURE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*){0,4}")  # a path without surprises


def read_registry(path: Path) -> list[Entry]:
    """The entries of a registry file, in its order."""
    return parse_registry(read_bounded(path, _MAX_REGISTRY), path)


def parse_registry(data: bytes, path: Path) -> list[Entry]:
    """The entries of a text that is, or will be, stored at `path`."""
    try:
        return list(_entries(parse_yaml(data), path))
    except TNetError as error:
        raise TNetError(f"Registry '{path}': {error}") from None


def parse_yaml(data: bytes) -> Any:
    """Nested dicts, lists and texts. Nothing is converted: a commit of digits only stays a text."""
    try:
        text = data.decode("utf-8")
        depth = 0
        for number, event in enumerate(yaml.parse(text, Loader=yaml.BaseLoader)):
            if number > _MAX_PARTS:
                raise TNetError("it has too many parts for a registry.")
            # An anchor that is repeated often enough fills any memory, so there are none.
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise TNetError("anchors and aliases (& and *) are not allowed.")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise TNetError(f"it is nested deeper than {_MAX_DEPTH} levels.")
        return yaml.load(text, Loader=_Loader)
    except TNetError:
        raise
    except UnicodeDecodeError:
        raise TNetError("it is not UTF-8 text.") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        problem = getattr(error, "problem", None) or reason(error)
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise TNetError(f"it is not valid YAML: {problem}{where}.") from None


class _Loader(yaml.BaseLoader):
    """Texts only, and no key twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key, line = self.construct_object(key_node, deep=True), key_node.start_mark.line + 1
            if not isinstance(key, str):
                raise TNetError(f"a list or mapping is used as a key (line {line}).")
            if key in seen:
                raise TNetError(f"the key {key!r:.40} appears twice (line {line}).")
            seen.add(key)
        return super().construct_mapping(node, deep)


def _entries(document: Any, path: Path) -> Iterator[Entry]:
    if not isinstance(document, dict) or "checkpoints" not in document:
        raise TNetError("it needs the field 'checkpoints', a list of entries.")
    unknown = sorted(set(document) - {"schema", "checkpoints"})
    if unknown:
        raise TNetError(f"it has unknown field(s): {', '.join(name[:40] for name in unknown[:5])}.")
    if document.get("schema", str(SCHEMA)) != str(SCHEMA):
        raise TNetError(f"its schema is {document['schema']!r:.40}, but this version reads schema {SCHEMA}.")
    entries = document["checkpoints"] or []
    if not isinstance(entries, list):
        raise TNetError("the field 'checkpoints' must be a list of entries.")
    seen: set[str] = set()
    for number, value in enumerate(entries, start=1):
        entry = _Reader(value, number).entry(path)
        if entry.id in seen:
            raise TNetError(f"entry '{entry.id}', field 'id': appears twice.")
        seen.add(entry.id)
        yield entry


class _Reader:
    """Turns one entry into an `Entry`, naming entry and field in every complaint."""

    def __init__(self, value: Any, number: int) -> None:
        self.name = f"entry {number}"
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            raise self.problem("", "must be a mapping of fields")
        identity = value.get("id")
        if not isinstance(identity, str) or not _ID.fullmatch(identity):
            raise self.problem(
                "id", "must be 1 to 64 letters, digits, '.', '_' or '-', starting with a letter or digit"
            )
        self.name = f"entry '{identity}'"
        unknown = sorted(set(value) - _FIELDS)
        if unknown:
            raise self.problem(unknown[0][:40], "is not a field of an entry")

    def problem(self, field: str, what: str) -> TNetError:
        return TNetError(f"{self.name}, field '{field}': {what}." if field else f"{self.name}: {what}.")

    def entry(self, path: Path) -> Entry:
        source = self.mapping("source", self.value.get("source"))
        bundled = "folder" in source
        allowed = {"folder"} if bundled else {"repo", "commit"}
        if set(source) != allowed:
            raise self.problem("source", "must hold either 'folder', or 'repo' and 'commit'")
        hub = self.hub("source", source) if not bundled else None
        if self.value.get("hub"):
            if not bundled:
                raise self.problem("hub", "belongs to entries whose source is a folder")
            hub = self.hub("hub", self.mapping("hub", self.value["hub"]))
        licence = self.mapping("licence", self.value.get("licence"))
        if set(licence) - {"weights", "data"}:
            raise self.problem("licence", "must hold 'weights' and 'data'")
        return Entry(
            id=self.value["id"],
            folder=self.folder(source["folder"], path) if bundled else None,
            hub=hub,
            files=self.files(),
            licence_weights=self.text("licence.weights", licence.get("weights"), 300),
            licence_data=self.text("licence.data", licence.get("data"), 300),
            registry=path,
            examples=self.examples() if self.value.get("examples") else None,
            **{name: self.text(name, self.value.get(name), longest) for name, longest in _TEXTS.items()},
        )

    def mapping(self, field: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.problem(field, "is missing" if value is None else "must be a mapping")
        return value

    def text(self, field: str, value: Any, longest: int) -> str:
        if value is None:
            raise self.problem(field, "is missing")
        lines = value.strip().split("\n") if isinstance(value, str) else [""]
        if field != "citation" and len(lines) > 1:
            raise self.problem(field, "must be one line")
        if not lines[0] or sum(map(len, lines)) > longest or not all(line.isprintable() for line in lines):
            raise self.problem(field, f"must be a printable text of at most {longest} characters")
        return "\n".join(lines)

    def hub(self, field: str, value: dict[str, Any], name: str = "repo") -> HubSource:
        repo, commit = value.get(name), value.get("commit")
        if set(value) != {name, "commit"}:
            raise self.problem(field, f"must hold '{name}' and 'commit'")
        if not isinstance(commit, str) or not is_commit(commit):
            raise self.problem(f"{field}.commit", "must be a full commit: 40 lower-case hexadecimal digits")
        try:
            return HubSource(check_repo(repo if isinstance(repo, str) else ""), commit)
        except TNetError as error:
            raise self.problem(f"{field}.{name}", str(error).rstrip(".")) from None

    def folder(self, value: Any, path: Path) -> Path:
        relative = PurePosixPath(value if isinstance(value, str) else "")
        plain = isinstance(value, str) and value.isprintable() and not re.search(r"[\\:]", value)
        if not plain or not relative.parts or relative.is_absolute() or ".." in relative.parts:
            raise self.problem("source.folder", "must be a path inside the registry's own folder")
        base = path.resolve().parent
        found = (base / relative).resolve()
        if not found.is_relative_to(base) or found == base:  # a symbolic link may point elsewhere
            raise self.problem("source.folder", "must be a path inside the registry's own folder")
        return found

    def files(self) -> dict[str, FileDigest]:
        value = self.mapping("files", self.value.get("files"))
        for name in value:
            if name not in FORMAT_FILES:
                raise self.problem(f"files.{name[:40]}", f"is not a checkpoint's ({', '.join(FORMAT_FILES)})")
        for name in REQUIRED_FILES:
            if name not in value:
                raise self.problem(f"files.{name}", "is missing")
        return {
            name: self.digest(f"files.{name}", value[name], MAX_BYTES[name]) for name in FORMAT_FILES if name in value
        }

    def examples(self) -> ExampleSet:
        value = self.mapping("examples", self.value["examples"])
        if set(value) != {"dataset", "commit", "licence", "files"}:
            raise self.problem("examples", "must hold 'dataset', 'commit', 'licence' and 'files'")
        place = self.hub("examples", {key: value[key] for key in ("dataset", "commit")}, "dataset")
        files = self.mapping("examples.files", value["files"])
        if not 1 <= len(files) <= MOST_FILES:
            raise self.problem("examples.files", f"must list 1 to {MOST_FILES} pictures")
        for name in files:
            if not _PICTURE.fullmatch(name) or len(name) > 200 or not name.lower().endswith(SUFFIXES):
                raise self.problem(
                    f"examples.files.{name[:40]}", f"must be the path of a picture ({', '.join(SUFFIXES)})"
                )
        return ExampleSet(
            dataset=place.repo,
            commit=place.commit,
            licence=self.text("examples.licence", value["licence"], 300),
            files={name: self.digest(f"examples.files.{name}", item, MOST_BYTES) for name, item in files.items()},
        )

    def digest(self, field: str, value: Any, largest: int) -> FileDigest:
        value = self.mapping(field, value)
        sha256, size = value.get("sha256"), value.get("size")
        if set(value) != {"sha256", "size"}:
            raise self.problem(field, "must hold 'sha256' and 'size'")
        if not isinstance(sha256, str) or not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise self.problem(f"{field}.sha256", "must be 64 lower-case hexadecimal digits")
        if not isinstance(size, str) or not re.fullmatch(r"[0-9]{1,12}", size) or not 1 <= int(size) <= largest:
            raise self.problem(f"{field}.size", f"must be a number of bytes, at most {largest}")
        return FileDigest(sha256, int(size))
