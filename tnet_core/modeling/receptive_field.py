"""Receptive fields of every block of a convolutional network, for any timm backbone.

The network runs once on the meta device (shapes only, no arithmetic) under a dispatch mode that
follows each feature map and keeps its `Field`: how wide the input patch behind one cell is, how far
apart neighbouring cells lie, and where the first cell is centred. Working below the module level
makes this independent of how a model is written (residual branches, functional padding,
channels-last blocks, …).

What mixes all positions (the squeeze of squeeze-and-excitation, global pooling, attention, a
Fourier transform) ends a field: its result sees everything and says nothing about *where*, so it is
ignored when it meets a map again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

aten = torch.ops.aten

_REDUCTIONS = {
    aten.mean, aten.sum, aten.amax, aten.amin, aten.max, aten.min, aten.var, aten.std, aten.var_mean,
    aten.linalg_vector_norm, aten.norm, aten.logsumexp,
}  # fmt: skip
_POOLS = {aten.max_pool2d_with_indices, aten.max_pool2d, aten.avg_pool2d}
_ADAPTIVE_POOLS = {aten._adaptive_avg_pool2d, aten.adaptive_max_pool2d}
_PADS = {aten.constant_pad_nd, aten.reflection_pad2d, aten.replication_pad2d}
_PRODUCTS = {aten.mm, aten.addmm, aten.bmm, aten.baddbmm, aten.matmul}
_VIEWS = {aten.view, aten._unsafe_view}
_PIXEL_SHUFFLES = {aten.pixel_shuffle, aten.pixel_unshuffle}
_MIXERS = ("scaled_dot_product", "_fft_", "lstm", "gru", "rnn_")  # parts of operator names
_INTERPOLATION_REACH = {"nearest": 0, "nearest_exact": 0, "bilinear": 1, "bicubic": 3}  # cells


@dataclass(frozen=True)
class Field:
    """Geometry of one axis of a feature map, in input pixels (pixel i covers [i, i + 1))."""

    size: float  # input pixels behind one cell
    jump: float  # distance between neighbouring cells
    first: float  # centre of cell 0
    rows: int  # cells along the axis
    channels_last: bool = False

    def centre(self, row: float) -> float:
        return self.first + row * self.jump

    def convolve(self, kernel: int, stride: int, before: int, rows: int, dilation: int = 1) -> Field:
        """Return the field after a convolution or pooling with `before` padded cells in front."""
        span = (kernel - 1) * dilation
        return Field(self.size + span * self.jump, self.jump * stride, self.centre(span / 2 - before), rows)

    def convolve_transposed(self, kernel: int, stride: int, before: int, rows: int, dilation: int = 1) -> Field:
        """Return the field after a transposed convolution, which divides the jump by its stride."""
        span = (kernel - 1) * dilation
        return Field(
            self.size + span // stride * self.jump, self.jump / stride, self.centre((before - span / 2) / stride), rows
        )

    def resize(self, rows: int, reach: int) -> Field:
        """Return the field after an interpolation to `rows` cells over the same pixels."""
        jump = self.jump * self.rows / rows
        return Field(self.size + reach * self.jump, jump, self.first + (jump - self.jump) / 2, rows)


@dataclass(frozen=True)
class BlockMap:
    """One block of a backbone, in order of execution."""

    name: str  # module path inside the backbone
    field: Field
    channels: int
    output: int  # which of the tensors the block returns is the map

    @property
    def rows(self) -> int:  # side of its (square) output map
        return self.field.rows

    def covers(self, base_resolution: int) -> bool:
        """Tell whether the cells of the map spread over the whole image: otherwise their places mean nothing."""
        return self.rows > 1 and 0.8 <= self.rows * self.field.jump / base_resolution <= 1.25


def flat_tensors(values: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested lists, tuples and mappings, in order."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, (list, tuple, dict)):
        for value in values.values() if isinstance(values, dict) else values:
            yield from flat_tensors(value)


def _join_fields(fields: Sequence[Field]) -> Field:
    """Return the field of maps that were added or concatenated: it reaches as far as any of them.

    Only the finest maps count; anything coarser must have been spread over them.
    """
    rows = max(f.rows for f in fields)
    finest = [f for f in fields if f.rows == rows]
    widest = max(finest, key=lambda f: f.size)
    if all(f == widest for f in finest):
        return widest
    middle = (rows - 1) / 2
    low = min(f.centre(middle) - f.size / 2 for f in finest)
    high = max(f.centre(middle) + f.size / 2 for f in finest)
    return replace(widest, size=high - low, first=(low + high) / 2 - middle * widest.jump)


def _shows_map(shape: Sequence[int], rows: int) -> bool:
    """Tell whether a tensor of this shape still tells positions of a rows x rows map apart."""
    as_map = any(a == b == rows for a, b in pairwise(shape))
    as_tokens = len(shape) == 3 and rows * rows in shape
    return rows > 1 and (as_map or as_tokens)


class _FieldTracker(TorchDispatchMode):
    """Attaches a `Field` to every tensor computed from the input (rows only: maps are square).

    None stands for a field that has ended.
    """

    def __init__(self, image: Tensor) -> None:
        super().__init__()
        self.fields: Any = WeakIdKeyDictionary()
        self.fields[image] = Field(size=1.0, jump=1.0, first=0.5, rows=image.shape[2])
        self.layers = 0  # convolutions and matrix products applied to a map with a field

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        found = [self.fields[t] for t in flat_tensors([args, kwargs]) if t in self.fields]
        if found:
            op, maps = func.overloadpacket, [field for field in found if field is not None]
            joined = _join_fields(maps) if maps else None
            for tensor in flat_tensors(out):
                self.fields[tensor] = joined and self._follow(op, args, joined, len(found), tensor)
            self.layers += joined is not None and (op is aten.convolution or op in _PRODUCTS)
        return out

    def _follow(self, op: Any, args: Any, field: Field, operands: int, out: Tensor) -> Field | None:
        """Return the field of `out` = op(*args), of which `operands` depend on the image."""
        name = op._qualified_op_name.split("::")[-1]
        if op in _REDUCTIONS:
            return field if _shows_map(out.shape, field.rows) else None
        if (op in _PRODUCTS and operands > 1) or any(part in name for part in _MIXERS):
            return None
        if op is aten.permute and tuple(args[1]) in ((0, 2, 3, 1), (0, 3, 1, 2)):
            return replace(field, channels_last=tuple(args[1]) == (0, 2, 3, 1))
        if op in _PIXEL_SHUFFLES or (op in _VIEWS and args[0].ndim == 6 and out.ndim == 4):
            return _rearrange(field, out.shape)
        source = args[0] if args and isinstance(args[0], Tensor) else out
        if source.ndim == out.ndim == 4:
            if op is aten.convolution or op in _POOLS:
                field = _rearrange(field, source.shape)
            if source.shape[2] == field.rows:
                return _follow_on_map(op, name, args, field, out.shape[2])
        return _follow_off_map(op, args, field)


def _follow_off_map(op: Any, args: Any, field: Field) -> Field | None:
    """Return the field after an operation on tokens or windows, None where it moves positions."""
    moves = (op is aten.convolution and max(args[1].shape[2:], default=1) > 1) or op in _POOLS or op in _ADAPTIVE_POOLS
    return None if moves else field


def _follow_on_map(op: Any, name: str, args: Any, field: Field, rows: int) -> Field | None:
    """Return the field after an operation from one two-dimensional map to another of `rows` rows."""
    if op is aten.convolution:
        _, weight, _, stride, padding, dilation, transposed = args[:7]
        step = field.convolve_transposed if transposed else field.convolve
        return step(weight.shape[2], stride[0], padding[0], rows, dilation[0])
    if op in _POOLS:
        kernel = args[1][0]
        stride = args[2][0] if len(args) > 2 and args[2] else kernel
        return field.convolve(kernel, stride, args[3][0] if len(args) > 3 else 0, rows)
    if op in _ADAPTIVE_POOLS:
        bins = field.rows // rows
        return field.convolve(bins, bins, 0, rows) if rows > 1 and bins * rows == field.rows else None
    if name.startswith(("upsample_", "_upsample_")):
        kind = name.removeprefix("_").removeprefix("upsample_").split("2d")[0]
        return field.resize(rows, _INTERPOLATION_REACH.get(kind, 1))
    # On a channels-last map the next two read columns instead of rows; on square maps both fare alike.
    if op in _PADS and len(args[1]) >= 4:
        # (left, right, top, bottom): a pad in front moves cell 0; a negative one crops.
        return replace(field, first=field.centre(-args[1][2]), rows=rows)
    if op is aten.slice and len(args) >= 3 and args[1] == 2:
        start = args[2] or 0
        start = max(start + field.rows, 0) if start < 0 else start
        jump = field.jump * (args[4] if len(args) > 4 else 1)
        return replace(field, jump=jump, first=field.centre(start), rows=rows)
    return field


def _rearrange(field: Field, shape: Sequence[int]) -> Field:
    """Return the field after cells moved into channels or back (space to depth), which a map's new sides show."""
    sides = [a for a, b in ((shape[2], shape[3]), (shape[1], shape[2])) if a == b]
    if shape[0] != 1 or not sides or _shows_map(shape, field.rows):
        return field  # windows in the batch dimension, or the same map
    rows = sides[0]
    if field.rows % rows == 0:
        block = field.rows // rows
        return replace(field.convolve(block, block, 0, rows), channels_last=field.channels_last)
    return replace(field.resize(rows, 0), channels_last=field.channels_last)


