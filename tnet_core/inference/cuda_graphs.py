"""The backbone at a few fixed shapes, so that a CUDA graph can replay it: no launch costs, the same numbers.

    fast = copy_with_graphs(model)            # on CUDA; shares the model's weights
    tn.traverse(fast, image)         # the first traversal records, later ones replay

A batch is filled up with grey to the next size. Looks do not depend on each other, so what fills up changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import LookOutput, TNet

SIZES = (1, 2, 4, 8, 16, 32)  # looks per call; a larger batch runs as it is

Look = Callable[[Tensor, Tensor], LookOutput]
Replay = Callable[[], LookOutput]
Record = Callable[[Look, Tensor, Tensor], Replay]


def copy_with_graphs(model: TNet, sizes: tuple[int, ...] = SIZES) -> TNet:
    """Return a copy that replays its backbone from CUDA graphs; opt-in, for many images of one model.

    Recordings hold memory for each size, and addresses: do not move the model or replace its weights
    afterwards (changing them in place is seen). One traversal at a time.
    """
    if model.device.type != "cuda" or model.training:
        raise TNetError("Graphs are recorded of models in evaluation mode on a CUDA device.")
    made = copy.copy(model)  # the same modules and weights
    made.look = FixedShapes(model.look, sizes, record)  # type: ignore[method-assign]
    return made


class FixedShapes:
    """`TNet.look` by recordings at fixed batch sizes, each made when it is first needed."""

    def __init__(self, look: Look, sizes: tuple[int, ...], make: Record) -> None:
        self._look, self._sizes, self._make = look, sorted(sizes), make
        self._made: dict[tuple[object, ...], tuple[Tensor, Tensor, Replay]] = {}

    @torch.inference_mode()
    def __call__(self, images: Tensor, positions: Tensor) -> LookOutput:
        count = images.shape[0]
        size = next((size for size in self._sizes if size >= count), None)
        if size is None:
            return self._look(images, positions)
        # What is recorded depends on all of these, so another of any is another recording.
        key = (size, images.shape[1:], images.dtype, images.device, torch.is_autocast_enabled(images.device.type))
        if key not in self._made:
            filled = torch.zeros((size, *images.shape[1:]), dtype=images.dtype, device=images.device)
            filled = filled.contiguous(memory_format=torch.channels_last)
            where = torch.zeros((size, 3), dtype=positions.dtype, device=positions.device)
            self._made[key] = (filled, where, self._make(self._look, filled, where))
        filled, where, replay = self._made[key]
        filled[:count].copy_(images)
        filled[count:].zero_()
        where[:count].copy_(positions)
        where[count:].zero_()
        out = replay()  # the same tensors every time: copied before the next replay overwrites them
        first = None if out.map is None else out.map[:count].clone()
        return LookOutput(first, out.vector[:count].clone(), out.feature[:count].clone())


def record(look: Look, images: Tensor, positions: Tensor) -> Replay:
    """Record a CUDA graph of one call on these very tensors and return what replays it."""
    # Autocast caches the weights it has cast only until its context ends; a graph would outlive them.
    with torch.autocast("cuda", enabled=torch.is_autocast_enabled("cuda"), cache_enabled=False):
        aside = torch.cuda.Stream(images.device)
        aside.wait_stream(torch.cuda.current_stream(images.device))
        with torch.cuda.stream(aside):
            for _ in range(3):  # libraries choose and allocate on their first calls
                look(images, positions)
        torch.cuda.current_stream(images.device).wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = look(images, positions)

    def replay() -> LookOutput:
        graph.replay()
        return out

    return replay
