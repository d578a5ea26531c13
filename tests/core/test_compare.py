"""Two traversals side by side: values worked out by hand, and what must hold for any pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from tnet_core import compare

few = settings(max_examples=25, deadline=None)
WIDER = replace(TINY, grid=4, location_rows=(1, 2, 4, 5))
LEVELS = {2: (TINY, (9,)), 3: (TINY_3L, (3, 2))}


def trace_looks(cells: list[int], seed: int = 0) -> tn.Trace:
    return tn.traverse(tiny(), picture(seed=seed), budget=(len(cells),), policy=cells)


# Ranks ------------------------------------------------------------------------------------------


def test_ties_share_the_mean_of_their_ranks() -> None:
    ranks = np.array([2, 4.5, 3, 4.5, 1])  # of 10, 30, 20, 30, 5
    for other in ([1, 2, 3, 4, 5], [5, 1, 4, 2, 3]):
        expected = np.corrcoef(ranks, other)[0, 1]
        assert compare.spearman([10, 30, 20, 30, 5], other) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "rho", "tau"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 99], 1, 1),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1, -1),
        # d = 1, 1, 1, 1: rho = 1 - 6 * 4 / (4 * 15); two of six pairs are discordant
        ([1, 2, 3, 4], [2, 1, 4, 3], 0.6, 1 / 3),
        # ranks 1.5 1.5 3 4 against 1 2.5 2.5 4; pairs: 4 concordant, 0 discordant, one tie in each
        ([1, 1, 2, 3], [1, 2, 2, 3], 3.75 / 4.5, 4 / 5),
    ],
)
def test_correlations_are_those_worked_out_by_hand(x: list[int], y: list[int], rho: float, tau: float) -> None:
    for a, b in ((x, y), (y, x)):
        assert compare.spearman(a, b) == pytest.approx(rho, abs=1e-12)
        assert compare.kendall(a, b) == pytest.approx(tau, abs=1e-12)


def test_what_does_not_vary_has_no_correlation() -> None:
    assert compare.spearman([1, 1, 1], [1, 2, 3]) is None
    assert compare.kendall([1, 2, 3], [0, 0, 0]) is None
    flat = trace_looks([0])
    grid = replace(flat.distributions[0], logits=np.zeros((3, 3), np.float32))
    assert compare.score_correlation(replace(flat, distributions=(grid,)), flat) is None
    assert compare.order_correlation(trace_looks([]), trace_looks([4])) is None


def test_the_networks_own_order_correlates_as_its_scores_do() -> None:
    a, b = (tn.traverse(tiny(seed=seed), picture(), budget=(9,)) for seed in (1, 2))
    scores, order = compare.score_correlation(a, b), compare.order_correlation(a, b)
    assert scores is not None and order is not None
    assert (scores.spearman, scores.kendall) == pytest.approx((order.spearman, order.kendall))
    assert -1 < scores.spearman < 1


def test_looks_that_were_not_taken_tie_for_the_last_place() -> None:
    order = compare.order_correlation(trace_looks([4]), trace_looks([4, 0, 1, 2, 3, 5, 6, 7, 8]))
    assert order is not None
    # one rank against nine: of 36 pairs 8 are told apart by both, and both agree
    assert order.kendall == pytest.approx(8 / np.sqrt(8 * 36))


# Overlap ----------------------------------------------------------------------------------------


def test_cells_and_areas_are_those_counted_by_hand() -> None:
    """128 px, 3 x 3 cells of 64 px at a stride of 32: cells 0 and 2 lie apart, 0 and 1 share half."""
    a, b = trace_looks([0]), trace_looks([2, 0])
    found = compare.overlap(a, b, (0,), (0, 1))
    assert found.cells == {2: 1 / 2}
    assert found.area == {2: pytest.approx(1 / 2)}
    assert compare.shared_cells(a, b, (0,), (0,)) == {2: 0}
    assert compare.area_overlap(a, b, (0,), (0,)) == {2: 0}
    half = compare.area_overlap(a, trace_looks([1]), (0,), (0,))
    assert half == {2: pytest.approx(1 / 3)}  # 32 of 96 columns
    assert compare.overlap(a, b, (), ()) == compare.Overlap({2: None}, {2: None})


def test_areas_can_be_compared_where_cells_cannot() -> None:
    a = trace_looks([0])
    b = tn.traverse(tiny(WIDER), picture(), budget=(16,), policy="raster")
    found = compare.overlap(a, b, (0,), (0,))
    assert found.cells == {2: None}
    assert found.area[2] is not None and 0 < found.area[2] <= 1
    assert compare.agreement(a, b) == () and not compare.same_grid(a, b)
    assert compare.score_correlation(a, b) is None and compare.order_correlation(a, b) is None


def test_levels_are_compared_one_by_one_by_the_whole_path() -> None:
    table = {(): [0, 1], (0,): [3, 4], (1,): [5, 6]}
    other = {(): [1, 2], (1,): [6, 0], (2,): [3, 4]}
    a, b = (tn.traverse(tiny(TINY_3L), picture(), budget=(2, 2), policy=policy) for policy in (table, other))
    found = compare.overlap(a, b, a.select(), b.select())
    assert found.cells == {2: 1 / 3, 3: 1 / 7}  # cell 1; in it cell 6, while the 3 and 4 of others are other places
    flat = compare.overlap(trace_looks([1]), b, (0,), b.select())
    assert flat.cells == {2: 1 / 2, 3: 0.0}  # one of them never goes that deep


def test_agreement_counts_the_first_looks_of_both() -> None:
    assert compare.agreement(trace_looks([0, 1, 2, 3]), trace_looks([1, 5, 0])) == (0, 1 / 2, 2 / 3)
    assert compare.agreement(trace_looks([]), trace_looks([1])) == ()


def test_a_budget_takes_what_a_trace_has() -> None:
    deep = tn.traverse(tiny(TINY_3L), picture(), budget=(2, 1))
    assert compare.select_within(deep, (9, 9)) == deep.select()
    assert compare.select_within(deep, (1,)) == deep.select(budget=(1, 0))
    assert compare.select_within(trace_looks([3, 4]), (1, 5)) == (0,)


def test_one_picture_is_known_by_its_content() -> None:
    assert compare.same_image(trace_looks([0]), trace_looks([1]))
    assert not compare.same_image(trace_looks([0]), trace_looks([0], seed=1))


# Classes and ledgers ----------------------------------------------------------------------------


def test_classes_are_matched_by_name() -> None:
    a, b = trace_looks([0]), trace_looks([0])
    assert compare.common_classes(a, b) == tuple((cls, cls) for cls in range(7))
    a = replace(a, class_names=("crane", "wren", "crane", "x", "y", "z", "u"))
    assert compare.common_classes(a, b) == ()
    b = replace(b, class_names=("wren", "crane", "rook", "k", "crane", "crane", "x"))
    assert compare.common_classes(a, b) == ((0, 1), (1, 0), (2, 4), (3, 6))


def test_rows_are_matched_by_cell_and_missing_ones_count_as_zero() -> None:
    a, b = trace_looks([0, 4]), trace_looks([4, 8])
    found = compare.ledger_difference(a, b, (3, 3), (0, 1), (0, 1))
    assert [(row.path, row.a, row.b) for row in found.rows] == [
        (None, None, None), ((0,), 0, None), ((4,), 1, 0), ((8,), None, 1),
    ]  # fmt: skip
    ours, theirs = a.contributions(3), b.contributions(3)
    context, gone, both, new = (row.difference for row in found.rows)
    assert context == theirs.values[0] - ours.values[0]
    assert (gone, both, new) == (-ours.values[1], theirs.values[1] - ours.values[2], theirs.values[2])
    assert found.rows[1].right is None and found.rows[3].left is None


def test_without_a_common_grid_only_the_context_is_matched() -> None:
    a, b = trace_looks([0]), tn.traverse(tiny(WIDER), picture(), budget=(1,), policy=[0])
    found = compare.ledger_difference(a, b, (1, 1), (0,), (0,))
    assert [(row.a, row.b) for row in found.rows] == [(None, None), (0, None), (None, 0)]
    assert found.rows[0].left is not None and found.rows[0].right is not None


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tn.Trace, tn.Trace]:
    made = []
    for _ in range(2):
        config = draw(st.sampled_from([TINY, replace(TINY, weighting=False), WIDER, TINY_3L]))
        budget = tuple(draw(st.integers(0, 3)) for _ in range(config.levels - 1))
        policy = draw(st.sampled_from(["learned", "random:1", "random:2", "centre", "raster"]))
        model = tiny(config, seed=draw(st.integers(1, 2)))
        made.append(tn.traverse(model, picture(seed=draw(st.integers(0, 2))), budget=budget, policy=policy))
    return made[0], made[1]


@pytest.mark.slow
@few
@given(pairs(), st.data())
def test_differences_of_rows_add_up_to_the_difference_of_logits(
    pair: tuple[tn.Trace, tn.Trace], data: st.DataObject
) -> None:
    a, b = pair
    chosen = [data.draw(st.lists(st.sampled_from(range(len(t.locations))), unique=True) if t.locations else st.just([]))
              for t in pair]  # fmt: skip
    cls = data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    found = compare.ledger_difference(a, b, cls, *chosen)
    expected = float(b.logits(subset=chosen[1])[cls[1]]) - float(a.logits(subset=chosen[0])[cls[0]])
    assert found.total == pytest.approx(expected, abs=1e-5)
    assert found.total == pytest.approx(found.logits[1] - found.logits[0], abs=1e-9)
    mirrored = compare.ledger_difference(b, a, cls[::-1], *chosen[::-1])
    assert mirrored.total == pytest.approx(-found.total, abs=1e-9)
    assert {(row.b, row.a) for row in mirrored.rows} == {(row.a, row.b) for row in found.rows}


@pytest.mark.slow
@few
@given(pairs(), st.data())
def test_overlaps_do_not_depend_on_the_side(pair: tuple[tn.Trace, tn.Trace], data: st.DataObject) -> None:
    a, b = pair
    budget = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    in_a, in_b = compare.select_within(a, budget), compare.select_within(b, budget)
    one, two = compare.overlap(a, b, in_a, in_b), compare.overlap(b, a, in_b, in_a)
    assert one.cells == two.cells
    for level, share in one.area.items():
        assert share == (None if share is None else pytest.approx(two.area[level], abs=1e-12))
        assert share is None or 0 <= share <= 1
    assert compare.agreement(a, b) == compare.agreement(b, a)
    for correlation in (compare.score_correlation, compare.order_correlation):
        first, second = correlation(a, b), correlation(b, a)
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            assert (first.spearman, first.kendall) == pytest.approx((second.spearman, second.kendall))


@pytest.mark.parametrize("levels", [2, 3])
def test_a_trace_is_like_itself(levels: int) -> None:
    config, budget = LEVELS[levels]
    trace = tn.traverse(tiny(config), picture(seed=4), budget=budget)
    looks = trace.select()
    found = compare.overlap(trace, trace, looks, looks)
    assert set(found.cells.values()) == {1.0} and list(found.area.values()) == pytest.approx([1.0] * (levels - 1))
    assert compare.agreement(trace, trace) == (1.0,) * budget[0]
    for correlation in (compare.score_correlation(trace, trace), compare.order_correlation(trace, trace)):
        assert correlation is not None and (correlation.spearman, correlation.kendall) == pytest.approx((1, 1))
    ledger = compare.ledger_difference(trace, trace, (2, 2), looks, looks)
    assert [row.difference for row in ledger.rows] == [0.0] * (len(looks) + 1) and ledger.total == 0


# Other looks of the same traversal --------------------------------------------------------------


@pytest.mark.parametrize("policy", ["random:5", "centre", "raster", [7, 2, 5]])
def test_another_order_is_what_a_traversal_of_its_own_would_give(policy: str | list[int]) -> None:
    model = tiny()
    trace = tn.traverse(model, picture(), budget=(9,))
    count = 9 if isinstance(policy, str) else 3
    with BackboneCalls(model) as calls:
        found = compare.order_by_policy(trace, policy)
    assert calls.batches == []
    expected = tn.traverse(model, picture(), budget=(count,), policy=policy)
    assert (found.policy, found.budget) == (expected.policy, expected.budget)
    assert [look.path for look in found.locations] == [look.path for look in expected.locations]
    assert [look.rank for look in found.locations] == [look.rank for look in expected.locations]
    for k in range(count + 1):
        np.testing.assert_allclose(found.logits(k), expected.logits(k), atol=1e-4)
    assert found.cost(2).flops == expected.cost(2).flops
    np.testing.assert_array_equal(found.crops[1], expected.crops[1])


def test_looks_taken_again_keep_their_tree() -> None:
    trace = tn.traverse(tiny(TINY_3L), picture(), budget=(2, 2))
    inside = [p for p, look in enumerate(trace.locations) if look.parent == 1]
    found = compare.retake_looks(trace, [1, inside[1], 0])
    assert [look.parent for look in found.locations] == [None, 0, None]
    assert found.budget == (2, 1)
    assert {grid.parent for grid in found.distributions} == {None, 0, 2}
    np.testing.assert_allclose(found.logits(), trace.logits(subset=[0, 1, inside[1]]), atol=1e-6)
    assert found.cell_boxes(0) == trace.cell_boxes(1)


def test_looks_that_cannot_be_taken_are_refused() -> None:
    deep = tn.traverse(tiny(TINY_3L), picture(), budget=(2, 1))
    with pytest.raises(tn.TNetError, match="taken before it"):
        compare.retake_looks(deep, [2])
    with pytest.raises(tn.TNetError, match="twice"):
        compare.retake_looks(deep, [0, 0])
    with pytest.raises(tn.TNetError, match="every cell"):
        compare.order_by_policy(deep, "centre")
    with pytest.raises(tn.TNetError, match="every cell"):
        compare.order_by_policy(trace_looks([1, 2]), "centre")
    everything = tn.traverse(tiny(), picture(), budget=(9,))
    for wrong in ("nowhere", [9], [1, 1], "random:-1"):
        with pytest.raises(tn.TNetError):
            compare.order_by_policy(everything, wrong)
