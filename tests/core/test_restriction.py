"""A trace of fewer looks is the trace that a smaller run would have made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny

CONFIGS = [TINY, replace(TINY, weighting=False), TINY_3L]


def full(config: tn.TNetConfig, budget: tuple[int, ...] | None = None) -> tn.Trace:
    return tn.traverse(tiny(config), picture(seed=3), budget=budget or ((3, 2) if config.levels == 3 else (6,)))


@pytest.mark.parametrize("config", CONFIGS)
def test_the_looks_of_a_smaller_budget_are_the_smaller_run(config: tn.TNetConfig) -> None:
    trace = full(config)
    for budget in ((0, 0), (1, 0), (1, 1), (2, 1), (3, 2)) if config.levels == 3 else ((0,), (1,), (4,), (6,)):
        with BackboneCalls(tiny(config)) as calls:
            kept = trace.only(trace.select(budget=budget))
            said = kept.logits()
        assert calls.batches == []
        smaller = full(config, budget)
        assert kept.budget == smaller.budget == budget
        assert [(a.path, a.parent, a.box) for a in kept.locations] == [
            (b.path, b.parent, b.box) for b in smaller.locations
        ]
        np.testing.assert_allclose(said, smaller.logits(), atol=1e-4)
        np.testing.assert_allclose(kept.weights(), smaller.weights(), atol=1e-5)
        assert {(d.path, d.parent) for d in smaller.distributions} <= {(d.path, d.parent) for d in kept.distributions}
        assert kept.cost().flops == trace.cost(budget=budget).flops
        assert kept.cost().pixels_read == trace.cost(budget=budget).pixels_read
        assert [crop.tobytes() for crop in kept.crops] == [crop.tobytes() for crop in smaller.crops]


@pytest.mark.parametrize("config", CONFIGS)
def test_any_set_of_looks_says_what_the_subset_said(config: tn.TNetConfig) -> None:
    trace = full(config)
    chosen = [3, 0, 5] if config.levels == 2 else [1, 0, 5]  # looks 0, 1 and one inside look 1
    assert config.levels == 2 or trace.locations[5].parent == 1
    kept, inside = trace.only(chosen), sorted(chosen)
    assert [look.path for look in kept.locations] == [trace.locations[p].path for p in inside]
    np.testing.assert_allclose(kept.logits(), trace.logits(subset=inside), atol=1e-6)
    np.testing.assert_allclose(kept.logits(1, context=False), trace.logits(subset=inside[:1], context=False), atol=1e-6)
    np.testing.assert_allclose(kept.contributions(2).values, trace.contributions(2, subset=inside).values, atol=1e-6)
    assert len(trace.locations) == (9 if config.levels == 3 else 6)  # the whole one is as it was
    again = tn.Trace.from_json(kept.to_json())
    np.testing.assert_allclose(again.logits(), kept.logits(), atol=1e-6)


def test_a_trace_read_from_a_file_knows_the_prefixes_of_its_prefixes() -> None:
    trace = tn.Trace.from_json(full(TINY).to_json())
    kept = trace.only(range(3))
    for k in range(4):
        np.testing.assert_array_equal(kept.logits(k), trace.logits(k))
    with pytest.raises(tn.TNetError, match="attach"):
        trace.only([0, 2]).logits()
    with pytest.raises(tn.TNetError, match="no pixels"):
        _ = kept.crops


def test_a_look_inside_another_is_not_kept_without_it_and_nonsense_is_refused() -> None:
    trace = full(TINY_3L)
    with pytest.raises(tn.TNetError, match="cannot be kept without it"):
        trace.only([0, 5])
    for wrong in ([99], [-1], [0, 0], "all", 7, [1.5]):
        with pytest.raises(tn.TNetError):
            trace.only(wrong)  # type: ignore[arg-type]
