"""Draw examples/meadow.tif: a meadow of a hundred million pixels with the honey bee of examples/ somewhere in it.

`python -m tools.draw_meadow`. The meadow is drawn; the bee is cut out of the photograph by its outline and keeps that
photograph's licence. `--at X Y` hides it elsewhere, to measure where it is found.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from viz.examples import EXAMPLES_FOLDER

SIDE = 10_000
COARSE = 2_500  # the meadow's own detail; blades are drawn at full size
BEE = 1_200  # pixels
PLACE = (0.62, 0.36)  # of the free way to the right and down
_BOX = (110, 260, 800, 1000)  # around the bee in its photograph
_DARK, _LIGHT = np.array([62, 88, 40.0]), np.array([150, 172, 92.0])
_BLADES = 6_000
QUALITY = 32  # of the JPEG tiles


@cache  # whoever measures many places hides the same bee
def cut_out_bee() -> tuple[np.ndarray, np.ndarray]:
    """Return the bee's pixels (h, w, 3) uint8 and its outline (h, w) from 0 to 1, at its size in the scene."""
    photograph = cv2.imread(str(EXAMPLES_FOLDER / "honey-bee.jpg"))
    assert photograph is not None
    x0, y0, x1, y1 = _BOX
    mask = np.zeros(photograph.shape[:2], np.uint8)
    cv2.setRNGSeed(0)
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(photograph, mask, (x0, y0, x1 - x0, y1 - y0), *models, 5, cv2.GC_INIT_WITH_RECT)
    inside = ((mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD)).astype(np.uint8)[y0:y1, x0:x1]
    _, parts, sizes, _ = cv2.connectedComponentsWithStats(inside)
    inside = (parts == 1 + int(sizes[1:, cv2.CC_STAT_AREA].argmax())).astype(np.uint8)
    scale = BEE / max(inside.shape)
    size = (round(inside.shape[1] * scale), round(inside.shape[0] * scale))
    pixels = cv2.resize(photograph[y0:y1, x0:x1, ::-1], size, interpolation=cv2.INTER_CUBIC)
    outline = cv2.GaussianBlur(cv2.resize(inside.astype(np.float32), size), (9, 9), 0)
    return pixels, outline


def draw_meadow(seed: int = 1) -> np.ndarray:
    """Return (SIDE, SIDE, 3) uint8: light and dark grass at every scale, and single blades."""
    generator = np.random.default_rng(seed)

    def add_noise(octaves: tuple[int, ...], fall: float) -> np.ndarray:
        total = np.zeros((COARSE, COARSE), np.float32)
        for cells in octaves:
            lattice = generator.standard_normal((cells, cells)).astype(np.float32)
            layer = cv2.resize(lattice, (COARSE, COARSE), interpolation=cv2.INTER_CUBIC)
            total += (octaves[0] / cells) ** fall * layer
        return total

    light = 0.5 + 0.12 * add_noise((4, 8, 16, 32, 64), 0.9) + 0.06 * add_noise((250, 500), 0.3)
    share = light.clip(0, 1)[..., None]
    coarse = (_DARK * (1 - share) + _LIGHT * share).clip(0, 255).astype(np.uint8)
    meadow: np.ndarray = cv2.resize(coarse, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    for x, y, dx, dy, tone in generator.integers((0, 0, -22, -90, 0), (SIDE, SIDE, 23, -30, 60), (_BLADES, 5)).tolist():
        colour = (80 + tone, 112 + tone, 52 + tone // 2)
        cv2.line(meadow, (x, y), (x + dx, y + dy), colour, 4, cv2.LINE_AA)
    return meadow


def hide_bee(meadow: np.ndarray, place: tuple[float, float]) -> tuple[float, float, float, float]:
    """Put the bee into the meadow, in place; return its box as shares of width and height."""
    pixels, outline = cut_out_bee()
    height, width = outline.shape
    x, y = (round(share * (SIDE - side)) for share, side in zip(place, (width, height), strict=True))
    part, weight = meadow[y : y + height, x : x + width], outline[..., None]
    part[:] = (part * (1 - weight) + pixels * weight).astype(np.uint8)
    return x / SIDE, y / SIDE, (x + width) / SIDE, (y + height) / SIDE


def save_pyramid(scene: np.ndarray, path: Path, quality: int) -> None:
    """Write a tiled TIFF with smaller versions inside, so that a look reads only what it needs."""
    import pyvips

    image = pyvips.Image.new_from_memory(scene.tobytes(), SIDE, SIDE, 3, "uchar").copy(interpretation="srgb")
    image.tiffsave(
        str(path), compression="jpeg", Q=quality, tile=True, tile_width=512, tile_height=512, pyramid=True, strip=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at", nargs=2, type=float, default=PLACE, help="where the bee is, as two shares")
    parser.add_argument("--out", type=Path, default=EXAMPLES_FOLDER / "meadow.tif")
    parser.add_argument("--quality", type=int, default=QUALITY)
    arguments = parser.parse_args()
    meadow = draw_meadow()
    box = hide_bee(meadow, tuple(arguments.at))
    save_pyramid(meadow, arguments.out, arguments.quality)
    print(
        f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.1f} MB, the bee in {[round(side, 4) for side in box]}"
    )


if __name__ == "__main__":
    main()