def _list_candidates(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Yield modules that may be blocks: what a backbone's stages (or the backbone itself) consist of."""
    for name, child in module.named_children():
        path = f"{prefix}{name}"
        if isinstance(child, (nn.Sequential, nn.ModuleList)) or "Stage" in type(child).__name__:
            yield from _list_candidates(child, path + ".")
        elif isinstance(child, nn.Conv2d) or any(True for _ in child.children()):
            yield path, child


@dataclass(frozen=True)
class Survey:
    """What one run of a backbone shows."""

    blocks: tuple[BlockMap, ...]
    width: int  # length of its feature vector


def survey(body: nn.Module, base_resolution: int) -> Survey:
    """Return the blocks of a backbone in order, each with field and map size on a square input.

    A block is a module inside a stage (a Sequential, a ModuleList or a `*Stage` class) that applies
    at least two convolutions or matrix products to its map; stems and single layers are not blocks.
    Only where no such block has a map of the whole image (VGG, ConvMixer) do single layers count.
    `body` must live on the meta device.
    """
    with torch.inference_mode(False):  # inside it, composite operations are not taken apart
        return _run_survey(body, base_resolution)


def _run_survey(body: nn.Module, base_resolution: int) -> Survey:
    image = torch.empty(1, 3, base_resolution, base_resolution, device="meta")
    found: list[tuple[int, BlockMap]] = []  # with the number of layers
    started: dict[str, int] = {}
    with _FieldTracker(image) as tracker:

        def watch(path: str, module: nn.Module) -> list[Any]:
            def before(_: nn.Module, __: Any) -> None:
                started[path] = tracker.layers

            def after(_: nn.Module, __: Any, out: Any) -> None:
                layers = tracker.layers - started[path]
                block = _find_block_map(path, out, tracker.fields)
                if layers and block is not None:
                    found.append((layers, block))

            return [module.register_forward_pre_hook(before), module.register_forward_hook(after)]

        handles = [h for path, module in _list_candidates(body) for h in watch(path, module)]
        try:
            with torch.no_grad():
                vector = body(image)
        finally:
            for handle in handles:
                handle.remove()
    if not isinstance(vector, Tensor) or vector.ndim != 2 or vector.shape[1] == 0:
        raise ValueError("it does not end in one feature vector per image")
    composite = tuple(block for layers, block in found if layers > 1)
    if any(block.covers(base_resolution) for block in composite):
        return Survey(composite, vector.shape[1])
    return Survey(tuple(block for _, block in found), vector.shape[1])


def _find_block_map(path: str, out: Any, fields: Any) -> BlockMap | None:
    """Return the first square map among the outputs of a block."""
    for index, tensor in enumerate(flat_tensors(out)):
        field = fields.get(tensor)
        if field is None or tensor.ndim != 4:
            continue
        _, a, b, c = tensor.shape
        first, last = b == c == field.rows, a == b == field.rows  # where the channels can be
        if first or last:
            channels_last = last and (field.channels_last or not first)
            return BlockMap(path, replace(field, channels_last=channels_last), c if channels_last else a, index)
    return None
