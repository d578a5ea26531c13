"""Feature extraction module: any timm CNN (or BagNet-77) with one tap for the location module."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import timm
import torch
import torch.nn.functional as F
from timm.layers import DropPath
from timm.models import EfficientNet
from timm.models._efficientnet_builder import decode_arch_def, round_channels
from torch import Tensor, nn

from tnet_core.errors import TNetError
from tnet_core.modeling.bagnet import BagNet77
from tnet_core.modeling.config import BackboneSurvey, LocationMap, Precision, TNetConfig
from tnet_core.modeling.location_map import choose_location_map
from tnet_core.modeling.receptive_field import Survey, flat_tensors, survey

# Per call and per thread, so that one model can serve several requests at once.
_collected_maps: ContextVar[list[Tensor] | None] = ContextVar("collected_maps", default=None)

_EFFICIENTNET_STAGES = [
    ["ds_r1_k3_s1_e1_c16_se0.25"], ["ir_r2_k3_s2_e6_c24_se0.25"], ["ir_r2_k5_s2_e6_c40_se0.25"],
    ["ir_r3_k3_s2_e6_c80_se0.25"], ["ir_r3_k5_s1_e6_c112_se0.25"], ["ir_r4_k5_s2_e6_c192_se0.25"],
    ["ir_r1_k3_s1_e6_c320_se0.25"],
]  # fmt: skip
_SAFE_CHANNELS = 16  # of a strided 1x1 convolution: see `protect_strided_pointwise`


def _collect_map(chosen: LocationMap, _: nn.Module, __: Any, output: Any) -> None:
    collected = _collected_maps.get()
    if collected is not None:
        tensor = next(islice(flat_tensors(output), chosen.output, None))
        collected.append(tensor.permute(0, 3, 1, 2) if chosen.channels_last else tensor)


class FeatureExtractionModule(nn.Module):
    """Image at base resolution -> (location map F, feature vector V), section 3.2."""

    mean: Tensor
    std: Tensor
    rows: Tensor
    precision: Precision = "float32"  # stored in traces

    def __init__(self, config: TNetConfig) -> None:
        super().__init__()
        with _refuse_unusable(config):
            self.body = _build_body(config)
        self.given_survey, self.survey = config.survey, find_survey(config, self.body)
        self.num_features, self.tap = self.survey.width, self.survey.map
        protect_strided_pointwise(self.body)
        if self.tap is not None:
            self.body.get_submodule(self.tap.block).register_forward_hook(partial(_collect_map, self.tap))
            self.register_buffer("rows", torch.tensor(self.tap.rows), persistent=False)
        self.dropout = nn.Dropout(config.dropout if config.dropout_at == "features" else 0.0)
        # The official input range needs no further arithmetic; other backbones bring their own.
        self.normalise = config.mean != (0.5,) * 3 or config.std != (0.5,) * 3
        self.register_buffer("mean", torch.tensor(config.mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(config.std).view(1, 3, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> tuple[Tensor | None, Tensor]:
        """Return map and vector: (B, 3, b, b) in [-1, 1] -> F (B, c, n, n), None for baselines, and V (B, D)."""
        if self.normalise:
            images = ((images + 1) / 2 - self.mean) / self.std
        with self.collect_maps() as maps:
            vector = self.dropout(self.body(images))  # (B, D)
        if self.survey is self.given_survey:
            self._check_shapes(vector, maps)
        location_map = maps[0].index_select(2, self.rows).index_select(3, self.rows) if maps else None  # (B, c, n, n)
        return location_map, vector

    def _check_shapes(self, vector: Tensor, maps: list[Tensor]) -> None:
        """Refuse a survey from a file that is not of this backbone, whatever its key says."""
        tap = self.tap
        if vector.shape[1] != self.num_features or (
            tap is not None and (maps[0].shape[1] != tap.channels or maps[0].shape[2] <= max(tap.rows))
        ):
            raise TNetError("The configuration's field 'survey' does not describe its backbone; remove that field.")

    @contextmanager
    def collect_maps(self) -> Iterator[list[Tensor]]:
        """Yield a list that gets the location map of each run of `body` inside, as the backbone has it."""
        collected: list[Tensor] = []
        token = _collected_maps.set(collected)
        try:
            yield collected
        finally:
            _collected_maps.reset(token)


def find_survey(config: TNetConfig, body: nn.Module) -> BackboneSurvey:
    """Return the configuration's survey where it is one of this backbone, else that of a run."""
    depends_on = (config.input_size, config.base_resolution, config.grid, config.cell_fraction, config.is_baseline,
                  config.location_block, config.location_rows)  # fmt: skip
    key = hashlib.sha256(f"{depends_on} {describe_modules(body)}".encode()).hexdigest()
    if config.survey is not None and config.survey.key == key:
        return config.survey
    found = survey_backbone(config)
    return BackboneSurvey(key, found.width, None if config.is_baseline else choose_location_map(config, found.blocks))


def describe_modules(body: nn.Module) -> str:
    """Return what a backbone consists of, apart from weights; by it another backbone is known."""
    return re.sub(r"momentum=[^,)]*", "", str(body))  # which only learning uses


def location_map(config: TNetConfig) -> LocationMap:
    """Return which map of the configured backbone feeds the location module (shapes only, no weights)."""
    return choose_location_map(config, survey_backbone(config).blocks)


