"""Do first looks follow content that is moved? A causal test of centre bias over a data set.

Every image is shown again mirrored, shifted by one cell in four directions and enlarged, thumbnails only, and the
first grid is compared with that of the unchanged image (`tnet_core.counterfactual.follow` has the definitions). A
policy that has only learned where objects usually are stays where it was; one that sees them goes along.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tnet_core.counterfactual import CellCentres, Move, Placement, compare, compute_score, move_content, place
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import TNet
from training.evaluation.bootstrap import compute_interval, compute_share_interval, resample_means
from training.evaluation.features import look_at
from training.evaluation.plan import Options, Tree
from training.evaluation.stream import Batch

# Larger, not smaller: nothing has to be made up beyond the border, and every cell has content that had a cell before.
# 160 %, because with less the cells around the centre would still be nearest to their own content.
_ZOOM = 1.6
MOVES = {
    "flip": "mirrored left to right",
    "shift_left": "shifted by one cell to the left",
    "shift_right": "shifted by one cell to the right",
    "shift_up": "shifted up by one cell",
    "shift_down": "shifted down by one cell",
    "zoom_in": f"enlarged to {100 * _ZOOM:.0f} % about the centre",
}
_STEPS = {"shift_left": (-1, 0), "shift_right": (1, 0), "shift_up": (0, -1), "shift_down": (0, 1)}
ABOUT = (
    "The first grid of each image against that of the same image after a move (thumbnails only; what comes in from "
    "outside repeats the outermost pixels). content, position: mean rank correlation of the new grid with what the "
    "old one says about the same content and about the same position, over cells whose content had a cell before. "
    "score = (content - position) / (2 - content - position): 1 follows content, -1 stays in position. first_look: "
    "of the images whose first look's content is at another cell now, the share whose new first look is at the cell "
    "nearest to it (followed), at most one cell from it (near), at its old cell (stayed). top1_thumbnail: accuracy "
    "without looks on the moved images. The score above all moves is that of their mean correlations."
)
# Columns of the results per image and move.
_CONTENT, _POSITION, _CELLS, _MOVED, _FOLLOWED, _NEAR, _STAYED, _RIGHT = range(8)
_SHARES = {"followed": _FOLLOWED, "near": _NEAR, "stayed": _STAYED}


def plan_move(name: str, centres: CellCentres, width: int, height: int) -> Placement:
    """Return the placement of one of `MOVES` on an image of this size."""
    if name in _STEPS:
        (across, down), (x, y) = centres.step, _STEPS[name]
        return place(Move(dx=x * across, dy=y * down), width, height)
    return place(Move(flip=True) if name == "flip" else Move(scale=_ZOOM), width, height)


def measure_moves(model: TNet, batch: Batch, before: Tensor) -> dict[str, np.ndarray]:
    """Return (B, 8) float32 per move; `before` are the logits of the unchanged images' first grids (B, n * n)."""
    pixels = _get_pixels(batch)
    old = before.float().cpu().numpy()
    all_centres = [CellCentres.of(model.config, image.shape[1], image.shape[0]) for image in pixels]
    found = {}
    for name in MOVES:
        plans = [
            plan_move(name, centres, p.shape[1], p.shape[0]) for centres, p in zip(all_centres, pixels, strict=True)
        ]
        changed = [move_content(image, plan) for image, plan in zip(pixels, plans, strict=True)]
        looks = look_at(
            model, replace(batch, images=_restore_format(batch, changed)), _make_thumbnail_tree(model.config)
        )
        new = looks.logits[0][:, 0].float().cpu().numpy()
        right = (looks.projections[:, 0] + model.classifier.linear.bias).argmax(1).cpu() == batch.labels
        rows = np.empty((batch.size, 8), dtype=np.float32)
        for at, (centres, plan) in enumerate(zip(all_centres, plans, strict=True)):
            one = compare(old[at : at + 1], new[at : at + 1], centres, plan)
            values = (one.content, one.position, one.cells, one.moved, one.followed, one.near, one.stayed, right[at])
            rows[at] = [float(np.asarray(value).reshape(())) for value in values]
        found[f"follow/{name}"] = rows
    return found


