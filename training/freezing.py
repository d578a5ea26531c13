"""Which parameters learn: frozen stages, frozen modules and fixed batch-norm statistics."""

from __future__ import annotations

from timm.models import group_parameters
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.recipes.recipe import FreezeSection


def freeze(model: TNet, section: FreezeSection) -> None:
    """Exclude what the recipe names from learning."""
    for name in section.modules:
        module = getattr(model, name, None)
        if module is None:
            raise TNetError(f"The recipe freezes the module '{name}', which this model does not have.")
        module.requires_grad_(False)
    if section.stages:
        for parameter in _first_stages(model.features.body, section.stages):
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise TNetError("The recipe freezes every parameter: nothing is left to learn.")


def training_mode(model: TNet, section: FreezeSection) -> None:
    """Training mode, except where nothing learns: there statistics stay and nothing is dropped.

    A frozen convolution followed by moving statistics would change its output while "frozen".
    """
    model.train()
    for module in model.modules():
        parameters = list(module.parameters())
        frozen = bool(parameters) and not any(parameter.requires_grad for parameter in parameters)
        if frozen or (section.batch_norm and isinstance(module, _BatchNorm)):
            module.eval()


def _first_stages(body: nn.Module, count: int) -> list[nn.Parameter]:
    """Parameters of the stem and the first `count` stages, by timm's own division of its models."""
    matcher = getattr(body, "group_matcher", None)
    if callable(matcher):
        groups = group_parameters(body, matcher(coarse=True), return_values=False)
    else:  # BagNet-77: its parts in order
        groups = {}
        for name, _ in body.named_parameters():
            groups.setdefault(list(dict(body.named_children())).index(name.partition(".")[0]), []).append(name)
    ordered = [groups[key] for key in sorted(groups)]
    if count >= len(ordered):
        raise TNetError(f"The recipe freezes {count} stages, but the backbone has {len(ordered) - 1} after its stem.")
    table = dict(body.named_parameters())
    return [table[name] for names in ordered[: count + 1] for name in names]
