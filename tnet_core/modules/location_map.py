"""The rule that picks a backbone's intermediate map for the location module.

    Take the earliest block whose convolutional receptive field (squeeze-excitation ignored) is at
    least as wide as a cell at base resolution. Slice it regularly, with the cell stride rounded
    down to whole rows, at the offset that brings row centres closest to cell centres.

Rounding the step *down* keeps the outer rows' fields inside the image. The rule reproduces the
paper's choice for all ten bird models and is what lets any timm CNN serve as a backbone; fMoW and
BagNet-77 name their block and rows in the configuration instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tnet_core.config import TNetConfig
from tnet_core.errors import TNetError
from tnet_core.grid import official_axis
from tnet_core.modules.receptive_field import BlockMap


@dataclass(frozen=True)
class LocationMap:
    """Which module's output the location module reads, and which of its rows (= columns)."""

    block: str
    rows: tuple[int, ...]
    channels: int


def cell_geometry(config: TNetConfig) -> tuple[float, float, list[float]]:
    """Cell side, cell stride and cell centres in pixels at base resolution."""
    axis = official_axis(config.input_size, config.grid, config.cell_fraction)
    scale = config.base_resolution / config.input_size
    centres = [(start + axis.cell / 2) * scale for start in axis.starts]
    return axis.cell * scale, axis.stride * scale, centres


def choose_location_map(config: TNetConfig, blocks: Sequence[BlockMap]) -> LocationMap:
    """Apply the rule, or the configuration's explicit choice, to a backbone's blocks."""
    if config.location_block is not None and config.location_rows is not None:
        return _explicit(config, blocks)
    if not blocks:
        raise TNetError(
            f"Backbone '{config.backbone}' offers no map for the location module: it has no convolutional block "
            "whose output is a two-dimensional map; use a CNN."
        )
    cell, stride, centres = cell_geometry(config)
    block = next((b for b in blocks if b.field.size >= cell), None)
    if block is None:
        raise TNetError(
            f"Backbone '{config.backbone}' offers no map for the location module: no block sees a whole cell of "
            f"{cell:.0f} px (the widest field is {max(b.field.size for b in blocks):.0f} px)."
        )
    step = int(stride / block.field.jump)
    span = step * (config.grid - 1)
    if step < 1 or span >= block.rows:
        raise TNetError(
            f"Backbone '{config.backbone}' offers no map for the location module: the first block that sees a whole "
            f"cell ('{block.name}', {block.rows}x{block.rows}) is too coarse for a {config.grid}x{config.grid} grid."
        )

    def distance(start: int) -> float:
        return sum(abs(block.field.centre(start + i * step) - c) for i, c in enumerate(centres))

    start = min(range(block.rows - span), key=distance)
    return LocationMap(block.name, tuple(start + i * step for i in range(config.grid)), block.channels)


def _explicit(config: TNetConfig, blocks: Sequence[BlockMap]) -> LocationMap:
    name, rows = config.location_block, config.location_rows
    assert name is not None and rows is not None
    # A stage may be named too: its output is that of its last block.
    found = [b for b in blocks if b.name == name or b.name.startswith(name + ".")]
    if not found:
        raise TNetError(f"Backbone '{config.backbone}' has no block '{name}' (configuration field 'location_block').")
    if not 0 <= rows[0] <= rows[-1] < found[-1].rows:
        raise TNetError(
            f"'location_rows' asks for row {rows[-1]}, but the map of '{name}' has {found[-1].rows} rows at base "
            f"resolution {config.base_resolution}."
        )
    return LocationMap(name, rows, found[-1].channels)
