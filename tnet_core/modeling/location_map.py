"""The rule that picks a backbone's intermediate map for the location module.

    Take the earliest block whose convolutional receptive field (squeeze-excitation ignored) is at
    least as wide as a cell at base resolution. Slice it regularly, with the cell stride rounded
    down to whole rows, at the offset that brings row centres closest to cell centres. Where that
    leaves a row nearer to another cell's centre than to its own, round the stride up instead.

Rounding *down* keeps the outer rows' fields inside the image. Maps that do not spread over the whole
image are passed over. The rule reproduces the paper's choice for all ten bird models and is what lets
any timm CNN serve as a backbone; fMoW and BagNet-77 name their block and rows in the configuration.
"""

from __future__ import annotations

from collections.abc import Sequence

from tnet_core.errors import TNetError
from tnet_core.modeling.config import LocationMap, TNetConfig
from tnet_core.modeling.receptive_field import BlockMap
from tnet_core.sampling.grid import divide_officially


def compute_cell_geometry(config: TNetConfig) -> tuple[float, float, list[float]]:
    """Return cell side, cell stride and cell centres in pixels at base resolution."""
    axis = divide_officially(config.input_size, config.grid, config.cell_fraction)
    scale = config.base_resolution / config.input_size
    centres = [(start + axis.cell / 2) * scale for start in axis.starts]
    return axis.cell * scale, axis.stride * scale, centres


def choose_location_map(config: TNetConfig, blocks: Sequence[BlockMap]) -> LocationMap:
    """Apply the rule, or the configuration's explicit choice, to a backbone's blocks."""
    if config.location_block is not None and config.location_rows is not None:
        return _follow_configuration(config, blocks)
    usable = [block for block in blocks if block.covers(config.base_resolution)]
    refused = f"Backbone '{config.backbone}' offers no map for the location module: "
    if not usable:
        raise TNetError(
            f"{refused}at {config.base_resolution} px none of the blocks in its stages returns a two-dimensional map "
            "of the whole image computed by convolutions; use a CNN."
        )
    cell, stride, centres = compute_cell_geometry(config)
    block = next((b for b in usable if b.field.size >= cell), None)
    if block is None:
        raise TNetError(
            f"{refused}no block's convolutional receptive field covers a whole cell of {cell:.0f} px (the widest has "
            f"{max(b.field.size for b in usable):.0f} px)."
        )
    rows = _choose_regular_rows(block, stride, centres)
    if rows is None:
        raise TNetError(
            f"{refused}the first block that sees a whole cell ('{block.name}', {block.rows}x{block.rows}) is too "
            f"coarse for a {config.grid}x{config.grid} grid with centres {stride:.1f} px apart."
        )
    return LocationMap(block.name, rows, block.channels, block.output, block.field.channels_last)


def _choose_regular_rows(block: BlockMap, stride: float, centres: Sequence[float]) -> tuple[int, ...] | None:
    """Return evenly spaced rows, one per cell and nearer to its centre than to any other, if there are any."""
    down = int(stride / block.field.jump)
    for step in (down, down + 1):
        choices = [
            tuple(start + i * step for i in range(len(centres)))
            for start in range(block.rows - step * (len(centres) - 1))
        ]
        if step < 1 or not choices:
            continue
        offsets = {
            rows: [abs(block.field.centre(r) - c) for r, c in zip(rows, centres, strict=True)] for rows in choices
        }
        best = min(choices, key=lambda rows: sum(offsets[rows]))
        if max(offsets[best]) <= stride / 2:
            return best
    return None


def _follow_configuration(config: TNetConfig, blocks: Sequence[BlockMap]) -> LocationMap:
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
    return LocationMap(name, rows, found[-1].channels, found[-1].output, found[-1].field.channels_last)
