"""`optimised(model)`: a copy that looks faster and says the same.

On the CPU a backbone spends its time on convolutions and on reading and writing what is between them. Here
batch norms are folded (`tnet_core.folding`), activations run inside the convolution before them, and
weights wait in the order in which oneDNN wants them. On CUDA batch norms are folded, and graphs are there on request.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from timm.layers import BatchNormAct2d
from torch import Tensor, nn

from tnet_core.errors import TNetError
from tnet_core.folding import Joined, example_of, find_pairs, folded
from tnet_core.kernels.graphs import graphed
from tnet_core.tnet import TNet

# What oneDNN computes inside a convolution, and the numbers that it wants to know.
_INSIDE: dict[type[nn.Module], tuple[str, list[float]]] = {
    nn.Identity: ("none", []),
    nn.ReLU: ("relu", []),
    nn.ReLU6: ("hardtanh", [0.0, 6.0]),
    nn.SiLU: ("swish", []),
    nn.Hardswish: ("hardswish", []),
}


def optimised(model: TNet, *, graphs: bool = False) -> TNet:
    """A copy for inference, on the same device; the model stays as it is.

    Logits agree within 1e-3. The copy keeps its own weights: change, move or train the original, and make a
    new copy. `graphs` replays a CUDA backbone (`tnet_core.kernels.graphs`): for one traversal at a time.
    """
    if model.training:
        raise TNetError("The model is in training mode; call model.eval() before making an optimised copy of it.")
    made = folded(model)
    if graphs:
        return graphed(made)
    if model.device.type == "cpu" and one_dnn_runs() and model.classifier.linear.weight.dtype == torch.float32:
        for conv, norm in find_pairs(made.features.body, example_of(made)):
            if isinstance(conv.forward, Joined):
                _put_inside(conv, norm)
    return made


def _put_inside(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> None:
    """From now on the convolution activates too, and the batch norm hands on what it is given."""
    activation = norm.act if isinstance(norm, BatchNormAct2d) else nn.Identity()
    if type(activation) in _INSIDE:
        assert isinstance(conv.forward, Joined)
        conv.forward = Fused(conv.forward, activation)  # type: ignore[assignment, method-assign]
        norm.forward = _handed_on  # type: ignore[assignment, method-assign]


def _handed_on(x: Tensor) -> Tensor:
    return x


class Fused:
    """Convolution, folded batch norm and activation in one call of oneDNN."""

    def __init__(self, joined: Joined, activation: nn.Module) -> None:
        self._joined, self._activation = joined, activation
        self._name, self._numbers = _INSIDE[type(activation)]
        self._weight = _packed(joined)

    def __deepcopy__(self, _: dict[int, Any]) -> Fused:
        return self  # nothing in it ever changes, and what oneDNN has packed cannot be copied

    def __reduce__(self) -> tuple[type[Fused], tuple[Joined, nn.Module]]:
        return Fused, (self._joined, self._activation)  # for another process, which packs for itself

    def __call__(self, x: Tensor) -> Tensor:
        joined = self._joined
        if x.shape[2:] != joined.size:
            return self._activation(joined(x))
        stride, _, dilation, groups = joined.rest
        return _convolution(
            x, self._weight, joined.bias, joined.padding, stride, dilation, groups, self._name, self._numbers
        )


def _packed(joined: Joined) -> Tensor:
    """The weights as oneDNN keeps them, chosen for inputs of the size seen in folding."""
    stride, _, dilation, groups = joined.rest
    shape = [1, joined.weight.shape[1] * groups, *joined.size]
    with torch.inference_mode():
        packed: Tensor = torch.ops.mkldnn._reorder_convolution_weight(
            joined.weight, joined.padding, stride, dilation, groups, shape
        )
        return packed


def _convolution(
    x: Tensor, weight: Tensor, bias: Tensor, padding: Any, stride: Any, dilation: Any, groups: int,
    activation: str, numbers: list[float],
) -> Tensor:  # fmt: skip
    result: Tensor = torch.ops.mkldnn._convolution_pointwise(
        x, weight, bias, padding, stride, dilation, groups, activation, numbers, ""
    )
    return result


@lru_cache(maxsize=1)
def one_dnn_runs() -> bool:
    """Whether this build of torch has the fused convolutions, and they say what torch says on a small case."""
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(2, 4, 9, 9, generator=generator), torch.randn(6, 2, 3, 3, generator=generator)
    x, bias = x.contiguous(memory_format=torch.channels_last), torch.randn(6, generator=generator)
    try:
        with torch.inference_mode():
            for kind, (name, numbers) in _INSIDE.items():
                found = _convolution(x, weight, bias, [1, 1], [2, 2], [1, 1], 2, name, numbers)
                if not torch.allclose(found, kind()(F.conv2d(x, weight, bias, 2, 1, 1, 2)), atol=1e-4):
                    return False
    except (RuntimeError, AttributeError, NotImplementedError):  # another processor, or another version of torch
        return False
    return True
