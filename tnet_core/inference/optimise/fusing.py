"""Convolution, batch norm, activation and sum in one call of oneDNN, with weights in the order that it wants."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tnet_core.inference.optimise.folding import Joined

# What oneDNN computes inside a convolution, and the numbers that it wants to know.
INSIDE: dict[type[nn.Module], tuple[str, list[float]]] = {
    nn.Identity: ("none", []),
    nn.ReLU: ("relu", []),
    nn.ReLU6: ("hardtanh", [0.0, 6.0]),
    nn.SiLU: ("swish", []),
    nn.Hardswish: ("hardswish", []),
}


def _plain(*given: Any) -> Tensor:
    made: Tensor = torch.ops.mkldnn._convolution_pointwise.default(*given)
    return made


def _sum(*given: Any) -> Tensor:
    made: Tensor = torch.ops.mkldnn._convolution_pointwise.binary(*given)
    return made


class Fused:
    """Convolution, folded batch norm and activation in one call of oneDNN."""

    def __init__(self, joined: Joined, activation: nn.Module) -> None:
        self._joined, self._activation = joined, activation
        self._name, self._numbers = INSIDE[type(activation)]
        self._weight = _packed(joined)
        stride, _, dilation, groups = joined.rest
        self._shape = (list(joined.padding), list(stride), list(dilation), groups)

    def __deepcopy__(self, _: dict[int, Any]) -> Fused:
        return self  # nothing in it ever changes, and what oneDNN has packed cannot be copied

    def __reduce__(self) -> tuple[type[Fused], tuple[Joined, nn.Module]]:
        return Fused, (self._joined, self._activation)  # for another process, which packs for itself

    @property
    def linear(self) -> bool:
        """Whether nothing is activated, so that something may be added."""
        return self._name == "none"

    def __call__(self, x: Tensor) -> Tensor:
        joined = self._joined
        if x.shape[2:] != joined.size:
            return self._activation(joined(x))
        return _plain(x, self._weight, joined.bias, *self._shape, self._name, self._numbers, "")

    def plus(self, x: Tensor, other: Tensor) -> Tensor:
        """The convolution of x, and a map of the same size added to it."""
        joined = self._joined
        if x.shape[2:] != joined.size:
            return self._activation(joined(x)) + other
        return _sum(x, other, self._weight, joined.bias, *self._shape, "add", 1.0, None, [], None)


def _packed(joined: Joined) -> Tensor:
    """The weights as oneDNN keeps them, chosen for inputs of the size seen in folding."""
    stride, _, dilation, groups = joined.rest
    shape = [1, joined.weight.shape[1] * groups, *joined.size]
    with torch.inference_mode():
        packed: Tensor = torch.ops.mkldnn._reorder_convolution_weight(
            joined.weight, joined.padding, stride, dilation, groups, shape
        )
        return packed


@lru_cache(maxsize=1)
def one_dnn_runs() -> bool:
    """Whether this build of torch has the fused convolutions, and they say what torch says on a small case."""
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(2, 4, 9, 9, generator=generator), torch.randn(6, 2, 3, 3, generator=generator)
    x, bias = x.contiguous(memory_format=torch.channels_last), torch.randn(6, generator=generator)
    shape = ([1, 1], [2, 2], [1, 1], 2)
    try:
        with torch.inference_mode():
            expected = F.conv2d(x, weight, bias, 2, 1, 1, 2)
            for kind, (name, numbers) in INSIDE.items():
                found = _plain(x, weight, bias, *shape, name, numbers, "")
                if not torch.allclose(found, kind()(expected), atol=1e-4):
                    return False
            found = _sum(x, expected, weight, bias, *shape, "add", 1.0, None, [], None)
            return torch.allclose(found, 2 * expected, atol=1e-4)
    except (RuntimeError, AttributeError, NotImplementedError):  # another processor, or another version of torch
        return False
