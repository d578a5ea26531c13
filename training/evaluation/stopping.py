"""Adaptive stopping: to look until the network is sure enough, image by image.

Two families of curves with raw probabilities, any number of looks and one threshold; and *rules* for two levels, which
have a least and a largest number of looks and a threshold for the calibrated highest probability
(`tnet_core.stopping`). A rule is recommended by what it changes: among rules with few looks on average, the one with
the fewest that keeps the answers of three fixed looks. Labels have a part in the temperature only. Accuracy would be
the plain choice, but a few hundred images cannot tell rules apart that differ in a handful of answers. In 40 random
splits of the birds' 597 validation images the most accurate rule of one half, of those with so few looks, lost 0.6
points to three looks on the other half, the rule recommended here 0.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnet_core.cost import compute_looks_cost
from tnet_core.modeling.config import TNetConfig
from tnet_core.stopping import StoppingRule
from training.evaluation.bootstrap import compute_interval, compute_share_interval, resample_means
from training.evaluation.calibration import compute_confidence, fit_temperature, split_halves
from training.evaluation.measure import Results
from training.evaluation.plan import Options

THRESHOLDS = (*(round(0.05 * i, 2) for i in range(20)), 0.97, 0.99, 1.0)
CURVES = {
    "probability": "Stop after the first looks whose highest probability exceeds the threshold.",
    "margin": "Stop after the first looks whose two best classes are further apart than the threshold.",
}
MEAN_LOOKS = 1.6  # a rule that takes more on average saves too little of three looks
MAX_CHANGED = 0.003  # share of answers that may differ from those of all looks; accuracy cannot differ by more
_FINE = tuple(round(0.01 * i, 2) for i in range(100))
RULE_ABOUT = (
    "Look at least 'least' times, then stop when the highest probability at this temperature exceeds the threshold, at "
    f"the latest after 'most' looks. Of the rules with at most {MEAN_LOOKS:g} looks on average it is the one with the "
    f"fewest that changes at most {100 * MAX_CHANGED:g} % of the answers of three fixed looks, or else the one that "
    "changes fewest; chosen on all images. 'cross_fitted': each half of the images with the rule and the temperature "
    "that were chosen on the other half."
)
FRONT_ABOUT = (
    "Rules with at least one look at several thresholds, on all images at the recommended temperature; 'efficient': no "
    "other rule here is as accurate with fewer looks."
)


def count_prefix_flops(config: TNetConfig, budget: tuple[int, ...], steps: int) -> np.ndarray:
    """Return multiplications after the first 0 … steps - 1 looks of a traversal, as `Trace.cost` counts them."""
    inner, width = 0, 1
    for k in budget[:-1]:  # looks that open a grid of their own
        width *= k
        inner += width
    return np.array([compute_looks_cost(config, k, 1 + min(k, inner))[0] for k in range(steps)], dtype=np.float64)


def find_stops(certainty: np.ndarray, threshold: float, least: int = 0) -> np.ndarray:
    """Return looks taken by each image: certainty (images, T) after 0 … T - 1 looks -> (images,)."""
    above = certainty > threshold
    above[:, :least] = False
    return np.where(above.any(1), above.argmax(1), certainty.shape[1] - 1)


def apply_rule(certainty: np.ndarray, rule: StoppingRule) -> np.ndarray:
    """Return looks taken by each image under a rule: certainty (images, T) with T > rule.most -> (images,)."""
    return find_stops(certainty[:, : rule.most + 1], rule.threshold, rule.least)


def compute_stopping_curves(results: Results, config: TNetConfig, budget: tuple[int, ...]) -> dict[str, Any]:
    """Return accuracy, mean looks and mean FLOPs at each threshold, with raw probabilities and margins."""
    right = results["stop/right"]
    flops = count_prefix_flops(config, budget, right.shape[1])
    curves: dict[str, Any] = {"budget": list(budget)}
    for name, about in CURVES.items():
        stops = [(threshold, find_stops(results[f"stop/{name}"], threshold)) for threshold in THRESHOLDS]
        points = [{"threshold": threshold} | _describe_stops(right, looks, flops) for threshold, looks in stops]
        curves[name] = {"about": about, "points": points}
    return curves


def _describe_stops(right: np.ndarray, looks: np.ndarray, flops: np.ndarray) -> dict[str, Any]:
    return {
        "top1": round(float(right[np.arange(len(right)), looks].mean()), 6),
        "looks": round(float(looks.mean()), 4),
        "flops": round(float(flops[looks].mean())),
    }


# Rules ------------------------------------------------------------------------------------------------


def list_rules(most: int, thresholds: tuple[float, ...]) -> list[StoppingRule]:
    """Return the rules that look at least once and at most `most` times; fixed numbers of looks are among them."""
    fixed = [StoppingRule(k, k, 1.0) for k in range(1, most + 1)]
    pairs = [(a, b) for b in range(2, most + 1) for a in range(1, b)]
    return fixed + [StoppingRule(least, largest, t) for least, largest in pairs for t in thresholds]


def choose_rule(certainty: np.ndarray, predictions: np.ndarray) -> StoppingRule:
    """Return the rule to recommend, as `RULE_ABOUT` says: both (images, T), after 0 … T - 1 looks."""
    rules = list_rules(certainty.shape[1] - 1, _FINE)
    rows, final = np.arange(len(predictions)), predictions[:, -1]
    scores = []
    for rule in rules:
        looks = apply_rule(certainty, rule)
        mean, changed = float(looks.mean()), float((predictions[rows, looks] != final).mean())
        if mean > MEAN_LOOKS:
            scores.append((2, mean, 0.0))
        elif changed <= MAX_CHANGED:
            scores.append((0, mean, changed))
        else:
            scores.append((1, changed, -mean))  # equally many changes: the more cautious one
    return rules[min(range(len(rules)), key=scores.__getitem__)]


def report_rule(results: Results, config: TNetConfig, options: Options) -> dict[str, Any]:
    """Return the fields 'rule', 'cross_fitted' and 'front' of the section 'stopping', for two levels."""
    logits, labels, predictions = results["stop/logits"], results["label"], results["stop/prediction"]
    right = predictions == labels[:, None]
    flops = count_prefix_flops(config, (right.shape[1] - 1,), right.shape[1])

    def choose(images: np.ndarray) -> tuple[float, StoppingRule]:
        temperature = fit_temperature(logits[images][:, 1:], labels[images])
        return temperature, choose_rule(compute_confidence(logits[images], temperature), predictions[images])

    half = split_halves(results["crc"])
    looks = np.empty(len(labels), dtype=np.int64)
    folds = []
    for own in (0, 1):
        temperature, rule = choose(half != own)
        looks[half == own] = apply_rule(compute_confidence(logits[half == own], temperature), rule)
        folds.append({"images": int((half == own).sum()), **vars(rule), "temperature": temperature})
    temperature, rule = choose(np.ones(len(labels), dtype=bool))
    crossed = _describe_stops(right, looks, flops) | _compare_with_fixed(right, looks, options) | {"folds": folds}
    return {
        "rule": {"about": RULE_ABOUT, **vars(rule), "temperature": temperature},
        "cross_fitted": crossed,
        "front": {
            "about": FRONT_ABOUT,
            "points": _measure_front(compute_confidence(logits, temperature), right, flops),
        },
    }


def _compare_with_fixed(right: np.ndarray, looks: np.ndarray, options: Options) -> dict[str, Any]:
    """Return intervals of the accuracy and of its difference to every fixed number of looks, paired."""
    stopped = right[np.arange(len(right)), looks].astype(np.float64)
    table = np.column_stack([stopped, looks, *(stopped - column for column in right.T)])
    means = table.mean(0)
    ends = compute_interval(resample_means(table, options.resamples, options.seed), options.confidence)
    return {
        "top1_interval": np.round(compute_share_interval(means[:1], len(right), options.confidence)[0], 6).tolist(),
        "looks_interval": np.round(ends[1], 4).tolist(),
        "against": [
            {
                "budget": [k],
                "top1": round(float(right[:, k].mean()), 6),
                "difference": round(float(means[2 + k]), 6),
                "interval": np.round(ends[2 + k], 6).tolist(),
            }
            for k in range(right.shape[1])
        ],
    }


def _measure_front(certainty: np.ndarray, right: np.ndarray, flops: np.ndarray) -> list[dict[str, Any]]:
    rules = list_rules(right.shape[1] - 1, THRESHOLDS)
    points = [vars(rule) | _describe_stops(right, apply_rule(certainty, rule), flops) for rule in rules]
    for point in points:
        point["efficient"] = not any(
            (other["looks"], -other["top1"]) != (point["looks"], -point["top1"])
            and other["looks"] <= point["looks"]
            and other["top1"] >= point["top1"]
            for other in points
        )
    return points


def read_rule(content: dict[str, Any]) -> StoppingRule:
    """Return the recommended rule of an evaluation's field 'stopping'."""
    rule = content["rule"]
    return StoppingRule(rule["least"], rule["most"], rule["threshold"])
