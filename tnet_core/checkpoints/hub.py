"""Checkpoints and example pictures from the Hub: pinned, bounded, hashed before first use; no network once cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tnet_core.checkpoints.digests import check_digest, digest, is_remembered, matches_etag, remember
from tnet_core.checkpoints.format import Notice, refuse_incomplete, warn_notice
from tnet_core.checkpoints.hub_client import HubClient, RemoteFile
from tnet_core.checkpoints.hub_errors import explain_offline
from tnet_core.errors import TNetError
from tnet_core.schemas.files import (
    CONFIG_FILE,
    EVALUATION_FILE,
    MAX_BYTES,
    README_FILE,
    REQUIRED_FILES,
    TENSOR_FILE,
    format_size,
)
from tnet_core.schemas.hub_id import HubId, is_commit
from tnet_core.schemas.registry import ExampleSet, FileDigest

# The tensors come last: where they are cached, everything else was dealt with before.
_ORDER = (README_FILE, EVALUATION_FILE, CONFIG_FILE, TENSOR_FILE)


@dataclass(frozen=True)
class LocalCheckpoint:
    """A repository's checkpoint in the local cache, checked."""

    folder: Path
    commit: str
    files: dict[str, FileDigest]  # exactly what was checked; nothing else in the folder may be read


def fetch_pinned(hub_id: HubId, files: Mapping[str, FileDigest]) -> LocalCheckpoint:
    """Fetch the files of a registry entry: they must have the given sizes and hashes."""
    found = _fetch_listed(HubClient(hub_id), files, f"'{hub_id}'")
    return LocalCheckpoint(found[CONFIG_FILE].parent, hub_id.revision, dict(files))


def fetch_pictures(examples: ExampleSet) -> dict[str, Path]:
    """Fetch the example pictures of a registry entry from a Hub data set, each with the listed size and hash.

    Nothing in them is decoded here: open them as `ImageSource`, which does not trust them either.
    """
    return _fetch_listed(HubClient(examples.id, "dataset"), examples.files, f"the data set '{examples.dataset}'")


def _fetch_listed(client: HubClient, files: Mapping[str, FileDigest], whose: str) -> dict[str, Path]:
    """Return the files in the local cache, as the registry lists them; needs no network once they are there."""
    commit = client.hub_id.revision
    paths = {name: client.find_cached(name, commit) for name in files}
    wrong = [name for name, path in paths.items() if path is None or check_digest(path, files[name]) is not None]
    if wrong and client.offline:
        damaged = ", ".join(name for name in wrong if paths[name] is not None)
        if not damaged:
            raise explain_offline(client.hub_id)
        raise TNetError(f"In the cache, {damaged} of {whose} is damaged, and HF_HUB_OFFLINE forbids a new download.")
    for name in wrong:  # all questions come before the first download
        remote = client.ask(name, commit)
        if remote is None:
            _refuse_missing(client, name, commit)
        elif remote.size != files[name].size:
            raise TNetError(
                f"'{name}' of {whose} has {remote.size} bytes on the Hub, but the registry says {files[name].size}; "
                "nothing was downloaded."
            )
    for name in sorted(wrong, key=lambda name: name == TENSOR_FILE):
        path = client.download(name, commit, files[name].size, force=paths[name] is not None)
        problem = check_digest(path, files[name], remembered=False)
        if problem is not None:
            client.forget(path)
            raise TNetError(
                f"A file of {whose} is not what the registry promises and was removed: {problem}; do not use it "
                "unless the registry is known to be wrong."
            )
        paths[name] = path
    return {name: path for name, path in paths.items() if path is not None}


def cached_files(hub_id: HubId, files: Mapping[str, FileDigest]) -> Path | None:
    """Return the cached folder of a pinned checkpoint, unchecked, or None if it was not downloaded completely."""
    client = HubClient(hub_id)
    paths = [client.find_cached(name, hub_id.revision) for name in files]
    return paths[0].parent if paths[0] is not None and None not in paths else None


