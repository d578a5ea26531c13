"""What the Compare tab is sent: numbers of the core for every position of its sliders."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from tests.viz.test_explore_payload import floats, weights
from tnet_core import compare
from viz.common.payload import PictureInfo
from viz.common.templates import read_elements
from viz.compare.payload import (
    Column,
    build_offer_payload,
    build_pair_payload,
    describe_cells,
    describe_first_looks,
    describe_ledger,
    describe_scores,
    is_same_view,
)

OTHER = replace(TINY, grid=4, location_rows=(1, 2, 4, 5))


def column(trace: tn.Trace, seed: int = 3) -> Column:
    return Column(
        "A <b>side</b>", trace, tn.ImageSource.open(picture(seed=seed)), PictureInfo("A picture", "photo: me", 2)
    )


def trace_of(config: tn.TNetConfig, seed: int = 3, policy: Any = "learned") -> tn.Trace:
    budget = (9,) if config is TINY else (3, 2) if config is TINY_3L else (5,)
    return tn.traverse(tiny(config), picture(seed=seed), budget=budget, policy=policy)


@pytest.fixture(scope="module", params=["policies", "levels", "grids"])
def pair(request: pytest.FixtureRequest) -> tuple[tn.Trace, tn.Trace]:
    return {
        "policies": lambda: (trace_of(TINY), trace_of(TINY, policy="centre")),
        "levels": lambda: (trace_of(TINY), trace_of(TINY_3L)),
        "grids": lambda: (trace_of(TINY), trace_of(OTHER)),
    }[request.param]()


@pytest.fixture(scope="module")
def sent(pair: tuple[tn.Trace, tn.Trace]) -> dict[str, Any]:
    with BackboneCalls(tiny(pair[1].config)) as calls:
        made = json.loads(build_pair_payload(column(pair[0]), column(pair[1]), "policies", "Both: a picture."))
    assert calls.batches == []
    return made


def test_every_position_of_the_sliders_has_its_overlaps(pair: tuple[tn.Trace, tn.Trace], sent: dict[str, Any]) -> None:
    a, b = pair
    assert sent["most"] == [max(both) for both in itertools.zip_longest(a.budget, b.budget, fillvalue=0)]
    budgets = list(itertools.product(*(range(most + 1) for most in sent["most"])))
    assert list(sent["overlaps"]) == [",".join(map(str, budget)) for budget in budgets]
    for budget in budgets:
        found = compare.overlap(a, b, compare.select_within(a, budget), compare.select_within(b, budget))
        shares = sent["overlaps"][",".join(map(str, budget))]
        assert shares == [[found.cells[level], found.area[level]] for level in found.cells]


def test_every_position_of_the_sliders_has_its_weights(pair: tuple[tn.Trace, tn.Trace], sent: dict[str, Any]) -> None:
    for side, trace in zip("ab", pair, strict=True):
        known = weights(sent[side])
        rows = floats(sent[side]["projections"]).reshape(len(trace.locations) + 1, -1)
        for budget in trace.budgets():
            looks = trace.select(budget=budget)
            mixed = known[looks] @ rows[[0, *(look + 1 for look in looks)]] + floats(sent[side]["bias"])
            np.testing.assert_allclose(mixed, trace.logits(subset=looks), rtol=1e-4, atol=1e-4)


def test_columns_and_correlations_are_those_of_the_core(pair: tuple[tn.Trace, tn.Trace], sent: dict[str, Any]) -> None:
    for side, trace in zip("ab", pair, strict=True):
        assert [look["path"] for look in sent[side]["looks"]] == [list(look.path) for look in trace.locations]
        assert sent[side]["title"] == "A <b>side</b>" and sent[side]["label"] == 2
        assert len(sent["pictures"]) == 1 and sent[side]["picture"] in sent["pictures"]
    assert sent["agreement"] == list(compare.agreement(*pair))
    for name, correlation in (("order", compare.order_correlation), ("scores", compare.score_correlation)):
        found = correlation(*pair)
        assert sent[name] == (None if found is None else {"spearman": found.spearman, "kendall": found.kendall})
    assert sent["matched"] is compare.same_grid(*pair)
    assert [tuple(both) for both in sent["common"]] == list(compare.common_classes(*pair))
    assert (sent["mode"], sent["constant"]) == ("policies", "Both: a picture.")


def test_two_pictures_are_both_sent() -> None:
    a, b = trace_of(TINY), trace_of(TINY, seed=4)
    sent = json.loads(build_pair_payload(column(a), column(b, seed=4), "pictures", ""))
    assert len(sent["pictures"]) == 2 and sent["a"]["picture"] != sent["b"]["picture"]


def test_a_side_without_looks_can_be_sent() -> None:
    nothing = tn.traverse(tiny(), picture(seed=3), budget=(0,))
    sent = json.loads(build_pair_payload(column(trace_of(TINY)), column(nothing), "policies", ""))
    assert sent["agreement"] == [] and sent["order"] is None
    assert sent["overlaps"]["0"] == [[None, None]] and sent["overlaps"]["3"] == [[0.0, 0.0]]


def test_sentences_say_what_is_compared() -> None:
    a, centre, deep = trace_of(TINY), trace_of(TINY, policy="centre"), trace_of(TINY_3L)
    other, elsewhere = trace_of(OTHER), trace_of(TINY, seed=4)
    assert describe_first_looks(centre, centre) == "Both look first at row 2, column 2 of 3 × 3."
    assert "A looks first at row" in describe_first_looks(
        other, centre
    ) and "B at row 2, column 2" in describe_first_looks(other, centre)
    nothing = tn.traverse(tiny(), picture(seed=3), budget=(0,))
    assert describe_first_looks(nothing, nothing) == ""
    assert (
        describe_first_looks(nothing, centre) == "B looks first at row 2, column 2 of 3 × 3; the other takes no look."
    )
    assert describe_first_looks(centre, nothing).startswith("A looks first")
    assert "(3 × 3 and 4 × 4), so cells cannot be matched" in describe_cells(a, other)
    assert "compares positions" in describe_cells(a, elsewhere) and "positions" not in describe_cells(a, centre)
    assert is_same_view(a, centre) and not is_same_view(a, deep) and not is_same_view(a, elsewhere)
    assert "only the choice differs" in describe_scores(a, centre) and "every cell" in describe_scores(a, elsewhere)
    assert "by their position in the two pictures" in describe_ledger(a, elsewhere)
    assert "not matched" in describe_ledger(a, other) and "no common scale" in describe_ledger(a, other)
    assert "no common scale" not in describe_ledger(a, centre)


def test_checkpoints_without_a_common_class_say_so() -> None:
    a = replace(trace_of(TINY), class_names=tuple("abcdefg"))
    b = replace(trace_of(TINY, policy="centre"), class_names=tuple("hijklmn"))
    sent = json.loads(build_pair_payload(column(a), column(b), "checkpoints", ""))
    assert sent["common"] == []
    assert sent["sentences"]["classes"].startswith("The two checkpoints have no class in common (7 and 7 classes")


def test_the_page_holds_nothing_that_gradio_would_replace() -> None:
    elements = read_elements("compare/template.html")
    assert not any(text in elements for text in ("${", "{{", "https://"))
    assert json.loads(build_offer_payload(scene=1, title="</script>"))["kind"] == "offer"
