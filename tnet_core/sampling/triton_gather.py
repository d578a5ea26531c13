"""`gather_crops` as one Triton kernel: a launch makes the crops of a whole level. Import it only where Triton is."""
# mypy: disable-error-code="no-untyped-def"
# Triton types a kernel's arguments by what it is called with.

from __future__ import annotations

import contextlib

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

from tnet_core.sampling.crop_taps import CropTaps

BLOCK = (8, 64)  # rows, columns of output pixels that one program makes


@triton.jit(do_not_specialize=["row_taps", "col_taps"])  # they change from level to level
def gather_kernel(
    pixels, start, pitch, rows, down, cols, across, out, base, row_taps, col_taps, scale,
    ROUND: tl.constexpr, BLOCK_Y: tl.constexpr, BLOCK_X: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Make BLOCK_Y x BLOCK_X pixels of crop `program_id(0)`, one program each."""
    crop = tl.program_id(0).to(tl.int64)
    y = tl.program_id(1) * BLOCK_Y + tl.arange(0, BLOCK_Y)
    x = tl.program_id(2) * BLOCK_X + tl.arange(0, BLOCK_X)
    in_y, in_x = y < base, x < base
    origin = tl.load(start + crop)  # int64 from here on: images may have more than 2^31 bytes
    step = tl.load(pitch + crop)
    vertical, horizontal = crop * row_taps * base + y, crop * col_taps * base + x

    red = tl.zeros((BLOCK_Y, BLOCK_X), tl.float32)
    green = tl.zeros((BLOCK_Y, BLOCK_X), tl.float32)
    blue = tl.zeros((BLOCK_Y, BLOCK_X), tl.float32)
    weight_y = tl.zeros((BLOCK_Y,), tl.float32)
    weight_x = tl.zeros((BLOCK_X,), tl.float32)
    for i in range(row_taps):
        wy = tl.load(down + vertical + i * base, mask=in_y, other=0.0)
        row = tl.load(rows + vertical + i * base, mask=in_y, other=0)
        line = origin + row.to(tl.int64) * step
        weight_y += wy
        line_red = tl.zeros((BLOCK_Y, BLOCK_X), tl.float32)
        line_green = tl.zeros((BLOCK_Y, BLOCK_X), tl.float32)
        line_blue = tl.zeros((BLOCK_Y, BLOCK_X), tl.float32)
        weight_x = tl.zeros((BLOCK_X,), tl.float32)
        for j in range(col_taps):
            wx = tl.load(across + horizontal + j * base, mask=in_x, other=0.0)
            col = tl.load(cols + horizontal + j * base, mask=in_x, other=0)
            at = pixels + line[:, None] + col.to(tl.int64)[None, :] * 3
            read = (wy != 0.0)[:, None] & (wx != 0.0)[None, :]
            line_red += wx[None, :] * tl.load(at, mask=read, other=0).to(tl.float32)
            line_green += wx[None, :] * tl.load(at + 1, mask=read, other=0).to(tl.float32)
            line_blue += wx[None, :] * tl.load(at + 2, mask=read, other=0).to(tl.float32)
            weight_x += wx
        red += wy[:, None] * line_red
        green += wy[:, None] * line_green
        blue += wy[:, None] * line_blue

    weight = weight_y[:, None] * weight_x[None, :]
    target = out + ((crop * base + y[:, None]) * base + x[None, :]) * 3
    shown = in_y[:, None] & in_x[None, :]
    tl.store(target, _finish(red, weight, scale, ROUND), mask=shown)
    tl.store(target + 1, _finish(green, weight, scale, ROUND), mask=shown)
    tl.store(target + 2, _finish(blue, weight, scale, ROUND), mask=shown)


@triton.jit
def _finish(total, weight, scale, ROUND: tl.constexpr):  # noqa: N803
    """Convert a sum of bytes to [-1, 1]: as it is, grey where weight is missing, or in whole levels (see `Round`)."""
    if ROUND == 0:
        return total * (2 / 255) - weight
    level = total * scale
    rounded = tl.floor(level + 0.5)
    if ROUND == 2:
        tie = (rounded - level == 0.5) & (rounded - 2 * tl.floor(rounded * 0.5) == 1)
        rounded = tl.where(tie, rounded - 1, rounded)
    return rounded * (2 / 255) - 1


def launch(pixels: Tensor, taps: CropTaps[Tensor], block: tuple[int, int] = BLOCK) -> Tensor:
    """Run the kernel for `gather_crops`; `block` must be powers of 2."""
    count, row_taps, base = taps.rows.shape
    out = torch.empty((count, base, base, 3), device=pixels.device)
    grid = (count, triton.cdiv(base, block[0]), triton.cdiv(base, block[1]))
    here = torch.cuda.device(pixels.device) if pixels.is_cuda else contextlib.nullcontext()
    with here:
        gather_kernel[grid](
            pixels.reshape(-1), *(array.contiguous() for array in taps.arrays), out,
            base, row_taps, taps.cols.shape[1], taps.scale, int(taps.round), *block,
            enable_fp_fusion=False,  # products round as torch rounds them
        )  # fmt: skip
    return out.permute(0, 3, 1, 2)
