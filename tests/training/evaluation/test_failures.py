"""What went wrong, from a table of measurements."""

from __future__ import annotations

import numpy as np

from tests.support.models import TINY
from training.evaluation.failures import DOUBT, find_doubtful, find_failures
from training.evaluation.plan import Options, make_plan

PLAN = make_plan(TINY, Options(budget=2, policies=("learned", "oracle")))


def table(predicted: list[list[int]], surety: list[list[float]], label: list[int]) -> dict[str, np.ndarray]:
    count = len(label)
    return {
        "index": np.arange(count) + 10,
        "name": np.array([f"class/{n}" for n in range(count)]),
        "label": np.array(label),
        "prediction": np.array(predicted),
        "surety": np.array(surety),
        "cells": np.array([[0, 1, 2], [4, 0, 1], [8, 7, 6]])[:count],
        "top1/oracle": np.array([[0, 1, 1], [0, 1, 1], [0, 0, 0]])[:count],
    }


def test_failures_are_listed_surest_first_with_their_cause() -> None:
    at = PLAN.budgets.index(PLAN.trained)
    assert PLAN.trained == (2,) and at == 2
    found = find_failures(
        table([[0, 0, 0], [1, 1, 2], [2, 0, 0]], [[0.5, 0.6, 0.7], [0.9, 0.8, 0.4], [0.3, 0.3, 0.6]], [0, 1, 1]),
        PLAN,
        9,
    )
    assert [(f.index, f.label, f.prediction, f.cause) for f in found.listed] == [
        (12, 1, 0, "recognise"),
        (11, 1, 2, "look"),
    ]
    assert found.images == 3 and found.reference == "oracle"
    assert dict(found.confusions) == {(0, 0): 1, (1, 2): 1, (1, 0): 1}
    assert found.taken == (2, 1, 0, 0, 1, 0, 0, 1, 1) and sum(found.taken_failures) == 4


def test_without_hindsight_nothing_tells_the_cause() -> None:
    given = table([[0, 0, 1]], [[0.5, 0.6, 0.7]], [0])
    del given["top1/oracle"]
    found = find_failures(given, PLAN, 9)
    assert found.reference == "" and found.listed[0].cause is None


def test_a_label_is_doubtful_where_one_other_class_is_sure_at_every_look() -> None:
    sure, unsure = [0.1, DOUBT, DOUBT], [DOUBT, DOUBT - 0.01, 0.99]
    given = table([[0, 1, 1], [1, 1, 1], [1, 2, 1]], [sure, unsure, [0.99] * 3], [0, 0, 0])
    assert find_doubtful(given, PLAN).tolist() == [True, False, False]  # whatever the thumbnail says
    assert not find_doubtful(table([[1, 1, 1]], [sure], [1]), PLAN).any()
