"""Which map of a frozen backbone the location module reads.

The paper's rule takes the earliest map that sees a whole cell, since its backbone learns along and makes something
of it. In a frozen backbone that map knows edges and not objects, so here it is the latest one that still tells the
cells apart: one row near the centre of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.features import survey_of
from tnet_core.modeling.location_map import cell_geometry
from tnet_core.modeling.receptive_field import BlockMap

_MOST_CHANNELS = 512  # the location module has about three times their square in parameters


def with_late_map(config: TNetConfig) -> TNetConfig:
    """The configuration with block and rows of that map; left to the paper's rule where there is none."""
    _, stride, centres = cell_geometry(config)
    for block in reversed(survey_of(config).blocks):
        if block.channels > _MOST_CHANNELS or not block.covers(config.base_resolution):
            continue
        rows = _nearest_rows(block, config.base_resolution, stride, centres)
        if rows is not None:
            return replace(config, location_block=block.name, location_rows=rows)
    return config


def _nearest_rows(block: BlockMap, side: int, stride: float, centres: Sequence[float]) -> tuple[int, ...] | None:
    """The row in which each cell's centre lies, if every cell has one of its own, centred within half a stride."""
    height = side / block.rows
    rows = [min(max(round(centre / height - 0.5), 0), block.rows - 1) for centre in centres]
    near = all(abs((row + 0.5) * height - centre) <= stride / 2 for row, centre in zip(rows, centres, strict=True))
    return tuple(rows) if near and all(a < b for a, b in pairwise(rows)) else None
