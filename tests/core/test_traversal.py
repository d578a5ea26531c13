"""Step by step and level by level: the same looks, the same trace."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny


def steps_of(traversal: tn.Traversal) -> list[tn.Step]:
    steps = []
    while (step := traversal.step()) is not None:
        steps.append(step)
    return steps


@pytest.mark.parametrize(
    ("config", "budget"), [(TINY, (5,)), (TINY_3L, (3, 2)), (replace(TINY, weighting=False), (4,))]
)
@pytest.mark.parametrize("policy", ["learned", "random:3", "centre", "raster"])
def test_stepping_and_batching_give_the_same_trace(config: tn.TNetConfig, budget: tuple[int, ...], policy: str) -> None:
    model, image = tiny(config), picture(150, 90, seed=2)
    whole = tn.traverse(model, image, budget=budget, policy=policy)
    traversal = tn.Traversal(model, image, budget=budget, policy=policy)
    steps = steps_of(traversal)
    stepped = traversal.trace()
    assert [look.path for look in stepped.locations] == [look.path for look in whole.locations]
    assert [look.pixels for look in stepped.locations] == [look.pixels for look in whole.locations]
    assert [look.parent for look in stepped.locations] == [look.parent for look in whole.locations]
    np.testing.assert_allclose(stepped.features, whole.features, atol=1e-4)
    for a, b in zip(stepped.distributions, whole.distributions, strict=True):
        assert (a.level, a.parent, a.path) == (b.level, b.parent, b.path)
        np.testing.assert_allclose(a.logits, b.logits, atol=1e-5)
    for k, step in enumerate(steps):
        assert step.number == k
        np.testing.assert_allclose(step.logits, whole.logits(k), atol=1e-4)
        np.testing.assert_allclose(step.weights, whole.weights(k), atol=1e-4)


def test_the_first_step_is_the_thumbnail_and_each_step_tells_what_changed() -> None:
    traversal = tn.Traversal(tiny(), picture(), budget=(2,))
    steps = steps_of(traversal)
    assert [step.location is None for step in steps] == [True, False, False]
    assert steps[0].change is None and steps[0].distribution is not None
    assert steps[0].crop.shape == (64, 64, 3) and steps[0].crop.dtype == np.uint8
    for before, step in itertools.pairwise(steps):
        np.testing.assert_allclose(step.change, step.logits - before.logits, atol=1e-6)
        assert step.distribution is None  # looks of the last level open no grid
    assert traversal.step() is None


def test_looks_come_by_descending_logit_with_rank_lift_and_probability() -> None:
    trace = tn.traverse(tiny(), picture(), budget=(9,))
    logits = [look.logit for look in trace.locations]
    assert logits == sorted(logits, reverse=True)
    assert [look.rank for look in trace.locations] == list(range(1, 10))
    grid = trace.distributions[0]
    assert grid.level == 1 and grid.parent is None and grid.logits.shape == (3, 3)
    assert np.linalg.norm(grid.logits) == pytest.approx(1, abs=1e-5)
    assert grid.probabilities.sum() == pytest.approx(1, abs=1e-6)
    for look in trace.locations:
        assert look.logit == grid.logits[look.index // 3, look.index % 3]
        assert look.prob == grid.probabilities[look.index // 3, look.index % 3]
        assert look.lift == pytest.approx(9 * look.prob)
        assert look.level == 2 and look.parent is None


def test_equal_logits_are_taken_from_the_lower_index() -> None:
    model = tn.build(TINY)
    model.location.output.weight.data.zero_()
    model.location.output.bias.data.zero_()
    trace = tn.traverse(model, picture(), budget=(4,))
    assert [look.index for look in trace.locations] == [0, 1, 2, 3]
    np.testing.assert_allclose(trace.distributions[0].probabilities, 1 / 9, atol=1e-7)  # and no NaN


def test_three_levels_come_level_by_level_then_parent_by_parent() -> None:
    trace = tn.traverse(tiny(TINY_3L), picture(), budget=(3, 2))
    assert [look.level for look in trace.locations] == [2] * 3 + [3] * 6
    assert [look.parent for look in trace.locations] == [None] * 3 + [0, 0, 1, 1, 2, 2]
    assert [(grid.level, grid.parent) for grid in trace.distributions] == [(1, None), (2, 0), (2, 1), (2, 2)]
    for look in trace.locations[3:]:
        parent = trace.locations[look.parent]
        assert look.path == (*parent.path, look.index)
        x0, y0, x1, y1 = look.box
        assert parent.box[0] <= x0 and parent.box[1] <= y0 and x1 <= parent.box[2] and y1 <= parent.box[3]


def test_each_level_is_one_backbone_call() -> None:
    model = tiny(TINY_3L)
    with BackboneCalls(model) as calls:
        tn.traverse(model, picture(), budget=(3, 2))
    assert calls.batches == [1, 3, 6]


def test_stepping_processes_one_look_per_call() -> None:
    model = tiny(TINY_3L)
    with BackboneCalls(model) as calls:
        steps_of(tn.Traversal(model, picture(), budget=(2, 1)))
    assert calls.batches == [1] * 5


def test_levels_may_exceed_those_of_training() -> None:
    trace = tn.traverse(tiny(), picture(), budget=(2, 2, 1), levels=4)
    assert trace.levels == 4
    assert [look.level for look in trace.locations] == [2] * 2 + [3] * 4 + [4] * 4
    assert len(tn.traverse(tiny(), picture(), levels=1).locations) == 0


def test_default_budget_is_that_of_training() -> None:
    assert len(tn.traverse(tiny(), picture()).locations) == 3
    assert len(tn.Traversal(tiny(TINY_3L), picture()).run().locations) == 2 + 4


def test_a_baseline_sees_the_whole_image_once() -> None:
    from tnet_core.modeling.presets import baseline_of

    model = tiny(baseline_of(TINY, 128))
    trace = tn.traverse(model, picture())
    assert trace.locations == () and trace.distributions == ()
    assert trace.thumbnail.shape == (128, 128, 3)
    assert trace.weights().tolist() == [1.0]
    assert trace.contributions(2).total == pytest.approx(trace.logits()[2], abs=1e-5)
    with pytest.raises(tn.TNetError, match="takes no looks"):
        tn.traverse(model, picture(), budget=(2,))
    with pytest.raises(tn.TNetError, match="takes no looks"):
        tn.Traversal(model, picture()).attend(2, 0)


# Steering ----------------------------------------------------------------------------------------


def test_attending_takes_the_place_of_the_policys_choice() -> None:
    model, image = tiny(), picture()
    order = [look.index for look in tn.traverse(model, image, budget=(9,)).locations]
    traversal = tn.Traversal(model, image, budget=(3,))
    traversal.step()
    step = traversal.attend(2, order[8])  # the network's last choice
    assert step.location is not None and step.location.index == order[8] and step.location.rank == 9
    steps_of(traversal)
    assert [look.index for look in traversal.trace().locations] == [order[8], order[0], order[1]]


def test_attending_beyond_the_budget_adds_a_look() -> None:
    traversal = tn.Traversal(tiny(), picture(), budget=(2,))
    before = traversal.run()
    unused = next(cell for cell in range(9) if cell not in {look.index for look in before.locations})
    traversal.attend(2, unused)
    after = traversal.trace()
    assert len(after.locations) == 3
    # Other sets of looks may be summed in another order by the matrix library.
    np.testing.assert_allclose(after.logits(k=2), before.logits(), rtol=1e-5, atol=1e-6)


def test_attending_at_a_deeper_level_needs_the_parent() -> None:
    traversal = tn.Traversal(tiny(TINY_3L), picture(), budget=(2, 0))
    traversal.run()
    step = traversal.attend(3, 4, parent=1)
    assert step.location is not None
    assert step.location.parent == 1 and step.location.level == 3
    assert step.location.path[0] == traversal.trace().locations[1].index


def test_attending_first_takes_the_thumbnail() -> None:
    traversal = tn.Traversal(tiny(), picture(), budget=(1,))
    assert traversal.attend(2, 0).number == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 0), "is of level 2, not 3"),
        ((2, 9), "A cell is 9, but must lie in 0…8"),
        ((2, -1), "A cell is -1"),
        ((2, 0, 5), "The look to look into is 5, but must lie in 0…0"),
        ((3, 0, 0), "has no grid"),
        ((2, True), "A cell must be a whole number"),
        ((2, 1.0), "A cell must be a whole number"),
        ((3, 0, "0"), "whole number"),
        (("2", 0), "A level must be a whole number"),
    ],
)
def test_impossible_looks_are_refused(arguments: tuple[int, ...], message: str) -> None:
    traversal = tn.Traversal(tiny(), picture(), budget=(1,))
    traversal.run()
    with pytest.raises(tn.TNetError, match=message):
        traversal.attend(*arguments)


def test_the_same_cell_cannot_be_taken_twice() -> None:
    traversal = tn.Traversal(tiny(), picture(), budget=(1,))
    traversal.attend(2, 4)
    with pytest.raises(tn.TNetError, match="already looked at"):
        traversal.attend(2, 4)


# Policies ----------------------------------------------------------------------------------------


def test_built_in_policies() -> None:
    model, image = tiny(), picture()

    def taken(policy: object, k: int = 9) -> list[int]:
        return [look.index for look in tn.traverse(model, image, budget=(k,), policy=policy).locations]

    assert taken("raster") == list(range(9))
    assert taken("centre") == [4, 1, 3, 5, 7, 0, 2, 6, 8]
    assert sorted(taken("random")) == list(range(9))
    assert taken("random") == taken("random:0") != taken("random:1")
    assert taken([7, 2], 2) == [7, 2]
    assert taken(lambda _: [8, *range(8)], 3) == [8, 0, 1]
    assert tn.traverse(model, image, budget=(1,), policy="random:5").policy == "random:5"
    # Ranks always tell the network's own order.
    learned = taken("learned")
    assert [look.rank for look in tn.traverse(model, image, budget=(9,), policy="raster").locations] == [
        learned.index(cell) + 1 for cell in range(9)
    ]


def test_random_looks_differ_from_grid_to_grid() -> None:
    trace = tn.traverse(tiny(TINY_3L), picture(), budget=(4, 4), policy="random:2")
    orders = {tuple(look.index for look in trace.locations if look.parent == parent) for parent in (None, 0, 1, 2, 3)}
    assert len(orders) > 2


def test_cells_of_several_grids_can_be_given_by_path() -> None:
    policy = {(): [5, 0], (5,): [8], (0,): [2]}
    trace = tn.traverse(tiny(TINY_3L), picture(), budget=(2, 1), policy=policy)
    assert [look.path for look in trace.locations] == [(5,), (0,), (5, 8), (0, 2)]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("greedy", "no policy 'greedy'"),
        ("random:x", "no policy"),
        ([1, 1], "twice"),
        ([9, 1], "is 9, but must lie in 0…8"),
        ([1.7, 2], "whole number"),
        (["a", 2], "whole number"),
        ([None, 2], "whole number"),
        ({(): 5}, "must be a list"),
        (lambda _: None, "must be a list"),
        ([1], "names 1 cells.*budget asks for 2"),
        (7, "must be a name"),
    ],
)
def test_bad_policies_are_refused(policy: object, message: str) -> None:
    with pytest.raises(tn.TNetError, match=message):
        tn.traverse(tiny(), picture(), budget=(2,), policy=policy)


def test_random_policies_need_a_seed_that_can_be_one() -> None:
    with pytest.raises(tn.TNetError, match="seed of a random policy is -1"):
        tn.policies.random(-1)


def test_numpy_integers_are_integers() -> None:
    traversal = tn.Traversal(tiny(), picture(), budget=np.int64(2))
    traversal.attend(np.int64(2), np.int32(4))
    trace = traversal.run()
    assert trace.locations[0].index == 4 and len(trace.locations) == 2
    assert tn.traverse(tiny(TINY_3L), picture(), budget=np.array([2, 1])).budget == (2, 1)
    np.testing.assert_array_equal(trace.logits(budget=np.int64(1)), trace.logits(np.int64(1)))
    tn.Trace.from_json(trace.to_json())


def test_a_model_in_training_mode_is_refused() -> None:
    model = tn.build(TINY).train()
    with pytest.raises(tn.TNetError, match="training mode"):
        tn.traverse(model, picture())


def test_double_precision_models_work() -> None:
    double = tn.build(TINY).double()
    np.testing.assert_allclose(
        tn.traverse(double, picture()).logits(), tn.traverse(tn.build(TINY), picture()).logits(), atol=1e-3
    )


def test_a_traversal_is_deterministic() -> None:
    first, second = (tn.traverse(tiny(), picture(seed=5), budget=(4,)) for _ in range(2))
    np.testing.assert_array_equal(first.features, second.features)
    assert first.locations == second.locations


@pytest.mark.slow
def test_concurrent_traversals_of_one_model_do_not_mix() -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = tiny()
    images = [picture(seed=s) for s in range(8)]
    alone = [tn.traverse(model, image, budget=(3,)) for image in images]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda image: tn.traverse(model, image, budget=(3,)), images * 3))
    for i, trace in enumerate(together):
        np.testing.assert_allclose(trace.logits(), alone[i % 8].logits(), atol=1e-4)
        assert [look.index for look in trace.locations] == [look.index for look in alone[i % 8].locations]


@pytest.mark.parametrize(
    "name",
    ["features.body.conv_stem", "classifier.linear", "location.output", "weighting.output", "positional.linear"],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_damaged_weights_are_reported(name: str, value: float) -> None:
    model = tn.build(TINY)
    model.get_submodule(name).weight.data.fill_(value)
    with pytest.raises(tn.TNetError, match="not finite"):
        tn.traverse(model, picture())


@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1e10, 1e20])
def test_location_logits_keep_unit_length_at_any_scale(scale: float) -> None:
    model, plain = tn.build(TINY), tn.build(TINY)
    for parameter in model.location.output.parameters():
        parameter.data.mul_(scale)
    scaled, expected = (tn.traverse(m, picture()).distributions[0].logits for m in (model, plain))
    np.testing.assert_allclose(scaled, expected, atol=1e-5)


@pytest.mark.parametrize("config", [TINY, TINY_3L], ids=["two levels", "three levels"])
def test_the_small_models_of_these_tests_see_the_difference_between_pictures(config: tn.TNetConfig) -> None:
    traces = [tn.traverse(tiny(config), picture(seed=seed)) for seed in range(6)]
    assert np.std([trace.logits() for trace in traces], axis=0).min() > 0.2
    assert len({tuple(look.index for look in trace.locations) for trace in traces}) > 2
    assert np.ptp([trace.weights().max() for trace in traces]) > 0.05


@pytest.mark.parametrize(
    ("config", "budget"), [(TINY, (3,)), (TINY_3L, (2, 1)), (replace(TINY, weighting=False), (3,))]
)
@pytest.mark.parametrize("has_pixels", [True, False])
def test_a_traversal_goes_on_from_a_trace_with_one_crop_per_look(
    config: tn.TNetConfig, budget: tuple[int, ...], has_pixels: bool
) -> None:
    model, image = tiny(config), picture(150, 90, seed=2)
    whole = tn.Traversal(model, image, budget=budget)
    before = whole.run()
    if not has_pixels:
        before = replace(before, seen=None)
    copy = tn.Trace.from_json(before.to_json())
    parent = None if before.levels == 2 else 0
    free = next(cell for cell in range(9) if (parent, cell) not in {(at.parent, at.index) for at in before.locations})
    with BackboneCalls(model) as calls:
        resumed = tn.resume(model, image, before)
        step = resumed.attend(before.levels, free, parent)
        after = resumed.trace()
    assert calls.batches == [1]
    whole.attend(before.levels, free, parent)
    expected = whole.trace()
    assert after.locations == expected.locations
    assert [grid.path for grid in after.distributions] == [grid.path for grid in expected.distributions]
    np.testing.assert_allclose(after.features, expected.features, atol=1e-5)
    for k in range(len(after.locations) + 1):
        np.testing.assert_allclose(after.logits(k), expected.logits(k), atol=1e-5)
    np.testing.assert_array_equal(step.crop, expected.crops[-1])
    assert after.timing.seconds[:-1] == before.timing.seconds and after.pixels_read == expected.pixels_read
    assert (after.seen is not None) is has_pixels
    assert before.to_json() == copy.to_json()  # the trace stays as it was
    assert resumed.step() is None  # its budget was spent before


def test_a_traversal_that_was_cut_short_is_resumed_in_the_order_of_its_policy() -> None:
    model, image = tiny(TINY_3L), picture(120, 120, seed=4)
    short = tn.Traversal(model, image, budget=(2, 2), policy="centre")
    for _ in range(3):
        short.step()
    resumed = tn.resume(model, image, short.trace()).run()
    expected = tn.traverse(model, image, budget=(2, 2), policy="centre")
    assert [look.path for look in resumed.locations] == [look.path for look in expected.locations]
    assert resumed.policy == "centre"
    np.testing.assert_allclose(resumed.logits(), expected.logits(), atol=1e-5)


def test_another_model_picture_or_unnamed_policy_cannot_resume_a_trace() -> None:
    trace = tn.traverse(tiny(), picture(), policy=[4, 1, 2])
    with pytest.raises(tn.TNetError, match="no policy 'cells'"):
        tn.resume(tiny(), picture(), trace)
    assert tn.resume(tiny(), picture(), trace, policy=[4, 1, 2, 0]).trace().locations == trace.locations
    with pytest.raises(tn.TNetError, match="configuration differs"):
        tn.resume(tiny(TINY_3L), picture(), trace)
    with pytest.raises(tn.TNetError, match="size differs"):
        tn.resume(tiny(), picture(64, 128), trace, policy="learned")
