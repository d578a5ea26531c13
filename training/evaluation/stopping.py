"""Adaptive stopping: look until the network is sure enough, image by image."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnet_core.cost import looks_cost
from tnet_core.modeling.config import TNetConfig
from training.evaluation.measure import Results

THRESHOLDS = (*(round(0.05 * i, 2) for i in range(20)), 0.97, 0.99, 1.0)
RULES = {
    "probability": "Stop after the first looks whose highest probability exceeds the threshold.",
    "margin": "Stop after the first looks whose two best classes are further apart than the threshold.",
}


def prefix_flops(config: TNetConfig, budget: tuple[int, ...], steps: int) -> np.ndarray:
    """Multiplications after the first 0 … steps - 1 looks of a traversal, as `Trace.cost` counts them."""
    inner, width = 0, 1
    for k in budget[:-1]:  # looks that open a grid of their own
        width *= k
        inner += width
    return np.array([looks_cost(config, k, 1 + min(k, inner))[0] for k in range(steps)], dtype=np.float64)


def stopped_at(certainty: np.ndarray, threshold: float) -> np.ndarray:
    """Looks taken by each image: certainty (images, T) after 0 … T - 1 looks -> (images,)."""
    above = certainty > threshold
    return np.where(above.any(1), above.argmax(1), certainty.shape[1] - 1)


def stopping_curves(results: Results, config: TNetConfig, budget: tuple[int, ...]) -> dict[str, Any]:
    right = results["stop/right"]
    flops = prefix_flops(config, budget, right.shape[1])
    rows = np.arange(len(right))
    curves: dict[str, Any] = {"budget": list(budget)}
    for rule, about in RULES.items():
        points = []
        for threshold in THRESHOLDS:
            looks = stopped_at(results[f"stop/{rule}"], threshold)
            points.append(
                {
                    "threshold": threshold,
                    "top1": round(float(right[rows, looks].mean()), 6),
                    "looks": round(float(looks.mean()), 4),
                    "flops": round(float(flops[looks].mean())),
                }
            )
        curves[rule] = {"about": about, "points": points}
    return curves
