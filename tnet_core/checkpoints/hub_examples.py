"""Example pictures of a checkpoint that lie in a Hub data set: pinned, bounded, hashed before first use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tnet_core.checkpoints.digests import FileDigest, check_digest
from tnet_core.checkpoints.hub_client import HubClient
from tnet_core.checkpoints.hub_errors import offline
from tnet_core.checkpoints.hub_id import HubId
from tnet_core.errors import TNetError

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
MOST_FILES = 24
MOST_BYTES = 12 << 20  # of one picture


@dataclass(frozen=True)
class ExampleSet:
    """Pictures of a data set at one commit; together they always mean the same files."""

    dataset: str  # owner/name on the Hub
    commit: str  # 40 hexadecimal digits
    licence: str  # of the pictures
    files: dict[str, FileDigest] = field(hash=False)  # path in the data set -> what it must be

    @property
    def id(self) -> HubId:
        return HubId(self.dataset, self.commit)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())


def fetch_pictures(examples: ExampleSet) -> dict[str, Path]:
    """The pictures in the local cache, each with the listed size and hash; needs no network once they are there.

    Nothing in them is decoded here: open them as `ImageSource`, which does not trust them either.
    """
    client, commit = HubClient(examples.id, kind="dataset"), examples.commit
    cached = {name: client.cached(name, commit) for name in examples.files}
    sound = {
        name: path
        for name, path in cached.items()
        if path is not None and check_digest(path, examples.files[name]) is None
    }
    missing = [name for name in examples.files if name not in sound]
    if missing and client.offline:
        raise offline(examples.id)
    for name in missing:  # all questions come before the first download
        remote = client.ask(name, commit)
        if remote is None:
            raise TNetError(f"The Hub data set '{examples.dataset}' has no file '{name}' at '{commit}'.")
        if remote.size != examples.files[name].size:
            raise TNetError(
                f"'{name}' of the data set '{examples.dataset}' has {remote.size} bytes on the Hub, but the registry "
                f"says {examples.files[name].size}; nothing was downloaded."
            )
    for name in missing:
        sound[name] = _download(client, name, examples, again=cached[name] is not None)
    return {name: sound[name] for name in examples.files}


def _download(client: HubClient, name: str, examples: ExampleSet, *, again: bool) -> Path:
    expected = examples.files[name]
    path = client.download(name, examples.commit, expected.size, force=again)
    problem = check_digest(path, expected, remembered=False)
    if problem is not None:
        client.forget(path)
        raise TNetError(
            f"A picture of the data set '{examples.dataset}' is not what the registry promises and was removed: "
            f"{problem}."
        )
    return path
