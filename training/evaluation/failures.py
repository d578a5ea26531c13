"""Which images a model gets wrong, how, and where it looked: what `Your data` shows beside the accuracies.

Wrong means the learned policy with the budget of training. A wrong image *failed to look* if the same number of looks,
chosen with hindsight or by how sure they make the network, gets it right; otherwise it *failed to recognise*. Its label
is *doubtful* if the network names one other class with every measured number of looks and is sure of it each time. Of
383 pets' images, 19 of which were given another breed's label, `tnet-lite0-pets` doubts 14, 12 of these 19 among them;
were the thumbnail alone counted too, it would doubt 11, 9 of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from training.evaluation.measure import Results
from training.evaluation.plan import Plan

DOUBT = 0.9  # probability of one other class with every budget from which a label is doubtful
Cause = Literal["look", "recognise"]
REFERENCES = ("oracle", "surest")  # policies that can tell the causes apart, the better one first


@dataclass(frozen=True)
class Failure:
    """One image that is predicted as another class than its label."""

    index: int  # in the data set
    name: str
    label: int
    prediction: int
    surety: float  # calibrated probability of the prediction
    cause: Cause | None  # None: no policy was measured that could tell
    is_doubtful: bool  # whether the label looks wrong


@dataclass(frozen=True)
class Failures:
    """All failures of an evaluation, the surest first."""

    budget: tuple[int, ...]
    images: int
    listed: tuple[Failure, ...]
    confusions: Mapping[tuple[int, int], int]  # label, prediction -> images, right ones included
    taken: tuple[int, ...]  # images in which each cell of the first grid is among the looks of the budget
    taken_failures: tuple[int, ...]  # the same of the failures
    reference: str = ""  # policy that tells the causes apart; empty: none was measured


def find_failures(results: Results, plan: Plan, cells: int) -> Failures:
    """Return what went wrong in a table of measurements; `cells` are those of one grid, 0 for a baseline."""
    at = plan.budgets.index(plan.trained)
    labels, predicted = results["label"], results["prediction"][:, at]
    wrong = np.flatnonzero(predicted != labels)
    wrong = wrong[np.argsort(-results["surety"][wrong, at], kind="stable")]
    reference = next((name for name in REFERENCES if f"top1/{name}" in results), "")
    found = None if not reference else np.asarray(results[f"top1/{reference}"])[:, at] > 0
    doubtful = find_doubtful(results, plan)
    listed = tuple(
        Failure(
            index=int(results["index"][row]),
            name=str(results["name"][row]),
            label=int(labels[row]),
            prediction=int(predicted[row]),
            surety=float(results["surety"][row, at]),
            cause=None if found is None else "look" if found[row] else "recognise",
            is_doubtful=bool(doubtful[row]),
        )
        for row in wrong
    )
    looks = plan.trained[0] if plan.trained else 0
    return Failures(
        budget=plan.trained,
        images=len(labels),
        listed=listed,
        confusions=Counter(zip(labels.tolist(), predicted.tolist(), strict=True)),
        taken=_count_cells(results, slice(None), looks, cells),
        taken_failures=_count_cells(results, wrong, looks, cells),
        reference=reference,
    )


def find_doubtful(results: Results, plan: Plan) -> np.ndarray:
    """Return which labels look wrong: (images,) bool. The thumbnail alone does not count where there are looks."""
    with_looks = [at for at, budget in enumerate(plan.budgets) if any(budget)] or [0]
    predicted, surety = results["prediction"][:, with_looks], results["surety"][:, with_looks]
    is_one = (predicted == predicted[:, :1]).all(1)
    return is_one & (predicted[:, 0] != results["label"]) & (surety.min(1) >= DOUBT)


def _count_cells(results: Results, rows: slice | np.ndarray, looks: int, cells: int) -> tuple[int, ...]:
    if not looks or "cells" not in results:
        return ()
    taken = results["cells"][rows, :looks].astype(np.int64).ravel()
    return tuple(np.bincount(taken, minlength=cells).tolist())
