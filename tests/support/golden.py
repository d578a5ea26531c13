"""What the browser's arithmetic must give: numbers and texts that the core and `viz` compute, as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

import tnet_core as tn
from tnet_core import explain
from viz.common.payload import PictureInfo
from viz.common.text import format_factor, format_fixed, format_flops, format_number, format_percent, format_signed
from viz.explore.payload import build_scene_payload, list_steps

NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 0.005, 0.015, 0.995, 9.95, 9.96, 9.994, 10.4, 62.5, 99.5, 99.96, 123.4, 1234.5, 0.00004,
    0.00005, -0.00005, 0.000049, 0.123456, -0.0999, -2.675, 1e-9, 1e15, -1e16, 3.2e21, float("inf"), float("nan"),
)  # fmt: skip
FLOPS = (0.0, 1.0, 999.0, 99_999_999.0, 1e8, 1.234e9, 7.9e12)


def build_golden_scene(trace: tn.Trace, image: Any, by_hand: Sequence[int]) -> dict[str, Any]:
    """A scene as the page is sent it, and all that the page derives from it, computed by the core."""
    source = tn.ImageSource.open(image)
    sent = json.loads(build_scene_payload(trace, source, PictureInfo("a"), trace.budget, plan=tuple(by_hand)))
    sets = [trace.select(budget=budget) for budget in trace.budgets()] + list_steps(by_hand)
    versus = [None, 1]
    return {
        "sent": sent,
        "budgets": [[list(budget), list(trace.select(budget=budget))] for budget in trace.budgets()],
        "cases": [build_golden_case(trace, looks, other) for looks in sets for other in versus],
    }


def build_golden_case(trace: tn.Trace, looks: Sequence[int], versus: int | None) -> dict[str, Any]:
    """Weights, logits, probabilities and ledger of one set of looks, for the class the network says."""
    logits, looks = trace.logits(subset=looks), trace.select(subset=looks)
    cls = int(np.argmax(logits)) if versus is None or int(np.argmax(logits)) != versus else 0
    shares = trace.contributions(cls, versus, subset=looks)
    return {
        "looks": list(looks), "cls": cls, "versus": versus,
        "weights": trace.weights(subset=looks).tolist(),
        "logits": logits.tolist(),
        "probabilities": trace.probabilities(subset=looks).tolist(),
        "top": np.argsort(-logits, kind="stable")[:5].tolist(),
        "shares": shares.values.tolist(), "bias": float(shares.bias), "total": float(shares.total),
        "without": {
            "probability": explain.leave_one_out(trace, cls, versus, subset=looks, measure="probability").without,
            "logit": explain.leave_one_out(trace, cls, versus, subset=looks).without,
        },
        "flops": trace.cost(subset=looks).flops,
    }  # fmt: skip


def build_golden_texts() -> dict[str, list[str]]:
    """Every kind of number as text, of `NUMBERS` and `FLOPS`."""
    return {
        "short": [format_number(value) for value in NUMBERS],
        "signed": [format_signed(value) for value in NUMBERS],
        "percent": [format_percent(value) for value in NUMBERS],
        "times": [format_factor(value) for value in NUMBERS],
        "fixed": [format_fixed(value) for value in NUMBERS if np.isfinite(value)],
        "gigaflops": [format_flops(value) for value in FLOPS],
    }
