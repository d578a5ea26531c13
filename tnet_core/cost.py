"""Cost as the paper counts it: multiplications of convolutions and dense layers, and parameters.

FLOPs follow the paper's equation (appendix, "Metrics"): Cin K K Hout Wout Cout per convolution. The
paper's printed EfficientNet figures are 0.3 to 1.5 % higher than this count gives on the official
models; the count itself agrees with the official code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from tnet_core.budget import check_budget
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import LookOutput, TNet


@dataclass(frozen=True)
class UnitCosts:
    """Multiplications of each part, from which the cost of any set of looks follows."""

    look: int  # backbone and positional module, per image at base resolution
    locate: int  # location module, per grid
    weigh: int  # feature weighting, once per image
    weigh_each: int  # feature weighting, per feature vector
    classify: int  # classifier, once per image
    parameters: int


def count_parameters(config: TNetConfig) -> int:
    """Count all values a checkpoint stores, as the paper does: BN statistics and the reward baseline too."""
    _require_config(config)
    return measure_unit_costs(config).parameters


def _require_config(config: object) -> None:
    if not isinstance(config, TNetConfig):
        raise TNetError(f"Costs are those of a TNetConfig, such as tn.preset(NAME), not of {config!r:.60}.")


def flops(config: TNetConfig, budget: Sequence[int] | int | None = None, levels: int | None = None) -> int:
    """Return the multiplications of one image with the given looks per grid (default: those of training)."""
    _require_config(config)
    looks, grids, width = 0, 0, 1
    for k in check_budget(config, budget, levels):
        grids += width  # every image above the last level has its grid scored
        width *= k
        looks += width
    return compute_looks_cost(config, looks, grids)[0]


def compute_looks_cost(config: TNetConfig, looks: int, grids: int) -> tuple[int, int]:
    """Return (multiplications, parameters) of a thumbnail, `looks` looks and `grids` scored grids."""
    unit = measure_unit_costs(config)
    count = looks + 1
    total = count * (unit.look + unit.weigh_each) + grids * unit.locate + unit.weigh + unit.classify
    return total, unit.parameters


@lru_cache(maxsize=128)
def measure_unit_costs(config: TNetConfig) -> UnitCosts:
    """Measure each part by running it once on the meta device: shapes only, no weights, no arithmetic."""
    with torch.device("meta"):
        model = TNet(config).eval()
        base, width = config.base_resolution, model.features.num_features
        image = torch.empty(1, 3, base, base)
        origin = torch.zeros(1, 3, dtype=torch.long)
        results: list[LookOutput] = []
        look = _count_multiplications(model, lambda: results.append(model.look(image, origin)))
        locate = 0 if config.is_baseline else _count_multiplications(model, lambda: model.locate(results[0]))
        one = _count_multiplications(model, lambda: model.weights(torch.empty(1, 1, width)))
        two = _count_multiplications(model, lambda: model.weights(torch.empty(1, 2, width)))
        classify = _count_multiplications(model, lambda: model.classifier(torch.empty(1, width)))
    stored = sum(v.numel() for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked"))
    return UnitCosts(look, locate, 2 * one - two, two - one, classify, stored)


def _count_multiplications(model: nn.Module, run: Callable[[], Any]) -> int:
    total = 0

    def count(module: nn.Module, _: Any, output: Tensor) -> None:
        nonlocal total
        if isinstance(module, nn.Conv2d):
            per_output = module.weight[0].numel()  # Cin / groups * K * K
        else:
            assert isinstance(module, nn.Linear)
            per_output = module.in_features
        total += output.numel() * per_output

    layers = [m for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    handles = [m.register_forward_hook(count) for m in layers]
    try:
        with torch.no_grad():
            run()
    finally:
        for handle in handles:
            handle.remove()
    return total
