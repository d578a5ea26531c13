"""Convolution, batch norm, activation and sum in one call of oneDNN, with weights in the order that it wants.

A recorded backbone is rewritten to fewer and cheaper calls that give the same numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tnet_core.inference.optimise.folding import Joined
from tnet_core.inference.optimise.program import Call, Recording, Slot

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


_SUMS = {operator.add, operator.iadd, torch.add, Tensor.add, Tensor.add_, Tensor.__add__, Tensor.__iadd__}
_PRODUCTS = {operator.mul, torch.mul, Tensor.mul, Tensor.__mul__}


def rewritten(recording: Recording) -> Recording:
    """The recording itself, changed."""
    _gates_in_place(recording)
    _sums_inside(recording)
    _pixels_as_vectors(recording)
    _gates_as_one(recording)
    return recording


def _gates_in_place(recording: Recording) -> None:
    """x * gate into x, where x comes fresh from a convolution and nothing needs it afterwards."""
    for i, call in enumerate(recording.calls):
        if call.run in _PRODUCTS and len(call.used) == 2 and call.shapes[0] == call.shape:
            gated = call.used[0]
            maker = recording.maker(gated)
            if maker is None or not isinstance(recording.calls[maker].run, Fused) or gated in _kept(recording):
                continue
            cut = -1 if recording.map is None else recording.maker(recording.map)
            if cut is not None and maker <= cut < i:
                continue  # a look that waits must stay as it is
            if recording.users(gated)[-1] == i and call.used[1] != gated:
                recording.calls[i] = replace(call, run=Tensor.mul_)


def _sums_inside(recording: Recording) -> None:
    """convolution + shortcut in one call, where the sum is all that needs the convolution."""
    for i in range(len(recording.calls) - 1, 0, -1):
        call, before = recording.calls[i], recording.calls[i - 1]
        if call.run not in _SUMS or len(call.args) != 2 or len(call.used) != 2 or call.options:
            continue
        if call.shapes[0] != call.shapes[1] or not isinstance(before.run, Fused) or not before.run.linear:
            continue
        other = [slot for slot in call.used if slot != before.made]
        if len(other) == 1 and recording.users(before.made) == [i] and before.made not in _kept(recording):
            inside = replace(call, run=before.run.plus, args=(before.args[0], other[0]),
                             shapes=(before.shapes[0], call.shape))  # fmt: skip
            recording.calls[i - 1 : i + 1] = [inside]


def _pixels_as_vectors(recording: Recording) -> None:
    """A convolution of maps of one pixel is a linear layer, which takes a tenth of the time to call."""
    for i, call in enumerate(recording.calls):
        conv = call.run
        if not isinstance(conv, nn.Conv2d) or [shape[2:] for shape in call.shapes] != [(1, 1)]:
            continue
        alike = (type(conv), conv.kernel_size, conv.padding, conv.groups)
        if alike == (nn.Conv2d, (1, 1), (0, 0), 1):
            recording.calls[i] = replace(call, run=OnePixel(conv))


def _gates_as_one(recording: Recording) -> None:
    """Squeeze-and-excitation in one call, which passes vectors on instead of maps of one pixel."""
    for i in range(len(recording.calls) - 1, -1, -1):
        chain = recording.calls[i : i + 6]
        if len(chain) < 6:
            continue
        mean, squeeze, activate, excite, squash, product = chain
        if mean.run != Tensor.mean or mean.args[1:] != ((2, 3),) or mean.options != {"keepdim": True}:
            continue
        in_line = all(after.args == (before.made,) for before, after in pairwise(chain[:5]))
        alone = all(recording.users(call.made) == [at] for at, call in enumerate(chain[:5], start=i + 1))
        if not in_line or not alone or product.args != (mean.args[0], squash.made):
            continue
        if isinstance(squeeze.run, OnePixel) and isinstance(excite.run, OnePixel) and product.run == Tensor.mul_:
            gate = Gate(squeeze.run, _bound(activate), excite.run, _bound(squash))
            recording.calls[i : i + 6] = [replace(product, run=gate, args=mean.args[:1], shapes=mean.shapes)]


def _bound(call: Call) -> Callable[..., Tensor]:
    return partial(call.run, **call.options) if call.options else call.run


def _kept(recording: Recording) -> tuple[Slot | None, ...]:
    return recording.map, recording.vector


class OnePixel:
    """A 1 x 1 convolution of maps (B, C, 1, 1)."""

    def __init__(self, conv: nn.Conv2d) -> None:
        self._conv, self._weight = conv, conv.weight.detach().flatten(1).contiguous()

    def __call__(self, x: Tensor) -> Tensor:
        if x.shape[2:] != (1, 1):
            return F.conv2d(x, self._conv.weight, self._conv.bias, self._conv.stride)
        return self.vectors(x.flatten(1))[:, :, None, None]

    def vectors(self, x: Tensor) -> Tensor:
        """(B, C) -> (B, C')."""
        return F.linear(x, self._weight, self._conv.bias)


class Gate:
    """x times what the mean of its maps says, written into x (B, C, h, w)."""

    def __init__(
        self, squeeze: OnePixel, activate: Callable[..., Tensor], excite: OnePixel, squash: Callable[..., Tensor]
    ) -> None:
        self._squeeze, self._activate, self._excite, self._squash = squeeze, activate, excite, squash

    def __call__(self, x: Tensor) -> Tensor:
        hidden = self._activate(self._squeeze.vectors(x.mean((2, 3))))
        return x.mul_(self._squash(self._excite.vectors(hidden))[:, :, None, None])
