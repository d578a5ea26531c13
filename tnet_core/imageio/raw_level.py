"""Levels built here: files of plain RGB rows, any part of which can be read.

A file that must be decoded from its first line to its last (a JPEG, a PNG, a TIFF in strips) is
decoded once; a tiled file without smaller versions of itself is passed through once, for those.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import cv2
import numpy as np

from tnet_core.errors import TNetError
from tnet_core.imageio import scratch
from tnet_core.imageio.pyramid import STEP, TOP

Plan = list[tuple[int, int, int]]  # width, height, factor of each level


class RawLevel:
    """Rows of RGB bytes in a file that stays open, so that its removal takes nothing away."""

    block = 1  # rows that are best read together

    def __init__(self, path: Path, width: int, height: int, factor: int) -> None:
        self.width, self.height, self.factor = width, height, factor
        self._file = path.open("rb", buffering=0)

    def read(self, x: int, y: int, width: int, height: int) -> np.ndarray:
        """Return (height, width, 3) uint8."""
        out = np.empty((height, width, 3), np.uint8)
        number, row = self._file.fileno(), self.width * 3
        if width == self.width:
            self._fill(number, out.data.cast("B"), y * row)
        else:
            for i in range(height):
                self._fill(number, out[i].data.cast("B"), (y + i) * row + x * 3)
        return out

    def _fill(self, number: int, into: memoryview, offset: int) -> None:
        while into:  # a single call reads 2 GB at most
            count = os.preadv(number, [into], offset)
            if not count:
                raise TNetError("A temporary file was cut off: open the picture again.")
            into, offset = into[count:], offset + count


def plan_levels(width: int, height: int, factor: int, *, first: bool) -> Plan:
    """Return size and factor of the levels below a level; with the level itself where `first`."""
    levels = [(width, height, factor)]
    while max(width, height) > TOP:
        width, height, factor = -(-width // STEP), -(-height // STEP), factor * STEP
        levels.append((width, height, factor))
    return levels if first else levels[1:]


def build_levels(key: str, plan: Plan, strips: Callable[[], Iterable[np.ndarray]]) -> list[RawLevel]:
    """Return the planned levels, as built at an earlier time or now from strips of the picture, top to bottom.

    The strips have the resolution of the first level, or `STEP` times that.
    """
    size = sum(width * height * 3 for width, height, _ in plan)
    with scratch.open_folder(key, size, lambda folder: _write(folder, plan, strips())) as folder:
        return [RawLevel(folder / f"{factor}.rgb", width, height, factor) for width, height, factor in plan]


def _write(folder: Path, plan: Plan, strips: Iterable[np.ndarray]) -> None:
    files = [(folder / f"{factor}.rgb").open("wb") for _, _, factor in plan]
    waiting: list[list[np.ndarray]] = [[] for _ in plan]

    def put(number: int, strip: np.ndarray) -> None:
        if strip.shape[1] != plan[number][0]:  # finer than the level: the step above the first one
            feed(number, strip)
            return
        files[number].write(np.ascontiguousarray(strip).data)
        if number + 1 < len(plan):
            feed(number + 1, strip)

    def feed(number: int, strip: np.ndarray) -> None:
        """Collect lines until whole blocks of a level can be averaged."""
        lines = np.concatenate([*waiting[number], strip]) if waiting[number] else strip
        whole = len(lines) // STEP * STEP
        waiting[number] = [lines[whole:].copy()] if whole < len(lines) else []
        if whole:
            put(number, _shrink(lines[:whole], plan[number][0]))

    try:
        for strip in strips:
            put(0, strip)
        for number in range(len(plan)):
            if waiting[number]:
                rest = np.concatenate(waiting[number])
                waiting[number] = []
                rest = np.concatenate([rest, np.repeat(rest[-1:], STEP - len(rest), axis=0)])
                put(number, _shrink(rest, plan[number][0]))
    finally:
        for file in files:
            file.close()


def _shrink(lines: np.ndarray, width: int) -> np.ndarray:
    missing = width * STEP - lines.shape[1]
    if missing:  # the last block is filled up with the picture's last column
        lines = cv2.copyMakeBorder(lines, 0, 0, 0, missing, cv2.BORDER_REPLICATE)
    return cv2.resize(lines, (width, len(lines) // STEP), interpolation=cv2.INTER_AREA)
