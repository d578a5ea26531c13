"""Time per image of each budget."""

from __future__ import annotations

import pytest

import tnet_core as tn
from tests.support.evaluation import PLAIN, THREE, TWO, Canvases, varied
from tnet_core.cost import flops
from training.evaluation.plan import Options
from training.evaluation.run import evaluate
from training.evaluation.timing import select_affordable, time_budgets

pytestmark = pytest.mark.slow

BUDGETS = [(k,) for k in range(10)]


@pytest.mark.parametrize("config", [TWO, THREE, PLAIN])
def test_every_budget_has_its_time_and_the_cpu_has_no_memory(config: tn.TNetConfig) -> None:
    options = Options(budget=2, workers=0, resamples=10, policies=("learned",), equivariance=False, limit=5)
    content = evaluate(varied(config), Canvases(), options)
    assert all(entry["ms_per_image"] > 0 and "memory_gb" not in entry for entry in content["budgets"])
    told = content["timing"]
    assert told["images"] == 5 and told["batch_size"] == 1 and told["budgets"] == len(content["budgets"])
    assert "excludes decoding" in told["about"] and "Memory is left out" in told["about"]
    assert content["run"]["machine"]["threads"] >= 1 and content["run"]["machine"]["device"] == "cpu"


def test_more_looks_take_longer() -> None:
    told, _ = time_budgets(varied(TWO), [Canvases()[i].image for i in range(8)], BUDGETS)
    assert told[9,]["ms_per_image"] > told[0,]["ms_per_image"]


def test_it_is_left_out_if_not_wanted() -> None:
    options = Options(workers=0, draws=1, resamples=10, policies=("learned",), timing=False, limit=3)
    content = evaluate(varied(TWO), Canvases(), options)
    assert "timing" not in content and not any("ms_per_image" in entry for entry in content["budgets"])


def test_where_time_is_short_fewer_budgets_are_timed() -> None:
    one = 1.0 / flops(TWO, (9,))  # seconds per multiplication, if all looks take a second
    assert select_affordable(TWO, BUDGETS, one, 100) == BUDGETS
    some = select_affordable(TWO, BUDGETS, one, 3)
    assert some[0] == (0,) and 1 < len(some) < 10
    assert sum(flops(TWO, budget) * one for budget in some) <= 3
    assert select_affordable(TWO, BUDGETS, one, 0.0) == [(0,)]
    told, about = time_budgets(varied(TWO), [Canvases()[0].image], BUDGETS, limit=1e-6)
    assert list(told) == [(0,)] and about["budgets"] == 1
