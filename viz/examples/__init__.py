"""Pictures for a model that knows nothing, drawn by this package; photographs are listed in `picture_list`.

Each is one quiet composition with details that only show from close by. They are the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from viz.examples import circuit_board, city, farmland, harbour


@dataclass(frozen=True)
class Example:
    title: str
    draw: Callable[[], np.ndarray]


EXAMPLES: tuple[Example, ...] = (
    Example("Harbour at dusk", harbour.draw),
    Example("Farmland", farmland.draw),
    Example("City at night", city.draw),
    Example("Circuit board", circuit_board.draw),
)


@lru_cache(maxsize=len(EXAMPLES))
def draw_picture(index: int) -> np.ndarray:
    """Draw example `index` as (H, W, 3) uint8, read-only because it is shared."""
    pixels = EXAMPLES[index].draw()
    pixels.setflags(write=False)
    return pixels