def fetch(hub_id: HubId, on_notice: Notice | None = None) -> LocalCheckpoint:
    """Fetch any repository in our format; what a branch or tag means now is announced and pinned."""
    notify = on_notice or warn_notice
    client = HubClient(hub_id)
    if hub_id.is_pinned and (found := _from_cache(client, hub_id.revision)) is not None:
        return found
    if client.offline:
        found = _from_cache(client, hub_id.revision)
        if found is None:
            raise explain_offline(hub_id)
        notify(f"'{hub_id}' was not looked up (HF_HUB_OFFLINE): using commit {found.commit} from the cache.")
        return found
    remote = _list_remote_files(client, hub_id.revision)
    commit = remote[CONFIG_FILE].commit
    if not hub_id.is_pinned:
        notify(
            f"'{hub_id}' is not pinned: '{hub_id.revision}' is now commit {commit}; "
            f"write {HubId(hub_id.repo, commit)} to get exactly these files again."
        )
        client.remember_revision(commit)
    return _make_local(commit, {name: _download_sound(client, name, remote[name]) for name in _ORDER if name in remote})


def _list_remote_files(client: HubClient, revision: str) -> dict[str, RemoteFile]:
    """List what the repository has of our files, before anything is downloaded."""
    found: dict[str, RemoteFile] = {}
    for name in (CONFIG_FILE, TENSOR_FILE, EVALUATION_FILE, README_FILE):
        remote = client.ask(name, revision)
        if remote is None:
            if name in REQUIRED_FILES:
                _refuse_missing(client, name, revision)
            continue
        if not 0 < remote.size <= MAX_BYTES[name]:
            raise TNetError(
                f"'{name}' of '{client.hub_id}' has {format_size(remote.size)}; "
                f"at most {format_size(MAX_BYTES[name])} are accepted, and nothing was downloaded."
            )
        found[name] = remote
        revision = remote.commit  # a branch may move between two questions
    return found


def _refuse_missing(client: HubClient, name: str, revision: str) -> None:
    if client.kind == "dataset":
        raise TNetError(f"The Hub data set '{client.hub_id.repo}' has no file '{name}' at '{revision}'.")
    what = f"The Hub repository '{client.hub_id.repo}'"
    try:
        names = client.list_names(revision)
    except TNetError:
        if not client.exists:
            raise
        names = [other for other in REQUIRED_FILES if other != name]  # a mirror without lists of files
    refuse_incomplete(names, what)
    raise TNetError(f"{what} has no file '{name}' at '{revision}'.")


def _download_sound(client: HubClient, name: str, remote: RemoteFile) -> tuple[Path, FileDigest]:
    """Return a file that is what the Hub says it is; a damaged copy in the cache is replaced."""
    path = client.find_cached(name, remote.commit)
    if path is not None and (found := _hash_if_sound(path, remote.etag, remote.size)) is not None:
        return path, found
    path = client.download(name, remote.commit, remote.size, force=path is not None)
    found = _hash_if_sound(path, remote.etag, remote.size)
    if found is None:
        client.forget(path)
        raise TNetError(
            f"'{name}' of '{client.hub_id}' arrived with other content than the Hub announced and was removed; "
            "try again, and do not use the repository if it happens twice."
        )
    return path, found


def _from_cache(client: HubClient, revision: str) -> LocalCheckpoint | None:
    """Return the checkpoint without any network, if all of it is there and its hashes say it is sound."""
    checked: dict[str, tuple[Path, FileDigest]] = {}
    for name in _ORDER:
        path = client.find_cached(name, revision)
        if path is not None:
            # The cache names a file's content as the Hub does.
            found = digest(path) if is_remembered(path) else _hash_if_sound(path, path.resolve().name)
            if found is not None:
                checked[name] = (path, found)
        if name in REQUIRED_FILES and name not in checked:
            return None
    commit = checked[CONFIG_FILE][0].parent.name
    if not is_commit(commit) or any(path.parent.name != commit for path, _ in checked.values()):
        return None
    return _make_local(commit, checked)


def _hash_if_sound(path: Path, etag: str, size: int | None = None) -> FileDigest | None:
    """Return the file's hash, if it agrees with the Hub's name for its content."""
    found = digest(path)
    agrees = matches_etag(path, found.sha256, etag)
    if agrees is False or (size is not None and found.size != size):
        return None
    if agrees is None and size is None:
        return None  # a cache without content ids cannot vouch for its files: the Hub has to be asked
    # Where the cache does not name files by their content, only our memory vouches for them later.
    remember(path, found.sha256, patiently=matches_etag(path, found.sha256, path.resolve().name) is None)
    return found


def _make_local(commit: str, checked: Mapping[str, tuple[Path, FileDigest]]) -> LocalCheckpoint:
    return LocalCheckpoint(
        checked[CONFIG_FILE][0].parent, commit, {name: found for name, (_, found) in checked.items()}
    )