def _make_thumbnail_tree(config: TNetConfig) -> Tree:
    return Tree((0,) * (config.levels - 1))


def _get_pixels(batch: Batch) -> list[np.ndarray]:
    """Return (H, W, 3) each; in official sampling the S x S input, where a cell's step is a whole number of pixels."""
    if isinstance(batch.images, Tensor):
        return list(batch.images.permute(0, 2, 3, 1).contiguous().numpy())
    return batch.images


def _restore_format(batch: Batch, images: list[np.ndarray]) -> Tensor | list[np.ndarray]:
    if isinstance(batch.images, Tensor):
        return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()
    return images


def report_equivariance(results: dict[str, np.ndarray], options: Options) -> dict[str, Any]:
    """Return the section of `evaluation.json`."""
    tables = [_Table(results[f"follow/{name}"]) for name in MOVES]
    columns = np.concatenate([table.columns for table in tables], axis=1)
    means = columns.mean(0, dtype=np.float64)[None]
    samples = resample_means(columns, options.resamples, options.seed)
    images, width = tables[0].columns.shape
    transforms: dict[str, Any] = {}
    for at, (name, table) in enumerate(zip(MOVES, tables, strict=True)):
        span = slice(at * width, (at + 1) * width)
        mean, sample = _Means(means[:, span]), _Means(samples[:, span])
        entry: dict[str, Any] = {"about": MOVES[name], "images": table.compared, "cells": table.cells}
        for key in ("score", "content", "position"):
            entry |= _report_value(key, getattr(mean, key), getattr(sample, key), options)
        first: dict[str, Any] = {"images": table.moved}
        for key in _SHARES:
            first |= _report_share(key, mean.compute_share(key), table.moved, options)
        transforms[name] = entry | {"first_look": first} | _report_share("top1_thumbnail", mean.right, images, options)
    parts = (len(tables), width)
    whole, resampled = (_Means(np.asarray(v).reshape(-1, *parts).sum(1)) for v in (means, samples))
    return {
        "about": ABOUT,
        **_report_value("score", whole.score, resampled.score, options),
        **_report_value("content", whole.content, resampled.content, options),
        **_report_value("position", whole.position, resampled.position, options),
        "transforms": transforms,
    }


class _Table:
    """One move's results as columns whose means make everything that is told: sums and what they are sums over."""

    def __init__(self, rows: np.ndarray) -> None:
        rows = rows.astype(np.float64)
        known = ~np.isnan(rows[:, [_CONTENT, _POSITION]]).any(1)
        gone = rows[:, _MOVED] > 0
        self.compared, self.moved, self.cells = int(known.sum()), int(gone.sum()), int(rows[:, _CELLS].min())
        sums = [np.where(known, rows[:, column], 0.0) for column in (_CONTENT, _POSITION)]
        shares = [np.where(gone, rows[:, column], 0.0) for column in _SHARES.values()]
        self.columns = np.stack([*sums, known, *shares, gone, rows[:, _RIGHT], np.ones(len(rows))], axis=1)


class _Means:
    """Means of those columns: of the images, or one row per resample."""

    def __init__(self, means: np.ndarray) -> None:
        self._means = means
        self.content, self.position = (self._divide(column, 2) for column in (0, 1))
        self.score = compute_score(self.content, self.position)
        self.right = self._divide(7, 8)

    def compute_share(self, name: str) -> np.ndarray:
        return self._divide(3 + list(_SHARES).index(name), 6)

    def _divide(self, column: int, images: int) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self._means[:, images] > 0, self._means[:, column] / self._means[:, images], np.nan)


def _report_share(key: str, share: np.ndarray, images: int, options: Options) -> dict[str, Any]:
    return _report_ends(key, share, compute_share_interval(share, images, options.confidence)[0])


def _report_value(key: str, value: np.ndarray, samples: np.ndarray, options: Options) -> dict[str, Any]:
    return _report_ends(key, value, compute_interval(samples[:, None], options.confidence)[0])


def _report_ends(key: str, value: np.ndarray, ends: np.ndarray) -> dict[str, Any]:
    return {key: _round_number(value[0]), f"{key}_interval": [_round_number(end) for end in ends]}


def _round_number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
