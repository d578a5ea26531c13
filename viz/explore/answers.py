"""Answers of the named endpoints about a traversal: plain values at full precision, ready for JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from tnet_core import Trace
from tnet_core.explain import leave_one_out
from viz.common.payload import list_distinct_budgets
from viz.common.text import find_class

TOP_CLASSES = 5  # classes whose probability is told


def build_summary(trace: Trace) -> dict[str, Any]:
    """Return the decision, what it rests on and what it cost, and the whole trace as `Trace.from_json` reads it.

    `weights` begins with the thumbnail; the looks themselves are `trace["locations"]`, in the same order.
    """
    probabilities = trace.probabilities()
    best, cost = np.argsort(-probabilities, kind="stable")[:TOP_CLASSES], trace.cost()
    return {
        "prediction": trace.class_name(trace.prediction),
        "probabilities": {trace.class_name(int(cls)): float(probabilities[cls]) for cls in best},
        "weights": [float(weight) for weight in trace.weights()],
        "sampling": trace.sampling,
        "cost": asdict(cost) | {"coverage": {str(level): share for level, share in cost.coverage.items()}},
        "trace": json.loads(trace.to_json()),
    }


def build_budget_curve(trace: Trace) -> list[dict[str, Any]]:
    """Return what every budget up to the trace's own would have said, smallest first.

    Traversals deeper than in training have very many budgets: only those that differ are answered.
    """
    rows = []
    for budget in trace.budgets() if trace.levels <= trace.config.levels else list_distinct_budgets(trace):
        probabilities = trace.probabilities(budget=budget)
        best = int(probabilities.argmax())
        rows.append(
            {
                "budget": list(budget),
                "looks": len(trace.select(budget=budget)),
                "prediction": trace.class_name(best),
                "probability": float(probabilities[best]),
                "flops": trace.cost(budget=budget).flops,
            }
        )
    return rows


def build_contributions(trace: Trace, cls: int, versus: int | None = None) -> dict[str, Any]:
    """Return exact signed shares of a logit, or of the lead of one class over another; with the bias they add up to it.

    `without` is the class's probability and its logit (or its leads) from the rest, without that look; None where
    nothing would remain. The rest is weighed anew, so a share is not what a look changed: signs may differ.
    """
    found, weights = trace.contributions(cls, versus), trace.weights()
    probabilities = leave_one_out(trace, cls, versus, measure="probability").without
    logits = leave_one_out(trace, cls, versus).without
    shares = [
        {"look": look, "box": None if look is None else list(trace.locations[look].box)}
        | {"weight": float(weight), "share": float(value)}
        | {"without": None if probability is None else {"probability": probability, "logit": logit}}
        for look, weight, value, probability, logit in zip(
            found.looks, weights, found.values, probabilities, logits, strict=True
        )
    ]
    return {
        "class": trace.class_name(cls),
        "versus": None if versus is None else trace.class_name(versus),
        "sampling": trace.sampling,
        "shares": shares,  # `look` is a place in the trace's locations, None the thumbnail
        "bias": found.bias,
        "total": found.total,
    }


def find_class_index(trace: Trace, cls: Any) -> int:
    """Find a class by its number, its name, or its readable name."""
    found = find_class(trace.class_names, cls) if isinstance(cls, str) and cls not in trace.class_names else None
    return trace.class_index(cls) if found is None else found
