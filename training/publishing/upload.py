"""What is published: the files of a checkpoint, its model card and a picture of accuracy against looks."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from tnet_core.checkpoints.card import CheckpointCard
from tnet_core.errors import TNetError, reason
from tnet_core.schemas.evaluation import Evaluation
from tnet_core.schemas.files import CONFIG_FILE, EVALUATION_FILE, README_FILE, TENSOR_FILE
from training.publishing.model_card import PICTURE_FILE, Details, make_model_card

_SIZE = (960, 600)
_LEFT, _TOP, _RIGHT, _BOTTOM = 110, 80, 920, 510  # the plot area
_INK, _GRID, _LINE = "#222222", "#dddddd", "#1f6fb4"


def draw_accuracy(evaluation: Evaluation, path: Path) -> None:
    """Write a PNG with one point per budget; the line joins them by number of locations."""
    points = sorted((result.looks, 100 * result.top1, result.budget) for result in evaluation.results)
    low, high, step = _choose_range([y for _, y, _ in points])
    most = max(points[-1][0], 1)

    def place(looks: float, accuracy: float) -> tuple[float, float]:
        x = _LEFT + (_RIGHT - _LEFT) * looks / most
        return x, _BOTTOM - (_BOTTOM - _TOP) * (accuracy - low) / (high - low)

    image = Image.new("RGB", _SIZE, "white")
    draw = ImageDraw.Draw(image)
    small, large = ImageFont.load_default(18), ImageFont.load_default(24)
    draw.text(((_LEFT + _RIGHT) / 2, 36), _shorten(evaluation.where), fill=_INK, font=large, anchor="mm")
    for index in range(round((high - low) / step) + 1):
        value = low + index * step
        y = place(0, value)[1]
        draw.line([(_LEFT, y), (_RIGHT, y)], fill=_GRID)
        draw.text((_LEFT - 12, y), f"{value:g} %", fill=_INK, font=small, anchor="rm")
    for looks in range(0, most + 1, max(1, math.ceil(most / 12))):
        x = place(looks, low)[0]
        draw.line([(x, _BOTTOM), (x, _BOTTOM + 6)], fill=_INK)
        draw.text((x, _BOTTOM + 22), str(looks), fill=_INK, font=small, anchor="mm")
    draw.line([(_LEFT, _TOP), (_LEFT, _BOTTOM), (_RIGHT, _BOTTOM)], fill=_INK, width=2)
    draw.text(((_LEFT + _RIGHT) / 2, _BOTTOM + 60), "attended locations per image", fill=_INK, font=small, anchor="mm")
    draw.text((_LEFT, _TOP - 18), "top-1 accuracy", fill=_INK, font=small, anchor="lm")
    line = [place(x, y) for x, y, _ in points]
    if len(line) > 1:
        draw.line(line, fill=_LINE, width=3)
    for (x, y), (_, _, budget) in zip(line, points, strict=True):
        draw.ellipse([(x - 6, y - 6), (x + 6, y + 6)], fill=_LINE)
        if len(budget) > 1:  # where the number of locations does not tell the budget
            draw.text((x, y - 18), " x ".join(map(str, budget)), fill=_INK, font=small, anchor="mm")
    image.save(path, format="PNG", optimize=True)


def _choose_range(values: list[float]) -> tuple[float, float, float]:
    """Round limits around the values with four to eight steps between them."""
    span = max(max(values) - min(values), 1.0)
    step = next(s for s in (0.25, 0.5, 1, 2, 5, 10, 20) if span / s <= 6)
    low = max(0.0, math.floor(min(values) / step - 0.5) * step)
    high = min(100.0, math.ceil(max(values) / step + 0.5) * step)
    return low, max(high, low + step), step


def _shorten(text: str, longest: int = 70) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def make_empty_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise TNetError(f"'{path}' is not empty; give a new folder, so that it holds only what would be uploaded.")
    except OSError as error:
        raise TNetError(f"Cannot use '{path}' for the dry run: {reason(error)}.") from None
    return path


def prepare_files(folder: Path, out: Path, card: CheckpointCard, details: Details, repo: str) -> None:
    """Write every file of the publication into `out`, an empty folder; where that fails, it stays empty."""
    try:
        for name in (CONFIG_FILE, TENSOR_FILE, EVALUATION_FILE):
            if (folder / name).exists():
                shutil.copyfile(folder / name, out / name)
        (out / README_FILE).write_text(make_model_card(card, details, repo), encoding="utf-8")
        if card.evaluation is not None:
            draw_accuracy(card.evaluation, out / PICTURE_FILE)
    except OSError as error:
        for path in out.iterdir():
            path.unlink()
        raise TNetError(f"Cannot write '{out}': {reason(error)}.") from None
