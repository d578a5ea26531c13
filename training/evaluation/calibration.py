"""One temperature per checkpoint, so that its probabilities are right as often as they say.

The temperature divides all logits; the one with the highest mean log-likelihood of the labels is chosen. Errors are
cross-fitted: the images are split into two halves, and each half is measured with the temperature of the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tnet_core.stopping import HIGHEST_TEMPERATURE, LOWEST_TEMPERATURE, Calibration, compute_probabilities
from training.evaluation.measure import Results

ABOUT = (
    "Logits are divided by the temperature before the softmax. It has the highest mean log-likelihood of the labels at "
    "the 'budgets'. 'error': expected calibration error of the highest probability, 15 bins of equal width, before "
    "(temperature 1) and after, each half of the images with the temperature chosen on the other half; 'error_before' "
    "and 'error_after' are the means over 'budgets'."
)
_BINS = 15
_GOLDEN = (math.sqrt(5) - 1) / 2
_MAX_AT_ONCE = 1 << 22  # logits in double precision


def compute_calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error with 15 bins of equal width."""
    bins = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, weights=confidence.astype(np.float64) - right, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def split_halves(crc: np.ndarray) -> np.ndarray:
    """Return which of two halves each image belongs to (0 or 1): every other one in the order of its name's crc32."""
    half = np.empty(len(crc), dtype=np.int64)
    half[np.argsort(crc, kind="stable")] = np.arange(len(crc)) % 2
    return half


def compute_confidence(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Return the highest probability: logits (images, S, classes) -> (images, S)."""
    step = max(1, _MAX_AT_ONCE // max(1, logits[0].size))
    parts = [
        compute_probabilities(logits[start : start + step], temperature).max(2) for start in range(0, len(logits), step)
    ]
    return np.concatenate(parts)


def compute_likelihood(logits: np.ndarray, labels: np.ndarray, temperature: float) -> float:
    """Return the mean log-likelihood of the labels: logits (images, S, classes), labels (images,)."""
    step, total = max(1, _MAX_AT_ONCE // max(1, logits[0].size)), 0.0
    for start in range(0, len(logits), step):
        scaled = logits[start : start + step].astype(np.float64) / temperature
        scaled -= scaled.max(2, keepdims=True)
        own = scaled[np.arange(len(scaled)), :, labels[start : start + step]]
        total += float((own - np.log(np.exp(scaled).sum(2))).sum())
    return total / (logits.shape[0] * logits.shape[1])


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """Return the temperature with the highest mean log-likelihood, rounded to three digits.

    The likelihood is concave in 1 / T, so it has one highest point and a golden-section search over log T finds it.
    """
    low, high = math.log(LOWEST_TEMPERATURE), math.log(HIGHEST_TEMPERATURE)

    def measure(place: float) -> float:
        return compute_likelihood(logits, labels, math.exp(place))

    first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_first, at_second = measure(first), measure(second)
    while high - low > 1e-4:
        if at_first >= at_second:
            high, second, at_second = second, first, at_first
            first = high - _GOLDEN * (high - low)
            at_first = measure(first)
        else:
            low, first, at_first = first, second, at_second
            second = low + _GOLDEN * (high - low)
            at_second = measure(second)
    return min(max(float(f"{math.exp((low + high) / 2):.3g}"), LOWEST_TEMPERATURE), HIGHEST_TEMPERATURE)


def report_calibration(results: Results, budgets: list[tuple[int, ...]]) -> dict[str, Any]:
    """Return the temperature and its cross-fitted errors; `budgets` are those of the columns of `stop/logits`.

    The thumbnail alone is measured, but not fitted where there are looks: no rule stops there.
    """
    logits, labels = results["stop/logits"], results["label"]
    right = results["stop/prediction"] == labels[:, None]
    fitted = [at for at, budget in enumerate(budgets) if any(budget)] or list(range(len(budgets)))
    half = split_halves(results["crc"])
    after = np.empty(right.shape)
    folds = []
    for own in (0, 1):
        temperature = fit_temperature(logits[half != own][:, fitted], labels[half != own])
        after[half == own] = compute_confidence(logits[half == own], temperature)
        folds.append({"images": int((half == own).sum()), "temperature": temperature})
    before = compute_confidence(logits, 1.0)
    errors = [
        {
            "budget": list(budget),
            "before": round(compute_calibration_error(before[:, at], right[:, at]), 6),
            "after": round(compute_calibration_error(after[:, at], right[:, at]), 6),
        }
        for at, budget in enumerate(budgets)
    ]
    return {
        "about": ABOUT,
        "temperature": fit_temperature(logits[:, fitted], labels),
        "budgets": [list(budgets[at]) for at in fitted],
        "error_before": round(float(np.mean([errors[at]["before"] for at in fitted])), 6),
        "error_after": round(float(np.mean([errors[at]["after"] for at in fitted])), 6),
        "error": errors,
        "folds": folds,
    }


def read_calibration(content: dict[str, Any]) -> Calibration:
    """Return what an evaluation's field 'calibration' recommends."""
    return Calibration(content["temperature"], content["error_before"], content["error_after"])
