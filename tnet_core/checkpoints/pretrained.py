"""The Hub's way of loading and sharing: `TNet.from_pretrained`, `save_pretrained` and `push_to_hub`.

Names and arguments are those of `huggingface_hub`'s mixin. The mixin itself would also read pickles, and a config.json
of its own; these read and write our format alone, strictly. `tnet_core/api.py` makes them methods of TNet.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import torch
from huggingface_hub import CommitOperationAdd, HfApi

from tnet_core.building import check_model
from tnet_core.checkpoints.card import CheckpointCard
from tnet_core.checkpoints.format import load_folder, save
from tnet_core.checkpoints.hub_client import LIBRARY_NAME, HubClient
from tnet_core.checkpoints.hub_errors import explain
from tnet_core.checkpoints.loading import load
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.hub_id import PREFIX, HubId, check_repo, is_commit


def from_pretrained(
    pretrained_model_name_or_path: str | Path,
    *,
    revision: str | None = None,
    device: torch.device | str | None = None,
) -> TNet:
    """Load a checkpoint from a folder or, as "owner/name", from the Hub, in eval mode; `revision` is best a commit.

    Only model.safetensors and config.json are used, and every tensor must find its place. A token that a private
    repository needs is taken from HF_TOKEN, the cache's place from HF_HOME.
    """
    name = pretrained_model_name_or_path
    if isinstance(name, os.PathLike) or (isinstance(name, str) and Path(name).is_dir()):
        if revision is not None:
            raise TNetError(f"'{name}' is a folder, which has no revision '{revision}'; leave it out.")
        return load_folder(Path(name), device=device)
    if not isinstance(name, str):
        raise TNetError(f"A checkpoint is named by a folder or by owner/name, not by {name!r:.80}.")
    if "/" not in name and revision is None:
        return load(name, device=device)  # an id of the registry, or a sentence that says what there is
    at = "" if revision is None else f"@{revision}"
    return load(f"{PREFIX}{name.removeprefix(PREFIX)}{at}", device=device)


def save_pretrained(model: TNet, save_directory: str | Path, *, half: bool = False) -> Path:
    """Write a model as a checkpoint folder, as `tn.save` does, and keep where it comes from; returns the folder."""
    check_model(model)
    provenance = model.card.provenance if isinstance(model.card, CheckpointCard) else None
    return save(model, save_directory, provenance=provenance, half=half)


def push_to_hub(
    model: TNet,
    repo_id: str,
    *,
    private: bool = False,
    commit_message: str = "Push a TNet checkpoint",
    half: bool = False,
) -> str:
    """Put a model on the Hub as model.safetensors and config.json in one commit; returns the commit's address.

    The repository is made if there is none; its other files stay. Needs a token that may write (HF_TOKEN). A complete
    model card and an evaluation are `tnet publish`'s work.
    """
    hub_id = HubId(check_repo(repo_id))
    with tempfile.TemporaryDirectory(prefix="tnet-push-") as temporary:
        folder = save_pretrained(model, temporary, half=half)
        commit = upload_files(folder, hub_id, private=private, message=commit_message)
    return f"{HubClient(hub_id).endpoint}/{repo_id}/commit/{commit}"


def upload_files(folder: Path, hub_id: HubId, *, private: bool, message: str) -> str:
    """Create the repository if needed and commit all files of a folder at once; returns the commit."""
    client = HubClient(hub_id)
    if client.offline:
        raise TNetError("HF_HUB_OFFLINE forbids uploads: unset it to publish.")
    if client.is_private() is False and private:
        raise TNetError(f"The Hub repository '{hub_id.repo}' exists and is public; publishing cannot hide it.")
    api = HfApi(endpoint=client.endpoint, library_name=LIBRARY_NAME)
    operations = [CommitOperationAdd(path.name, path) for path in sorted(folder.iterdir())]
    try:
        api.create_repo(hub_id.repo, private=True if private else None, exist_ok=True)
        info = api.create_commit(hub_id.repo, operations, commit_message=message)
    except Exception as error:  # the library raises a dozen unrelated families
        raise explain(error, hub_id, client.endpoint) from None
    if not is_commit(info.oid):
        raise TNetError(
            f"The Hub at {client.endpoint} did not say which commit it made; look at '{hub_id.repo}' there."
        )
    return info.oid
