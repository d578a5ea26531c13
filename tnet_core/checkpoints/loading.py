"""`load`: one function for registry ids, folders and Hub repositories."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import torch

from tnet_core.checkpoints.card import CheckpointCard, registry_card
from tnet_core.checkpoints.digests import check_digest
from tnet_core.checkpoints.format import Notice, complete_card, load_folder, read_checkpoint
from tnet_core.checkpoints.hub import cached_files, fetch, fetch_pinned
from tnet_core.checkpoints.registry import Registry, describe_repair
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.checkpoint import read_config
from tnet_core.schemas.files import expand_home
from tnet_core.schemas.hub_id import PREFIX, HubId
from tnet_core.schemas.registry import Entry


def load(
    spec: str | Path,
    *,
    registry: Registry | str | Path | None = None,
    device: torch.device | str | None = None,
    allow_hub: bool = True,
    on_notice: Notice | None = None,
) -> TNet:
    """Load a checkpoint, in this order of precedence:

    1. a `Path` is a folder;
    2. a text that starts with "hf:" is a Hub repository, `hf:owner/name[@revision]`;
    3. a text that is an id of the registry is that entry (for a folder of that name write "./name");
    4. any other text is a folder.

    `allow_hub=False` refuses free Hub ids, as a public host should; registry entries still work,
    wherever their files are. Notices (an unpinned revision, …) go to `on_notice`, or are warnings.
    """
    if isinstance(spec, os.PathLike):
        return load_folder(Path(spec), device=device, on_notice=on_notice)
    if not isinstance(spec, str) or not spec.strip() or not spec.isprintable() or len(spec) > 4096:
        raise TNetError(f"A checkpoint is named by a registry id, a folder or {PREFIX}owner/name, not by {spec!r:.80}.")
    if spec.startswith(PREFIX):
        if not allow_hub:
            raise TNetError("Only the checkpoints of the registry are offered here, not free Hub repositories.")
        return _load_hub(HubId.parse(spec), device, on_notice)
    known = registry if isinstance(registry, Registry) else Registry.load(registry)
    if spec in known:
        return load_entry(known.get(spec), device=device, on_notice=on_notice)
    folder = _find_existing(spec)
    if folder is None:
        hint = f" (for a Hub repository write {PREFIX}{spec})" if spec.count("/") == 1 else ""
        raise TNetError(f"{spec!r:.200} is neither a registry id nor a folder{hint}; {known.list_known_ids(spec)}.")
    return load_folder(folder, device=device, on_notice=on_notice)


def _find_existing(text: str) -> Path | None:
    try:
        path = expand_home(text)
        return path if path.exists() else None
    except OSError:  # too long for a file name
        return None


def load_entry(entry: Entry, *, device: torch.device | str | None = None, on_notice: Notice | None = None) -> TNet:
    """Load a checkpoint of the registry; no file is opened before its hash was checked."""
    return read_checkpoint(
        entry_folder(entry), registry_card(entry), files=tuple(entry.files), device=device, on_notice=on_notice
    )


def entry_folder(entry: Entry) -> Path:
    """Return the folder of an entry, all files checked; a bundled one that is not there comes from the Hub."""
    if entry.folder is None or (entry.hub is not None and not entry.folder.is_dir()):
        assert entry.hub is not None
        return fetch_pinned(entry.hub.id, entry.files).folder
    for name, expected in entry.files.items():
        problem = check_digest(entry.folder / name, expected)
        if problem is not None:
            raise TNetError(
                f"The bundled checkpoint '{entry.id}' is not what the registry promises: {problem}. "
                f"{describe_repair(entry, name)}."
            )
    return entry.folder


def entry_card(entry: Entry, *, on_notice: Notice | None = None) -> CheckpointCard:
    """Return all that is known about an entry without downloading anything."""
    card, here = registry_card(entry), entry.folder is not None and entry.folder.is_dir()
    if not here and (entry.hub is None or cached_files(entry.hub.id, entry.files) is None):
        return replace(card, origin=f"Registry '{entry.registry.name}', {entry.where}, not downloaded yet.")
    folder = entry_folder(entry)
    return complete_card(card, folder, read_config(folder), files=tuple(entry.files), on_notice=on_notice)


def _load_hub(hub_id: HubId, device: torch.device | str | None, on_notice: Notice | None) -> TNet:
    found = fetch(hub_id, on_notice)
    exact = HubId(hub_id.repo, found.commit)
    card = CheckpointCard(
        source=str(exact),
        origin=f"The Hub repository '{hub_id.repo}' at commit {found.commit}, not checked against a registry.",
        repo=hub_id.repo,
        commit=found.commit,
        files=found.files,
    )
    return read_checkpoint(found.folder, card, files=tuple(found.files), device=device, on_notice=on_notice)
