"""The registry: which checkpoints are known by a short id, pinned by commit and sha256.

The file `checkpoints.yaml` at the root of the project is always read. A user's own file is added to
it: the one given explicitly (`--registry FILE`), otherwise the one named by `TNET_REGISTRY`. Where
both know an id, the user's entry is used, and it keeps the place of the shipped one.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tnet_core.checkpoints.entry import Entry
from tnet_core.checkpoints.registry_file import read_registry
from tnet_core.errors import TNetError

SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints.yaml"


@dataclass(frozen=True)
class Registry:
    """Entries in a fixed order, each id once."""

    entries: tuple[Entry, ...] = ()

    @classmethod
    def load(cls, path: str | Path | None = None, *, shipped: Path | None = SHIPPED) -> Registry:
        """The shipped entries and those of the user's file, if there is one."""
        chosen = path if path is not None else os.environ.get("TNET_REGISTRY") or None
        found: dict[str, Entry] = {}
        for file in (shipped if shipped is not None and shipped.is_file() else None, chosen):
            if file is not None:
                found.update((entry.id, entry) for entry in read_registry(Path(file).expanduser()))
        return cls(tuple(found.values()))

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, identity: object) -> bool:
        return any(entry.id == identity for entry in self.entries)

    @property
    def ids(self) -> list[str]:
        return [entry.id for entry in self.entries]

    def get(self, identity: str) -> Entry:
        for entry in self.entries:
            if entry.id == identity:
                return entry
        raise TNetError(f"The registry has no checkpoint {identity!r:.80}; {self.known(identity)}.")

    def known(self, wanted: str) -> str:
        """What there is instead, the likeliest first."""
        if not self.entries:
            return "it lists none at present"
        near = difflib.get_close_matches(wanted, self.ids, n=3)
        listed = near + [identity for identity in self.ids if identity not in near]
        return "known are: " + ", ".join(listed[:20]) + (", …" if len(listed) > 20 else "")
