"""Policies and sets of looks: each agrees with traversals of `tnet_core`, or with trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.evaluation import NATIVE, THREE, THREE_NATIVE, TWO, Canvases, batch_of, varied
from tests.support.models import BackboneCalls
from tnet_core.numbers import softmax
from training.evaluation import plan as options_module
from training.evaluation.features import compute_grid_boxes, look_at, rank_as_learned
from training.evaluation.measure import LOOKS_ONLY
from training.evaluation.plan import Options, Tree, make_plan
from training.evaluation.policies import Oracle, Surest, make_random_ranker
from training.evaluation.run import Collected, collect

pytestmark = pytest.mark.slow


def images_of(config: tn.TNetConfig) -> Canvases:
    return Canvases(8 if config is THREE else 28)  # 91 looks each


def measured(config: tn.TNetConfig, **changes: object) -> tuple[Collected, list[tuple[int, ...]]]:
    chosen = Options(**({"workers": 0, "draws": 2, "seed": 5, "budget": (3, 2) if config is THREE else 4} | changes))
    planned = make_plan(config, chosen)
    return collect(varied(config), images_of(config), planned, chosen), planned.budgets


def right(logits: np.ndarray, index: int) -> bool:
    return int(logits.argmax()) == Canvases().labels[index]


@pytest.mark.parametrize("config", [TWO, THREE, NATIVE])
def test_the_learned_policy_agrees_with_traversals_with_and_without_context(config: tn.TNetConfig) -> None:
    found, budgets = measured(config, policies=("learned",))
    for index in range(0, len(images_of(config)), 3):
        trace = tn.traverse(varied(config), Canvases()[index].image, budgets[-1])
        for at, budget in enumerate(budgets):
            logits = trace.logits(budget=budget)
            assert found.results["top1/learned"][index, at] == right(logits, index)
            chance = np.log(softmax(logits.astype(np.float64))[Canvases().labels[index]])
            assert found.results["likelihood/learned"][index, at] == pytest.approx(chance, abs=2e-4)
            if budget[0]:
                alone = trace.logits(budget=budget, context=False)
                assert found.results[f"top1/{LOOKS_ONLY}"][index, at] == right(alone, index)


@pytest.mark.parametrize("config", [TWO, THREE, NATIVE])
def test_the_centre_policy_agrees_with_traversals(config: tn.TNetConfig) -> None:
    found, budgets = measured(config, policies=("learned", "centre"))
    for index in range(0, len(images_of(config)), 4):
        trace = tn.traverse(varied(config), Canvases()[index].image, budgets[-1], "centre")
        for at, budget in enumerate(budgets):
            assert found.results["top1/centre"][index, at] == right(trace.logits(budget=budget), index)


def test_the_mean_policy_looks_at_the_cells_with_the_highest_mean_probability() -> None:
    found, budgets = measured(TWO)
    model, data = varied(TWO), Canvases()
    grids = [tn.traverse(model, data[i].image, (0,)).distributions[0].probabilities.ravel() for i in range(28)]
    mean = np.mean(grids, axis=0)
    assert found.means[0] == pytest.approx(mean, abs=1e-6)
    cells = np.argsort(-mean, kind="stable")[:4].tolist()
    for index in range(0, 28, 4):
        trace = tn.traverse(model, data[index].image, budgets[-1], cells)
        for at, budget in enumerate(budgets):
            assert found.results["top1/mean"][index, at] == right(trace.logits(budget=budget), index)


def test_random_looks_are_seeded_per_image_and_averaged() -> None:
    found, budgets = measured(TWO)
    model, data = varied(TWO), Canvases()
    for index in (0, 9, 27):
        hits = np.zeros(len(budgets))
        for draw in range(2):
            scores = np.random.default_rng([5, draw, index, 0]).random((1, 9))[0]
            trace = tn.traverse(model, data[index].image, budgets[-1], np.argsort(-scores).tolist())
            hits += [right(trace.logits(budget=budget), index) for budget in budgets]
        assert found.results["top1/random"][index] == pytest.approx(hits / 2)
    again, _ = measured(TWO, batch_size=3)
    assert np.array_equal(again.results["top1/random"], found.results["top1/random"])
    other, _ = measured(TWO, seed=6)
    assert not np.array_equal(other.results["likelihood/random"], found.results["likelihood/random"])


def test_one_look_of_the_oracle_is_the_best_of_all_cells() -> None:
    found, _ = measured(TWO)
    model, data = varied(TWO), Canvases()
    for index in range(28):
        trace = tn.traverse(model, data[index].image, (9,))
        logits = np.stack([trace.logits(subset=(cell,)) for cell in range(9)]).astype(np.float64)
        chances = np.log(softmax(logits))[:, data.labels[index]]
        hit = logits.argmax(1) == data.labels[index]
        best = max(range(9), key=lambda cell: (hit[cell], chances[cell]))
        assert found.results["top1/oracle"][index, 1] == hit.any()
        assert found.results["likelihood/oracle"][index, 1] == pytest.approx(chances[best], abs=2e-4)
    for policy in ("learned", "centre", "mean"):
        assert (found.results["top1/oracle"][:, 1] >= found.results[f"top1/{policy}"][:, 1]).all()


def test_the_surest_policy_keeps_the_looks_that_leave_the_least_doubt_and_knows_no_label() -> None:
    model, data, batch = varied(TWO), Canvases(), batch_of(Canvases(), TWO)
    with torch.inference_mode():
        looks = look_at(model, batch, Tree((9,)))
        masks = Surest(model, looks).make_masks([(0,), (1,), (2,)]).numpy()
    found, _ = measured(TWO)
    for index in range(28):
        trace = tn.traverse(model, data[index].image, (9,))
        at = {look.index: position for position, look in enumerate(trace.locations)}
        first = {(cell,): trace.probabilities(subset=(at[cell],)).max() for cell in range(9)}
        (one,) = max(first, key=first.__getitem__)
        pairs = {c: trace.probabilities(subset=(at[one], at[c])).max() for c in range(9) if c != one}
        for chosen, best in ((masks[index, 1], first[(one,)]), (masks[index, 2], max(pairs.values()))):
            kept = tuple(at[cell] for cell in np.flatnonzero(chosen[1:]))
            assert trace.probabilities(subset=kept).max() == pytest.approx(best, abs=1e-4)
        assert masks[index, 0].sum() == 1 and (masks[index, 1] <= masks[index, 2]).all()
        kept = tuple(at[cell] for cell in np.flatnonzero(masks[index, 1][1:]))
        assert found.results["top1/surest"][index, 1] == right(trace.logits(subset=kept), index)


@pytest.mark.parametrize("name", ["surest", "oracle"])
def test_looks_chosen_afterwards_are_added_one_cell_at_a_time(name: str) -> None:
    model, batch = varied(TWO), batch_of(Canvases(6), TWO)
    with torch.inference_mode():
        looks = look_at(model, batch, Tree((9,)))
        chooser = Surest(model, looks) if name == "surest" else Oracle(model, looks, batch.labels)
        masks = chooser.make_masks([(k,) for k in range(10)])
    assert masks.sum(2).tolist() == [[1 + k for k in range(10)]] * 6
    assert all(bool((masks[:, k] <= masks[:, k + 1]).all()) for k in range(9))


def test_with_one_look_per_level_the_oracle_is_the_best_of_all_pairs() -> None:
    model, data = varied(THREE), Canvases(4)
    with torch.inference_mode():
        batch = batch_of(data, THREE)
        looks = look_at(model, batch, Tree((9, 9)))
        budgets = [(1, 1), (2, 0), (2, 2)]
        masks = Oracle(model, looks, batch.labels).make_masks(budgets).numpy()
    for index in range(4):
        trace = tn.traverse(model, data[index].image, (9, 9))
        values = {}
        for first, second in itertools.product(range(9), range(9)):
            at = [p for p, look in enumerate(trace.locations) if look.path in ((first,), (first, second))]
            logits = trace.logits(subset=at).astype(np.float64)
            label = data.labels[index]
            values[1 + first, 10 + 9 * first + second] = (right(logits, index), np.log(softmax(logits)[label]))
        chosen = tuple(np.flatnonzero(masks[index, 0])[1:].tolist())
        assert chosen in values and max(values.values())[0] == values[chosen][0]
        assert values[chosen][1] == pytest.approx(max(values.values())[1], abs=2e-4)
        assert masks[index, 1].sum() == 3 and masks[index, 2].sum() == 1 + 2 + 4
        cells = np.flatnonzero(masks[index, 2][1:10])
        inner = (np.flatnonzero(masks[index, 2][10:]) // 9).tolist()
        assert inner == sorted([*cells, *cells])  # two looks inside each chosen cell


@pytest.mark.parametrize("config", [TWO, THREE, NATIVE])
def test_where_the_tree_is_too_large_separate_traversals_give_the_same_numbers(
    config: tn.TNetConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("learned", "centre", "mean", "random")
    whole, _ = measured(config, policies=names)
    monkeypatch.setattr(options_module, "_MAX_WHOLE_TREE", 5)
    apart, _ = measured(config, policies=names)
    assert not make_plan(config, Options()).is_whole
    for key, values in whole.results.items():
        if key.startswith(("top1", "top5", "stop/right", "cells", "inner", "area")):
            assert np.allclose(apart.results[key], values, equal_nan=True, atol=1e-6), key


def test_random_looks_differ_from_grid_to_grid_and_not_with_the_sampling() -> None:
    tree, ranker = Tree((3, 2)), make_random_ranker(7, 0)
    with torch.inference_mode():
        official = look_at(varied(THREE), batch_of(Canvases(4), THREE), tree, ranker)
        native = look_at(varied(THREE_NATIVE), batch_of(Canvases(4), THREE_NATIVE), tree, ranker)
        whole = look_at(varied(THREE), batch_of(Canvases(4), THREE), Tree((9, 9)), ranker)
    for one, other in zip(official.cells, native.cells, strict=True):
        assert torch.equal(one, other)
    assert any(len({tuple(cells) for cells in grids}) > 1 for grids in native.cells[1].tolist())
    assert torch.equal(official.rank(ranker), native.rank(ranker))
    # the looks that a budget takes of the whole tree are those that were chosen one by one
    masks = whole.tree.make_masks(whole.rank(ranker), [(3, 2)])[:, 0, 1:]
    for image in range(4):
        first = official.cells[0][image, 0].tolist()
        inner = [
            9 + 9 * a + b for a, cells in zip(first, official.cells[1][image].tolist(), strict=True) for b in cells
        ]
        assert masks[image].nonzero().flatten().tolist() == [*first, *inner]


def test_the_learned_looks_alone_do_not_need_the_whole_tree() -> None:
    alone = make_plan(TWO, Options(budget=1, policies=("learned",)))
    assert alone.tree.widths == (1,) and not alone.is_whole
    assert make_plan(TWO, Options(budget=1, policies=("learned", "centre"))).tree.widths == (9,)
    with BackboneCalls(varied(TWO)) as calls:
        found, _ = measured(TWO, policies=("learned",), budget=1, batch_size=28, equivariance=False)
    assert calls.batches == [28, 28]
    shared, _ = measured(TWO, policies=("learned", "centre"), budget=1)
    assert np.array_equal(found.results["top1/learned"], shared.results["top1/learned"])


@pytest.mark.parametrize(("config", "budget"), [(TWO, 0), (NATIVE, 0), (THREE, (0, 2)), (THREE, (2, 0))])
def test_no_looks_at_all_can_be_measured(config: tn.TNetConfig, budget: int | tuple[int, ...]) -> None:
    found, budgets = measured(config, policies=("learned",), budget=budget)
    whole, _ = measured(config, policies=("learned", "centre"), budget=budget)
    assert found.results["top1/learned"].shape[1] == len(budgets)
    assert np.array_equal(found.results["top1/learned"], whole.results["top1/learned"])


def test_a_tree_too_large_for_the_oracle_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options_module, "_MAX_WHOLE_TREE", 5)
    planned = make_plan(THREE, Options())
    assert "oracle" not in planned.policies and "too large" in planned.left_out["oracle"]
    assert planned.budgets[-1] == THREE.budget


def test_limits_are_bounded_by_the_grid_and_the_levels() -> None:
    assert make_plan(TWO, Options()).budgets[-1] == (9,)
    assert make_plan(TWO, Options(budget=2)).budgets == [(0,), (1,), (2,)]
    assert make_plan(THREE, Options(budget=(2, 1))).budgets[-1] == (2, 1)
    with pytest.raises(tn.TNetError, match="entries"):
        make_plan(TWO, Options(budget=(2, 1)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"policies": ("learned", "best")}, "best"), ({"policies": ("centre",)}, "learned"), ({"limit": 0}, "limit"),
     ({"batch_size": 0}, "batch"), ({"seed": -1}, "seed"),
     ({"workers": 5000}, "--workers is 5000, but must lie in 0…256"),
     ({"resamples": 10**10}, "--resamples is .* 1…100000"), ({"draws": 0}, "--draws")],
)  # fmt: skip
def test_impossible_options_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(tn.TNetError, match=said):
        Options(**wrong)


def test_the_order_of_looks_is_that_of_a_traversal() -> None:
    model, data, budget = varied(THREE), Canvases(3), (3, 2)
    with torch.inference_mode():
        looks = look_at(model, batch_of(data, THREE), Tree((9, 9)))
        order = looks.tree.compute_order(looks.rank(rank_as_learned), budget).numpy()
    for index in range(3):
        trace = tn.traverse(model, data[index].image, budget)
        nodes = [
            look.path[0] if len(look.path) == 1 else 9 + 9 * look.path[0] + look.path[1] for look in trace.locations
        ]
        assert np.argsort(order[index], kind="stable")[: len(nodes)].tolist() == nodes
        assert (order[index] < 91).sum() == len(nodes)


def test_the_boxes_of_the_cells_are_those_of_a_trace() -> None:
    trace = tn.traverse(varied(TWO), Canvases()[0].image, (9,))
    for look in trace.locations:
        assert compute_grid_boxes(TWO)[look.index] == pytest.approx(look.box)
