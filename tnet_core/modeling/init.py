"""Random initialisation as in the official code (spec of each data set's model)."""

from __future__ import annotations

import math

from timm.models import EfficientNet
from torch import nn

from tnet_core.modeling.bagnet import BagNet77
from tnet_core.modeling.features import FeatureExtractionModule
from tnet_core.modeling.location import CoordinateChannels
from tnet_core.modeling.positional import PositionalEncodingModule

_TRUNCATED_STD = 0.87962566103423978  # standard deviation of a unit normal cut at two sigmas


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
            _glorot(module)
        else:
            _variance_scaled(module)
    for module in model.modules():
        if isinstance(module, CoordinateChannels):
            for scaling in (module.height_scaling, module.width_scaling):
                nn.init.ones_(scaling.weight)
                nn.init.zeros_(scaling.bias)
        elif isinstance(module, PositionalEncodingModule) and module.kind == "additive":
            nn.init.zeros_(module.linear.weight)


def _glorot(module: nn.Module) -> None:
    if isinstance(module, (nn.Conv2d, nn.Linear)):
        nn.init.xavier_normal_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _variance_scaled(module: nn.Module) -> None:
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
