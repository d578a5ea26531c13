"""Official TensorFlow variable names of our tensors, the layout of each, and the way into one of our models.

Names are those of the checkpoint with "/" (in the file itself "/" is written ".S").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from timm.models import EfficientNet
from timm.models._efficientnet_blocks import DepthwiseSeparableConv
from torch import nn

from tnet_core.errors import TNetError
from tnet_core.modeling.bagnet import BagNet77, Bottleneck
from tnet_core.modeling.location import ContextLocationModule, LocationModule
from tnet_core.modeling.tnet import TNet


@dataclass(frozen=True)
class Variable:
    """One official variable and the tensor of ours that holds it."""

    name: str
    key: str  # in our state_dict
    axes: tuple[int, ...] | None  # official axes in our order; None where the layouts agree

    def to_ours(self, value: np.ndarray) -> np.ndarray:
        return value if self.axes is None else value.transpose(self.axes)

    def official_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.axes is None:
            return shape
        official = [0] * len(shape)
        for ours, theirs in enumerate(self.axes):
            official[theirs] = shape[ours]
        return tuple(official)


_CONV = (3, 2, 0, 1)  # (H, W, in, out) -> (out, in, H, W)
_DEPTHWISE = (2, 3, 0, 1)  # (H, W, C, 1) -> (C, 1, H, W)
_DENSE = (1, 0)  # (in, out) -> (out, in)


def _conv(name: str, key: str, bias: bool = True) -> Iterator[Variable]:
    yield Variable(f"{name}/kernel", f"{key}.weight", _CONV)
    if bias:
        yield Variable(f"{name}/bias", f"{key}.bias", None)


def _dense(name: str, key: str) -> Iterator[Variable]:
    yield Variable(f"{name}/kernel", f"{key}.weight", _DENSE)
    yield Variable(f"{name}/bias", f"{key}.bias", None)


def _batch_norm(name: str, key: str) -> Iterator[Variable]:
    pairs = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}
    for theirs, ours in pairs.items():
        yield Variable(f"{name}/batch_norm/{theirs}", f"{key}.{ours}", None)


def _conv_norm(name: str, conv: str, norm: str) -> Iterator[Variable]:
    yield from _conv(f"{name}/conv2d", conv, bias=False)
    yield from _batch_norm(name, norm)


def _efficientnet(body: EfficientNet, root: str, key: str) -> Iterator[Variable]:
    yield from _conv_norm(f"{root}/stem", f"{key}.conv_stem", f"{key}.bn1")
    for i, stage in enumerate(body.blocks):
        for j, block in enumerate(stage):
            name, at = f"{root}/part{i + 2}_block{j + 1}", f"{key}.blocks.{i}.{j}"
            separable = isinstance(block, DepthwiseSeparableConv)
            if not separable:
                yield from _conv_norm(f"{name}/expand", f"{at}.conv_pw", f"{at}.bn1")
            yield Variable(f"{name}/depthwise/conv2d/depthwise_kernel", f"{at}.conv_dw.weight", _DEPTHWISE)
            yield from _batch_norm(f"{name}/depthwise", f"{at}.bn1" if separable else f"{at}.bn2")
            yield from _conv(f"{name}/se/conv2d_1", f"{at}.se.conv_reduce")
            yield from _conv(f"{name}/se/conv2d_2", f"{at}.se.conv_expand")
            project = (f"{at}.conv_pw", f"{at}.bn2") if separable else (f"{at}.conv_pwl", f"{at}.bn3")
            yield from _conv_norm(f"{name}/bottleneck", *project)
    yield from _conv_norm(f"{root}/top", f"{key}.conv_head", f"{key}.bn2")


def _bagnet(body: BagNet77, root: str, key: str) -> Iterator[Variable]:
    yield from _conv(f"{root}/part1/conv2d", f"{key}.part1")
    for part in range(2, 6):
        for j, block in enumerate(body.get_submodule(f"part{part}").children()):
            assert isinstance(block, Bottleneck)
            name, at = f"{root}/part{part}_block{j + 1}", f"{key}.part{part}.{j}"
            for comp in ("comp_1", "comp_2", "comp_3"):
                yield from _conv(f"{name}/{comp}/conv2d", f"{at}.{comp}")
            if block.shortcut_comp is not None:
                yield from _conv(f"{name}/shortcut_comp/conv2d", f"{at}.shortcut_comp")
    yield from _conv(f"{root}/part6/conv2d", f"{key}.part6")


def _location(module: nn.Module) -> Iterator[Variable]:
    if isinstance(module, ContextLocationModule):
        root = "location_prediction_earlyLocs"
        layers = {"conv2d": "conv", "output_linear": "output"}
    else:
        assert isinstance(module, LocationModule)
        root = "location_prediction"
        layers = {
            "init/conv2d": "init", "se/conv2d_1": "se_1", "se/conv2d_2": "se_2",
            "final/conv2d": "final", "output_linear": "output",
        }  # fmt: skip
    for theirs, ours in layers.items():
        yield from _conv(f"{root}/{theirs}", f"location.{ours}")
    for scaling in ("height_scaling", "width_scaling"):
        yield from _dense(f"{root}/{scaling}", f"location.coordinates.{scaling}")


def official_variables(model: TNet) -> list[Variable]:
    """Return every official variable of a model, in a fixed order."""
    body = model.features.body
    if isinstance(body, BagNet77):
        found = list(_bagnet(body, "feature_extraction", "features.body"))
    elif isinstance(body, EfficientNet) and model.config.backbone.startswith("tf_efficientnet_b"):
        found = list(_efficientnet(body, "feature_extraction", "features.body"))
    else:
        raise TNetError(
            f"Official names exist for BagNet-77 and tf_efficientnet_b0…b4 only, not for '{model.config.backbone}'."
        )
    found += _dense("feature_extraction/logits_layer/linear", "classifier.linear")
    if model.positional is not None:
        found += _dense("feature_posBurn/linear", "positional.linear")
    if model.location is not None:
        found += _location(model.location)
        found.append(Variable("baseline_var", "reward_baseline", None))
    if model.weighting is not None:
        for theirs, ours in {"se/dense_1": "dense_1", "se/dense_2": "dense_2", "output_linear": "output"}.items():
            found += _dense(f"feat_weighting/{theirs}", f"weighting.{ours}")
    return found


def assign(model: TNet, variables: Mapping[str, np.ndarray]) -> None:
    """Set all weights from {official name: array in official layout}.

    Strict both ways: nothing may be missing, left over or of another shape, and nothing is changed
    unless everything fits.
    """
    wanted = official_variables(model)
    state = model.state_dict()
    problems = []
    names = {variable.name for variable in wanted}
    problems += _list_problem("missing", [v.name for v in wanted if v.name not in variables])
    problems += _list_problem("not part of this model", [str(name) for name in variables if name not in names])
    shapes, kinds = [], []
    converted: dict[str, torch.Tensor] = {}
    for variable in wanted:
        if variable.name not in variables:
            continue
        value = np.asarray(variables[variable.name])
        expected = variable.official_shape(tuple(state[variable.key].shape))
        if value.shape != expected:
            shapes.append(f"{variable.name} {value.shape} instead of {expected}")
            continue
        with np.errstate(over="ignore"):  # too large for float32: not finite, reported below
            ours = np.ascontiguousarray(variable.to_ours(value), np.float32) if value.dtype.kind in "fiu" else None
        if ours is None or not np.isfinite(ours).all():
            kinds.append(variable.name)
            continue
        converted[variable.key] = torch.from_numpy(ours.reshape(state[variable.key].shape))
    problems += _list_problem("of the wrong shape", shapes)
    problems += _list_problem("without finite real numbers", kinds)
    if problems:
        raise TNetError("These official variables do not fit the model: " + "; ".join(problems) + ".")
    with torch.no_grad():
        for key, tensor in converted.items():
            state[key].copy_(tensor)


def _list_problem(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(names[:5])
    return [f"{len(names)} {what} ({shown}{', …' if len(names) > 5 else ''})"]
