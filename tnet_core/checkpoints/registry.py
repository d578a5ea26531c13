"""The registry: which checkpoints are known by a short id, pinned by commit and sha256.

The shipped file is always read: `checkpoints.yaml` at the root of the project, or, in the installed package, the one in
`tnet_core/bundled/`, of the checkpoints that come with the package. A user's own file is added to it: the one given
explicitly (`--registry FILE`), otherwise the one named by `TNET_REGISTRY`. Where both know an id, the user's entry is
used, and it keeps the place of the shipped one.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tnet_core.checkpoints.digests import digest
from tnet_core.errors import TNetError, reason
from tnet_core.schemas.files import expand_home, write_atomically
from tnet_core.schemas.registry import Entry, parse_registry, read_registry

_INSTALLED = Path(__file__).resolve().parents[1] / "bundled" / "checkpoints.yaml"  # made by tools/wheel_contents.py
SHIPPED = _INSTALLED if _INSTALLED.is_file() else Path(__file__).resolve().parents[2] / "checkpoints.yaml"


@dataclass(frozen=True)
class Registry:
    """Entries in a fixed order, each id once."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def load(cls, path: str | Path | None = None, *, shipped: Path | None = SHIPPED) -> Registry:
        """Return the shipped entries and those of the user's file, if there is one."""
        chosen = path if path is not None else os.environ.get("TNET_REGISTRY") or None
        found: dict[str, Entry] = {}
        for file in (shipped if shipped is not None and shipped.is_file() else None, chosen):
            if file is not None:
                found.update((entry.id, entry) for entry in read_registry(expand_home(file)))
        return cls(tuple(found.values()))

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, identity: object) -> bool:
        return identity in self.ids

    @property
    def ids(self) -> list[str]:
        return [entry.id for entry in self.entries]

    def get(self, identity: str) -> Entry:
        if found := next((entry for entry in self.entries if entry.id == identity), None):
            return found
        raise TNetError(f"The registry has no checkpoint {identity!r:.80}; {self.list_known_ids(identity)}.")

    def list_known_ids(self, wanted: str) -> str:
        """Return a clause that names what there is instead, the likeliest first."""
        if not self.entries:
            return "it lists none at present"
        near = difflib.get_close_matches(wanted, self.ids, n=3)
        listed = near + [identity for identity in self.ids if identity not in near]
        return "known are: " + ", ".join(listed[:20]) + (", …" if len(listed) > 20 else "")


def find_pinned(path: Path, registry: Registry | None = None) -> Entry | None:
    """Return the registry's entry whose folder this is, or None."""
    whole = Path(os.path.realpath(path))
    return next((entry for entry in registry or Registry.load() if entry.folder == whole), None)


def describe_repair(entry: Entry, name: str) -> str:
    """Return what to do about a bundled file that is not what the registry pins."""
    folder = entry.where.removeprefix("folder ")  # visitors of a page see this: no more than the registry says
    if entry.registry == _INSTALLED:  # no clone, and no registry that is the user's to change
        return (
            "Reinstall the package, which brings the original file back (pip install --force-reinstall --no-deps, with "
            "the wheel or in the clone that it came from), or, if the change is yours, copy the folder to another "
            "place and load it by its path"
        )
    return (
        f"Put the original file back (for instance: git checkout -- {folder}/{name}), or, if the change is yours, pin "
        f"it with the entry that 'python -m tnet_core.checkpoints add {folder}' prints"
    )


def pin_file(entry: Entry, name: str) -> None:
    """Write the hash and size that a bundled file has now into its registry; the rest of the text stays as it is."""
    assert entry.folder is not None
    found = digest(entry.folder / name, remembered=False)
    try:
        text = entry.registry.read_text(encoding="utf-8")
        files = _find_files(text, entry.id)
    except (OSError, ValueError, StopIteration, KeyError, yaml.YAMLError) as error:
        raise TNetError(f"The registry '{entry.registry}' cannot be updated ({reason(error)}).") from None
    values = {"sha256": found.sha256, "size": str(found.size)}
    known = {key.value: value for key, value in files.value}.get(name)
    if known is not None:
        places = [(value.start_mark.index, value.end_mark.index, values[key.value]) for key, value in known.value]
    else:
        first = files.value[0][0].start_mark
        separator = ", " if files.flow_style else "\n" + " " * first.column
        line = f"{name}: {{sha256: {found.sha256}, size: {found.size}}}{separator}"
        places = [(first.index, first.index, line)]
    for start, end, value in sorted(places, reverse=True):
        text = text[:start] + value + text[end:]
    parse_registry(text.encode("utf-8"), entry.registry)  # what is written can be read
    write_atomically(entry.registry, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _find_files(text: str, identity: str) -> yaml.MappingNode:
    """Return the node of an entry's 'files': it knows where in the text it stands."""
    entries = _get(yaml.compose(text, Loader=yaml.BaseLoader), "checkpoints")
    entry = next(node for node in entries.value if _get(node, "id").value == identity)
    return _get(entry, "files")


def _get(mapping: Any, name: str) -> Any:
    return next(value for key, value in mapping.value if key.value == name)
