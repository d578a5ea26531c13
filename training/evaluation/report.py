"""The content of `evaluation.json`, made of numbers per image.

Schema 1 of `tnet_core.schemas.evaluation` (`dataset`, `budgets`) and, beside it:

| field | content |
|---|---|
| `policies` | per policy: top-1, top-5 and mean log-likelihood at each budget, with intervals |
| `comparisons` | differences of top-1 between policies at each budget, with paired intervals |
| `gap_to_surest` | share of the way from the centre to the surest looks that the learned policy goes |
| `gap_closed` | the same to the oracle, which knows the label |
| `calibration` | the temperature, and the calibration error before and after, cross-fitted |
| `stopping` | adaptive stopping: threshold, accuracy, mean looks, mean FLOPs; the recommended rule, cross-fitted |
| `attention` | precision, recall and coverage at the second level, per policy |
| `heat_map`, `typical` | where the learned policy looks, overall and per class |
| `equivariance` | whether first looks follow content that is mirrored, shifted or enlarged |
| `timing` | how `ms_per_image` and `memory_gb` of the budgets were measured |
| `per_image` | right or wrong of each image, for paired comparisons with other files |
| `paper` | the rows of the paper that belong beside it |
| `paper_same_model` | whether they are the same model's, or those of the nearest one |
| `run` | machine, versions, command, date, seed, the precision read back from the engine |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnet_core.cost import flops
from tnet_core.modeling.config import TNetConfig
from training.evaluation.bootstrap import compute_gap_share, compute_interval, compute_share_interval, resample_means
from training.evaluation.calibration import compute_calibration_error
from training.evaluation.measure import LOOKS_ONLY, Results
from training.evaluation.plan import Options, Plan
from training.evaluation.policies import MEAN_ABOUT, ORACLE_ABOUT, SUREST_ABOUT

ABOUT = {
    "learned": "The network's own ranking of the cells of each grid.",
    LOOKS_ONLY: "The learned policy with the thumbnail left out of the average.",
    "random": "A seeded shuffle of each grid of each image; the mean of several draws.",
    "centre": "From the middle of the grid outwards.",
    "mean": MEAN_ABOUT,
    "surest": SUREST_ABOUT,
    "oracle": ORACLE_ABOUT,
}
COMPARED = (
    ("learned", "random"), ("learned", "centre"), ("learned", "mean"), ("learned", "surest"), ("oracle", "learned"),
)  # fmt: skip
GAPS = {"gap_to_surest": "surest", "gap_closed": "oracle"}  # field -> at the other end of the gap from the centre


class Accuracies:
    """Top-1 and top-5 of every policy at every budget, and their resampled twins."""

    def __init__(self, results: Results, options: Options) -> None:
        self.names = [key.partition("/")[2] for key in results if key.startswith("top1/")]
        self.confidence = options.confidence
        columns = [results[f"{kind}/{name}"] for kind in ("top1", "top5") for name in self.names]
        self._images, self._budgets = columns[0].shape
        table = np.concatenate(columns, axis=1)
        self._means = table.mean(0, dtype=np.float64)
        self._resampled = resample_means(table, options.resamples, options.seed)

    def _find_columns(self, kind: str, name: str) -> slice:
        place = self.names.index(name) + (len(self.names) if kind == "top5" else 0)
        return slice(place * self._budgets, (place + 1) * self._budgets)

    def value(self, kind: str, name: str) -> np.ndarray:
        """Return the mean at each budget: (S,)."""
        return self._means[self._find_columns(kind, name)]

    def samples(self, kind: str, name: str) -> np.ndarray:
        """Return the resampled means at each budget: (resamples, S)."""
        return self._resampled[:, self._find_columns(kind, name)]

    def interval(self, kind: str, name: str) -> np.ndarray:
        """Return the interval at each budget: (S, 2). For the mean of several random draws it is a little too wide."""
        return compute_share_interval(self.value(kind, name), self._images, self.confidence)


def report_accuracies(results: Results, config: TNetConfig, plan: Plan, options: Options) -> dict[str, Any]:
    """Return all fields about accuracies; those of `learned_policy` and others are added by the caller."""
    found = Accuracies(results, options)
    content: dict[str, Any] = {"budgets": _report_budgets(found, results, config, plan), "policies": {}}
    valid = np.array([not budget or budget[0] > 0 for budget in plan.budgets])
    for name in found.names:
        likelihood = results[f"likelihood/{name}"].mean(0, dtype=np.float64)
        visible = valid if name == LOOKS_ONLY else np.ones(len(valid), dtype=bool)
        content["policies"][name] = {
            "about": ABOUT[name],
            "top1": round_values(found.value("top1", name), visible),
            "top1_interval": round_values(found.interval("top1", name), visible),
            "top5": round_values(found.value("top5", name), visible),
            "top5_interval": round_values(found.interval("top5", name), visible),
            "log_likelihood": round_values(likelihood, visible),
        }
    for name, reason in plan.left_out.items():
        content["policies"][name] = {"about": ABOUT[name], "left_out": reason}
    content["comparisons"] = {
        f"{first}-{second}": compare_policies(found, first, second)
        for first, second in COMPARED
        if first in found.names and second in found.names
    }
    for field, reference in GAPS.items():
        if {"centre", reference} <= set(found.names):
            content[field] = _report_gap(found, reference)
    if not config.is_baseline:
        content["attention"] = _report_attention(results, found.names)
    content["intervals"] = {
        "about": "Of shares of images: Wilson's. Of differences and all else: percentile intervals of a bootstrap over "
        "images, the same resamples for everything (paired).",
        "confidence": options.confidence,
        "resamples": options.resamples,
    }
    return content


def _report_budgets(found: Accuracies, results: Results, config: TNetConfig, plan: Plan) -> list[dict[str, Any]]:
    top1, top5 = found.value("top1", "learned"), found.value("top5", "learned")
    ends = found.interval("top1", "learned")
    rows = []
    for at, budget in enumerate(plan.budgets):
        rows.append(
            {
                "budget": list(budget),
                "top1": round(float(top1[at]), 6),
                "top5": round(float(top5[at]), 6),
                "flops": flops(config, budget),
                "top1_interval": round_values(ends[at]),
                "calibration_error": round(
                    compute_calibration_error(results["confidence"][:, at], results["top1/learned"][:, at]), 6
                ),
            }
        )
    return rows


def compare_policies(found: Accuracies, first: str, second: str) -> dict[str, Any]:
    """Return the difference of top-1 at each budget, in fractions, with its paired interval."""
    difference = found.value("top1", first) - found.value("top1", second)
    samples = found.samples("top1", first) - found.samples("top1", second)
    return {
        "difference": round_values(difference),
        "interval": round_values(compute_interval(samples, found.confidence)),
    }


def _report_gap(found: Accuracies, reference: str) -> dict[str, Any]:
    names = ("learned", "centre", reference)
    share = compute_gap_share(*(found.value("top1", name) for name in names))
    samples = compute_gap_share(*(found.samples("top1", name) for name in names))
    return {
        "about": f"(learned - centre) / ({reference} - centre) in top-1 at each budget; null where '{reference}' gains "
        "nothing.",
        "share": round_values(share),
        "interval": round_values(compute_interval(samples, found.confidence)),
    }


def _report_attention(results: Results, names: list[str]) -> dict[str, Any]:
    areas = {name: results[f"area/{name}"].astype(np.float64) for name in names if f"area/{name}" in results}
    boxed = ~np.isnan(areas["learned"][:, :, 1]).any(1)
    content: dict[str, Any] = {
        "about": "Means over images after 1, 2, … looks at the second level; precision and recall over those with a "
        "box (several boxes count as their union), coverage over all.",
        "images_with_boxes": int(boxed.sum()) if areas["learned"].shape[1] else 0,
    }
    for name, values in areas.items():
        content[name] = {"coverage": round_values(values[:, :, 2].mean(0))}
        if boxed.any():
            content[name] |= {
                "precision": round_values(np.nanmean(values[boxed][:, :, 0], axis=0)),
                "recall": round_values(values[boxed][:, :, 1].mean(0)),
            }
    return content


def round_values(values: np.ndarray, visible: np.ndarray | None = None) -> list[Any]:
    """Return JSON numbers, null for NaN and where `visible` is false."""
    hidden = np.isnan(values) if visible is None else np.isnan(values) | ~visible.reshape(-1, *[1] * (values.ndim - 1))
    as_objects = np.round(np.asarray(values, dtype=np.float64), 6).astype(object)
    as_objects[hidden] = None
    return list(as_objects.tolist())
