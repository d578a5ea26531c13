"""One checkpoint of a registry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tnet_core.checkpoints.card import CheckpointCard
from tnet_core.checkpoints.digests import FileDigest
from tnet_core.checkpoints.hub_examples import ExampleSet
from tnet_core.checkpoints.hub_id import HubId


@dataclass(frozen=True)
class HubSource:
    """A repository at one commit; together they always mean the same files."""

    repo: str
    commit: str  # 40 hexadecimal digits

    @property
    def id(self) -> HubId:
        return HubId(self.repo, self.commit)


@dataclass(frozen=True)
class Entry:
    """Where a checkpoint is, what its files must be, and what may be done with it."""

    id: str
    title: str
    description: str  # one line
    folder: Path | None  # bundled beside the registry
    hub: HubSource | None  # the source itself, or where a bundled checkpoint was published
    files: dict[str, FileDigest]
    licence_weights: str
    licence_data: str
    citation: str
    numbers: str  # where its accuracy comes from
    registry: Path  # the file it was read from
    examples: ExampleSet | None = None  # further pictures for its gallery

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

    def card(self) -> CheckpointCard:
        """The card as far as the registry knows it."""
        place = f"bundled {self.where}" if self.folder is not None else self.where
        return CheckpointCard(
            source=self.id,
            origin=f"Registry '{self.registry.name}', {place}, every file checked by its hash.",
            title=self.title,
            description=self.description,
            repo=self.hub.repo if self.hub else None,
            commit=self.hub.commit if self.hub else None,
            verified=True,
            files=self.files,
            licence_weights=self.licence_weights,
            licence_data=self.licence_data,
            citation=self.citation,
            numbers=self.numbers,
        )
