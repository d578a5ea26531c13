"""Receptive fields of every block of a convolutional network, for any timm backbone.

The network runs once on the meta device (shapes only, no arithmetic) under a dispatch mode that
follows each feature map and keeps its `Field`: how wide the input patch behind one cell is, how far
apart neighbouring cells lie, and where the first cell is centred. Working below the module level
makes this independent of how a model is written (residual branches, functional padding,
channels-last blocks, …).

A reduction over space (the squeeze of squeeze-and-excitation, global pooling) ends a field: its
result sees everything and says nothing about *where*, so it is ignored when it meets a map again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

aten = torch.ops.aten

_REDUCTIONS = {
    aten.mean, aten.sum, aten.amax, aten.amin, aten.max, aten.min, aten.var, aten.std, aten.var_mean,
    aten.linalg_vector_norm, aten.norm, aten._adaptive_avg_pool2d, aten.adaptive_max_pool2d,
}  # fmt: skip
_POOLS = {aten.max_pool2d_with_indices, aten.max_pool2d, aten.avg_pool2d}


@dataclass(frozen=True)
class Field:
    """Geometry of one axis of a feature map, in input pixels (pixel i covers [i, i + 1))."""

    size: float  # input pixels behind one cell
    jump: float  # distance between neighbouring cells
    first: float  # centre of cell 0

    def centre(self, row: int) -> float:
        return self.first + row * self.jump

    def through(self, kernel: int, stride: int, before: int, dilation: int = 1) -> Field:
        """The field after a convolution or pooling with `before` padded cells in front."""
        span = (kernel - 1) * dilation
        return Field(
            size=self.size + span * self.jump,
            jump=self.jump * stride,
            first=self.first + (span / 2 - before) * self.jump,
        )


@dataclass(frozen=True)
class BlockMap:
    """One block of a backbone, in order of execution."""

    name: str  # module path inside the backbone
    field: Field
    rows: int  # side of its (square) output map
    channels: int


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


class _FieldTracker(TorchDispatchMode):
    """Attaches a `Field` to every tensor computed from the input (rows only: maps are square)."""

    def __init__(self, image: Tensor) -> None:
        super().__init__()
        self.fields: Any = WeakIdKeyDictionary()
        self.fields[image] = Field(size=1.0, jump=1.0, first=0.5)
        self.maps_seen = 0  # convolutions and matrix products applied to a map with a field

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        found = [(t, self.fields[t]) for t in _tensors(args) if t in self.fields]
        if found:
            field = self._after(func.overloadpacket, args, found)
            if field is not None:
                for tensor in _tensors(out):
                    self.fields[tensor] = field
        return out

    def _after(self, op: Any, args: Any, found: list[tuple[Tensor, Field]]) -> Field | None:
        field = max((f for _, f in found), key=lambda f: f.size)
        if op in _REDUCTIONS:
            return None
        if op in (aten.bmm, aten.matmul, aten._scaled_dot_product_flash_attention_for_cpu) and len(found) > 1:
            return None  # attention mixes every position with every other
        if op is aten.convolution:
            self.maps_seen += 1
            _, weight, _, stride, padding, dilation = args[:6]
            return field.through(weight.shape[-2], stride[0], padding[0], dilation[0])
        if op in (aten.mm, aten.addmm):
            self.maps_seen += 1
            return field
        if op in _POOLS:
            kernel = args[1][0]
            stride = args[2][0] if len(args) > 2 and args[2] else kernel
            return field.through(kernel, stride, args[3][0] if len(args) > 3 else 0)
        if op is aten.constant_pad_nd:
            # (left, right, top, bottom): a pad in front moves cell 0; a negative one crops.
            before = args[1][2] if len(args[1]) >= 4 else 0
            return Field(field.size, field.jump, field.first - before * field.jump)
        if op is aten.slice and len(args) >= 3 and args[1] == 2 and found[0][0].ndim == 4:
            return Field(field.size, field.jump, field.first + (args[2] or 0) * field.jump)
        return field


def _is_container(module: nn.Module) -> bool:
    return isinstance(module, (nn.Sequential, nn.ModuleList)) or "Stage" in type(module).__name__


def _candidates(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Modules that may be blocks: what a backbone's stages (or the backbone itself) consist of."""
    for name, child in module.named_children():
        path = f"{prefix}{name}"
        if _is_container(child):
            yield from _candidates(child, path + ".")
        elif any(True for _ in child.children()):
            yield path, child


@dataclass(frozen=True)
class Survey:
    """What one run of a backbone shows."""

    blocks: tuple[BlockMap, ...]
    width: int  # length of its feature vector


def survey(body: nn.Module, base_resolution: int) -> Survey:
    """The blocks of a backbone in order, each with field and map size on a square input.

    A block is a module inside a stage (a Sequential, a ModuleList or a `*Stage` class) that applies
    at least two convolutions or matrix products to its map; stems and single layers are not blocks.
    `body` must live on the meta device.
    """
    with torch.inference_mode(False):  # inside it, composite operations are not taken apart
        return _survey(body, base_resolution)


def _survey(body: nn.Module, base_resolution: int) -> Survey:
    image = torch.empty(1, 3, base_resolution, base_resolution, device="meta")
    blocks: list[BlockMap] = []
    started: dict[str, int] = {}
    with _FieldTracker(image) as tracker:

        def watch(path: str, module: nn.Module) -> list[Any]:
            def before(_: nn.Module, __: Any) -> None:
                started[path] = tracker.maps_seen

            def after(_: nn.Module, __: Any, out: Any) -> None:
                layers = tracker.maps_seen - started[path]
                if layers < 2 or not isinstance(out, Tensor) or out.ndim != 4 or out not in tracker.fields:
                    return
                if out.shape[2] != out.shape[3]:
                    return
                blocks.append(BlockMap(path, tracker.fields[out], out.shape[2], out.shape[1]))

            return [module.register_forward_pre_hook(before), module.register_forward_hook(after)]

        handles = [h for path, module in _candidates(body) for h in watch(path, module)]
        try:
            with torch.no_grad():
                vector = body(image)
        finally:
            for handle in handles:
                handle.remove()
    return Survey(tuple(blocks), vector.shape[1])
