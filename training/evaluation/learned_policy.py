"""What the learned policy does: where it looks, overall and per class, and how much of that is the centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from training.evaluation.measure import Results
from training.evaluation.plan import Plan
from training.evaluation.policies import compute_centre_scores

_MAX_TYPICAL = 12  # names listed at each end


def count_taken(cells: np.ndarray, count: int) -> np.ndarray:
    """Return how often each cell is among the first 1 … K looks: rankings (images, K) -> (K, cells)."""
    by_rank = [np.bincount(column, minlength=count) for column in cells.T]
    return np.cumsum(by_rank, axis=0) if by_rank else np.zeros((0, count), dtype=np.int64)


def compute_centre_bias(taken: np.ndarray, n: int) -> float:
    """Return 1 for always the middle of the grid, 0 for as far from it as uniform looks, less towards the border.

    One minus the mean distance of the taken cells from the centre over that of all cells.
    """
    distance = np.sqrt(-compute_centre_scores(n))
    return float(1 - (taken * distance).sum() / taken.sum() / distance.mean())


def compute_spread(taken: np.ndarray) -> float:
    """Return the entropy of where looks fall, as a share of the largest possible: 0 one cell, 1 all alike."""
    share = taken[taken > 0] / taken.sum()
    return float(-(share * np.log(share)).sum() / np.log(len(taken)))


def report_heat_map(results: Results, plan: Plan, n: int, class_names: tuple[str, ...]) -> dict[str, Any]:
    cells, probability, labels = results["cells"].astype(np.int64), results["probability"], results["label"]
    taken = count_taken(cells, n * n)
    trained = plan.trained[0]
    per_class = []
    at = plan.budgets.index(plan.trained)
    thumbnail = plan.budgets.index((0,) * len(plan.trained))
    for label in np.unique(labels):
        own = labels == label
        counts = count_taken(cells[own], n * n)
        entry: dict[str, Any] = {
            "class": int(label),
            "name": class_names[label] if class_names else "",
            "images": int(own.sum()),
            "top1": _round(results["top1/learned"][own, at].mean()),
            "top1_thumbnail": _round(results["top1/learned"][own, thumbnail].mean()),
            "probability": _round(probability[own].mean(0), 4),
        }
        if len(counts):
            entry |= {"taken_1": counts[0].tolist(), "centre_bias": _round(compute_centre_bias(counts[0], n), 4)}
        if trained:
            entry["taken_trained"] = counts[trained - 1].tolist()
        per_class.append(entry)
    found: dict[str, Any] = {
        "grid": n,
        "about": "Cells in raster order; taken[k - 1]: in how many images each cell is among the first k looks at the "
        "second level; taken_1 and taken_trained: with one look and with as many as in training.",
        "images": len(cells),
        "taken": taken.tolist(),
        "probability": _round(probability.mean(0), 6),
        "per_class": per_class,
    }
    if len(taken):
        found["centre_bias"] = {
            "about": "1: always the middle cell; 0: as far from it as uniform looks; negative: towards the border.",
            "after_looks": [_round(compute_centre_bias(row, n), 4) for row in taken],
            "first_look_at_centre": _round(taken[0][np.argmax(compute_centre_scores(n))] / len(cells), 4),
            "first_look_at_mean_favourite": _round(taken[0][probability.mean(0).argmax()] / len(cells), 4),
            "entropy_of_first_look": _round(compute_spread(taken[0]), 4),
        }
    if results["inner"].shape[1]:
        found["below"] = [row.tolist() for row in results["inner"].sum(0)]
    return found


def find_typical_images(results: Results) -> dict[str, Any]:
    """Return the images whose location probabilities are nearest to and farthest from the mean of all."""
    probability = results["probability"].astype(np.float64)
    centred = probability - probability.mean(1, keepdims=True)
    mean = centred.mean(0)
    length = np.linalg.norm(centred, axis=1) * np.linalg.norm(mean)
    scores = (centred @ mean) / np.where(length > 0, length, 1.0)
    order = np.argsort(-scores, kind="stable")

    def describe_images(chosen: np.ndarray) -> list[dict[str, Any]]:
        return [{"name": str(results["name"][i]), "score": _round(scores[i], 4)} for i in chosen]

    return {
        "about": "Correlation of an image's location probabilities with the mean of all images.",
        "most": describe_images(order[:_MAX_TYPICAL]),
        "least": describe_images(order[::-1][:_MAX_TYPICAL]),
    }


def _round(value: Any, digits: int = 6) -> Any:
    return np.round(np.asarray(value, dtype=np.float64), digits).tolist()
