"""Build a model from a configuration, with random weights: initialisation is that of the official code."""

from __future__ import annotations

import math
import os
import threading
from numbers import Integral
from typing import Any

import torch
from timm.models import EfficientNet
from torch import nn

from tnet_core.errors import TNetError
from tnet_core.modeling.bagnet import BagNet77
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.features import FeatureExtractionModule
from tnet_core.modeling.location import CoordinateChannels
from tnet_core.modeling.positional import PositionalEncodingModule
from tnet_core.modeling.tnet import TNet

_seeding = threading.Lock()  # the generator that initialisation draws from is global
_TRUNCATED_STD = 0.87962566103423978  # standard deviation of a unit normal cut at two sigmas


def default_device() -> torch.device:
    """Return CUDA where it is present, the CPU everywhere else."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def choose_device(device: torch.device | str | None) -> torch.device:
    """Return the device that is meant, if this machine has it."""
    if device is None:
        return default_device()
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError):
        raise TNetError(f"There is no device {str(device)!r:.40}; use cpu or cuda.") from None
    if chosen.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (chosen.index or 0) >= count:
            raise TNetError(f"This machine has no device '{chosen}' that PyTorch can use; use cpu.")
    elif chosen.type != "cpu":
        raise TNetError(f"Models run on cpu or cuda, not on '{chosen.type}'.")
    return chosen


def place(model: TNet, device: torch.device | str | None) -> TNet:
    """Put a model where it will run, channels-last and in eval mode."""
    return model.to(choose_device(device)).to(memory_format=torch.channels_last).eval()


def build(config: TNetConfig, seed: int = 0, *, device: torch.device | str | None = None) -> TNet:
    """Build a model in eval mode; the same seed gives the same weights, and global random state is untouched."""
    if not isinstance(config, TNetConfig):
        raise TNetError(f"A model is built from a TNetConfig, such as tn.preset(NAME), not from {config!r:.60}.")
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not -(2**63) <= seed < 2**64:
        raise TNetError(f"A seed is a whole number of at most 64 bits, not {seed!r:.40}.")
    target = choose_device(device)
    with _seeding, torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(seed))
        model = TNet(config)
        initialise(model)
    return place(model, target)


def check_model(model: Any) -> None:
    """Refuse what is not a model, such as the id of one."""
    if not isinstance(model, TNet):
        hint = f"; tn.load({str(model)!r:.80}) gives one" if isinstance(model, (str, os.PathLike)) else ""
        raise TNetError(
            f"A model is needed, such as tn.load(ID) or tn.build(config), not {type(model).__name__}{hint}."
        )


def initialise(model: nn.Module) -> None:
    """Fill a freshly built model; timm backbones other than EfficientNet keep timm's own scheme."""
    features = model.get_submodule("features")
    assert isinstance(features, FeatureExtractionModule)
    body = features.body
    glorot = isinstance(body, BagNet77)
    own = body if glorot or isinstance(body, EfficientNet) else None
    for name, module in model.named_modules():
        if own is None and name.startswith("features."):
            continue
        if glorot:
            _initialise_glorot(module)
        else:
            _initialise_by_fan_out(module)
    for module in model.modules():
        if isinstance(module, CoordinateChannels):
            for scaling in (module.height_scaling, module.width_scaling):
                nn.init.ones_(scaling.weight)
                nn.init.zeros_(scaling.bias)
        elif isinstance(module, PositionalEncodingModule) and module.kind == "additive":
            nn.init.zeros_(module.linear.weight)


def _initialise_glorot(module: nn.Module) -> None:
    if isinstance(module, (nn.Conv2d, nn.Linear)):
        nn.init.xavier_normal_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _initialise_by_fan_out(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels // module.groups
        std = math.sqrt(2.0 / fan_out) / _TRUNCATED_STD
        nn.init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std)
    elif isinstance(module, nn.Linear):
        bound = 1.0 / math.sqrt(module.out_features)
        nn.init.uniform_(module.weight, -bound, bound)
    else:
        return
    if module.bias is not None:
        nn.init.zeros_(module.bias)