@lru_cache(maxsize=256)
def survey_backbone(config: TNetConfig) -> Survey:
    """Return all blocks of the configured backbone (shapes only, no weights)."""
    with _refuse_unusable(config):
        with torch.device("meta"):
            body = _build_body(config).eval()
        return survey(body, config.base_resolution)


@contextmanager
def _refuse_unusable(config: TNetConfig) -> Iterator[None]:
    try:
        yield
    except TNetError:
        raise
    except Exception as error:  # whatever a model raises when it dislikes its input
        raise TNetError(
            f"Backbone '{config.backbone}' cannot be used at base resolution {config.base_resolution} "
            f"({_name_reason(error)}); choose another resolution or backbone."
        ) from None


def _name_reason(error: Exception) -> str:
    """Return the first thing an error says, ready to stand inside a sentence."""
    first = next(iter(str(error).strip().splitlines()), "").split(". ")[0].rstrip(" .:;!")
    said = textwrap.shorten(re.sub(r"\.{2,}", "…", first), 160, placeholder=" …")
    return said or f"the model fails with {type(error).__name__}"


def _build_body(config: TNetConfig) -> nn.Module:
    """Return the backbone with its pooling but without its classifier."""
    if config.backbone == "bagnet77":
        return BagNet77()
    body = _build_scaled_efficientnet(config) if config.backbone_scale is not None else _build_timm_body(config)
    if config.bn_momentum is not None:
        for module in body.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = config.bn_momentum
    if isinstance(body, EfficientNet):
        _set_official_drop_path(body, config.drop_path)
    return body


def _build_timm_body(config: TNetConfig) -> nn.Module:
    if config.backbone not in timm.list_models(config.backbone):
        name, _, tag = config.backbone.partition(".")
        if tag and name in timm.list_models(name):
            raise TNetError(
                f"'{config.backbone}' names pretrained weights; the backbone is '{name}', and the weights are named "
                f"by 'init.tag' in a recipe (--tag in training.adapt): {tag}."
            )
        near = timm.list_models(f"*{config.backbone.strip('*')[:12]}*")[:3]
        hint = f" (similar: {', '.join(near)})" if near else ""
        raise TNetError(f"'{config.backbone}' is neither 'bagnet77' nor a backbone that timm knows{hint}.")
    create: Callable[..., nn.Module] = partial(timm.create_model, config.backbone, pretrained=False, num_classes=0)
    if config.drop_path == 0:
        return create()
    try:
        return create(drop_path_rate=config.drop_path)
    except TypeError:
        raise TNetError(f"Backbone '{config.backbone}' has no stochastic depth; set 'drop_path' to 0.") from None


def _build_scaled_efficientnet(config: TNetConfig) -> EfficientNet:
    """Return an EfficientNet of free width and depth, with TensorFlow's padding and batch-norm epsilon."""
    if not config.backbone.startswith("tf_efficientnet_b"):
        raise TNetError("'backbone_scale' applies to the tf_efficientnet_b* backbones only.")
    assert config.backbone_scale is not None
    width, depth = config.backbone_scale
    round_width = partial(round_channels, multiplier=width)
    return EfficientNet(
        block_args=decode_arch_def(_EFFICIENTNET_STAGES, depth),
        num_classes=0,
        num_features=round_width(1280),
        round_chs_fn=round_width,
        pad_type="same",
        act_layer=nn.SiLU,
        norm_layer=partial(nn.BatchNorm2d, eps=1e-3),
    )


def _set_official_drop_path(body: EfficientNet, rate: float) -> None:
    """Let block b = 1..N drop with rate * b / N (the official code counts from 1, timm from 0)."""
    blocks = [block for stage in body.blocks for block in stage]
    for b, block in enumerate(blocks, start=1):
        if getattr(block, "has_skip", False):
            block.drop_path = DropPath(rate * b / len(blocks)) if rate else nn.Identity()


def protect_strided_pointwise(body: nn.Module) -> None:
    """Keep strided 1x1 convolutions of few channels clear of a fault in PyTorch's CPU library (oneDNN).

    Backward of such a convolution writes outside its memory when input or weight are channels-last: fewer than 16 input
    channels, stride 2 or more, measured with PyTorch 2.15 on x86. The stems of RepVGG, MobileOne and FastViT have one.
    They learn in the contiguous layout; results and parameters stay the same. `tests/core/test_strided_pointwise.py`
    shows the bare fault: when that test fails, this can go.
    """
    for module in body.modules():
        if isinstance(module, nn.Conv2d) and _is_concerned(module):
            # not a subclass: who looks for convolutions finds the type it knows
            module._conv_forward = partial(_convolve, stride=module.stride, groups=module.groups)  # type: ignore[method-assign]


def _is_concerned(conv: nn.Conv2d) -> bool:
    is_strided = any(step > 1 for step in conv.stride)
    is_pointwise = conv.kernel_size == (1, 1) and conv.padding in ((0, 0), "same", "valid")
    return is_strided and is_pointwise and conv.in_channels // conv.groups < _SAFE_CHANNELS


def _convolve(images: Tensor, weight: Tensor, bias: Tensor | None, *, stride: tuple[int, ...], groups: int) -> Tensor:
    if torch.is_grad_enabled() and images.device.type == "cpu":
        # A 1x1 weight counts as contiguous in either layout; only its strides tell, and a new view sets them.
        images, weight = images.contiguous(), weight.flatten(1)[:, :, None, None]
    return F.conv2d(images, weight, bias, stride, 0, 1, groups)
