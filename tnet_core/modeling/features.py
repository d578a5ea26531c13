"""Feature extraction module: any timm CNN (or BagNet-77) with one tap for the location module."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import timm
import torch
from timm.layers import DropPath
from timm.models import EfficientNet
from timm.models._efficientnet_builder import decode_arch_def, round_channels
from torch import Tensor, nn

from tnet_core.errors import TNetError
from tnet_core.modeling.bagnet import BagNet77
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.location_map import LocationMap, choose_location_map
from tnet_core.modeling.receptive_field import Survey, flat_tensors, survey

if TYPE_CHECKING:
    from tnet_core.inference.optimise.program import Program

# Per call and per thread, so that one model can serve several requests at once.
_tapped: ContextVar[list[Tensor] | None] = ContextVar("tapped", default=None)

_EFFICIENTNET_STAGES = [
    ["ds_r1_k3_s1_e1_c16_se0.25"], ["ir_r2_k3_s2_e6_c24_se0.25"], ["ir_r2_k5_s2_e6_c40_se0.25"],
    ["ir_r3_k3_s2_e6_c80_se0.25"], ["ir_r3_k5_s1_e6_c112_se0.25"], ["ir_r4_k5_s2_e6_c192_se0.25"],
    ["ir_r1_k3_s1_e6_c320_se0.25"],
]  # fmt: skip


def _tap(chosen: LocationMap, _: nn.Module, __: Any, output: Any) -> None:
    collected = _tapped.get()
    if collected is not None:
        tensor = next(islice(flat_tensors(output), chosen.output, None))
        collected.append(tensor.permute(0, 3, 1, 2) if chosen.channels_last else tensor)


class FeatureExtractionModule(nn.Module):
    """Image at base resolution -> (location map F, feature vector V)."""

    mean: Tensor
    std: Tensor
    rows: Tensor

    def __init__(self, config: TNetConfig) -> None:
        super().__init__()
        self.num_features = survey_of(config).width  # first: what cannot be built is refused here
        self.tap = None if config.is_baseline else location_map(config)
        self.body = _build_body(config)
        if self.tap is not None:
            self.body.get_submodule(self.tap.block).register_forward_hook(partial(_tap, self.tap))
            self.register_buffer("rows", torch.tensor(self.tap.rows), persistent=False)
        self.dropout = nn.Dropout(config.dropout if config.dropout_at == "features" else 0.0)
        # The official input range needs no further arithmetic; other backbones bring their own.
        self.normalise = config.mean != (0.5,) * 3 or config.std != (0.5,) * 3
        self.register_buffer("mean", torch.tensor(config.mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(config.std).view(1, 3, 1, 1), persistent=False)
        self.program: Program | None = None  # of an optimised copy: what `body` does, as a list of calls

    def forward(self, images: Tensor) -> tuple[Tensor | None, Tensor]:
        """(B, 3, b, b) in [-1, 1] -> F (B, c, n, n) or None for baselines, V (B, D)."""
        location_map, carried = self.begin(images)
        return location_map, self.finish(carried)

    @property
    def stops(self) -> bool:
        """Whether `begin` ends at the location map; else it runs the whole backbone."""
        return self.program is not None and self.program.stops

    def begin(self, images: Tensor) -> tuple[Tensor | None, Tensor]:
        """(B, 3, b, b) in [-1, 1] -> F (B, c, n, n) or None for baselines, and what `finish` takes (B, …)."""
        if self.normalise:
            images = ((images + 1) / 2 - self.mean) / self.std
        if self.program is not None:
            location_map, carried = self.program.begin(images)
        else:
            with self.tapped() as maps:
                carried = self.body(images)  # (B, D)
            location_map = maps[0] if maps else None
        if location_map is None:
            return None, carried
        return location_map.index_select(2, self.rows).index_select(3, self.rows), carried  # (B, c, n, n)

    def finish(self, carried: Tensor) -> Tensor:
        """The rest of the backbone: V (B, D). Rows do not depend on each other, so several batches may be joined."""
        vector = carried if self.program is None else self.program.finish(carried)
        return self.dropout(vector)

    @contextmanager
    def tapped(self) -> Iterator[list[Tensor]]:
        """The location map of each run of `body` inside, as the backbone has it."""
        collected: list[Tensor] = []
        token = _tapped.set(collected)
        try:
            yield collected
        finally:
            _tapped.reset(token)


def location_map(config: TNetConfig) -> LocationMap:
    """Which map of the configured backbone feeds the location module (shapes only, no weights)."""
    return choose_location_map(config, survey_of(config).blocks)


@lru_cache(maxsize=256)
def survey_of(config: TNetConfig) -> Survey:
    try:
        with torch.device("meta"):
            body = _build_body(config).eval()
        return survey(body, config.base_resolution)
    except TNetError:
        raise
    except Exception as error:  # whatever a model raises when it dislikes its input
        raise TNetError(
            f"Backbone '{config.backbone}' cannot be used at base resolution {config.base_resolution} "
            f"({_reason(error)}); choose another resolution or backbone."
        ) from None


def _reason(error: Exception) -> str:
    """The first thing an error says, ready to stand inside a sentence."""
    first = next(iter(str(error).strip().splitlines()), "").split(". ")[0].rstrip(" .:;!")
    said = textwrap.shorten(re.sub(r"\.{2,}", "…", first), 160, placeholder=" …")
    return said or f"the model fails with {type(error).__name__}"


def _build_body(config: TNetConfig) -> nn.Module:
    """The backbone with its pooling but without its classifier."""
    if config.backbone == "bagnet77":
        return BagNet77()
    body = _scaled_efficientnet(config) if config.backbone_scale is not None else _timm_body(config)
    if config.bn_momentum is not None:
        for module in body.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = config.bn_momentum
    if isinstance(body, EfficientNet):
        _set_official_drop_path(body, config.drop_path)
    return body


def _timm_body(config: TNetConfig) -> nn.Module:
    if config.backbone not in timm.list_models(config.backbone):
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


def _scaled_efficientnet(config: TNetConfig) -> EfficientNet:
    """An EfficientNet of free width and depth, with TensorFlow's padding and batch-norm epsilon."""
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
    """Block b = 1..N drops with rate * b / N (the official code counts from 1, timm from 0)."""
    blocks = [block for stage in body.blocks for block in stage]
    for b, block in enumerate(blocks, start=1):
        if getattr(block, "has_skip", False):
            block.drop_path = DropPath(rate * b / len(blocks)) if rate else nn.Identity()
