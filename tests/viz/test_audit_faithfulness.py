"""The faithfulness report as the page shows it: the numbers of `tnet_core.explain`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from markupsafe import escape

import tnet_core as tn
from pages.audit.service import choose_look_count, select_looks
from tests.support.models import TINY_3L, picture, tiny
from tnet_core import explain
from viz.audit.faithfulness import ReportSubject, render_report
from viz.common.text import format_number, format_percent, format_signed

NASTY = "<b onmouseover=alert(1)>\"'&"
SUBJECT = ReportSubject("a bird", "garden birds", "data:image/webp;base64,AA==", label=2)


def numbers(shown: str, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf'data-{name}="([^"]*)"', shown)]


def test_the_report_shows_the_numbers_it_was_given(trace: tn.Trace) -> None:
    kept = trace.only(range(6))
    for cls in range(7):
        found = explain.faithfulness(kept, cls)
        shown = render_report(found, kept, SUBJECT)
        close = {"atol": 1e-6}
        np.testing.assert_allclose(numbers(shown, "share"), found.contributions.values, **close)
        np.testing.assert_allclose(numbers(shown, "weight"), found.weights, **close)
        np.testing.assert_allclose(numbers(shown, "shapley"), found.shapley, **close)
        lines = [json.loads(unescape(text))["lines"] for text in re.findall(r'data-curves="([^"]*)"', shown)]
        drawn = [[value for _, value in line["points"]] for chart in lines for line in chart]
        names = (found.sufficiency_alone, found.sufficiency, found.necessity_alone, found.necessity)
        for values, expected in zip(drawn, names, strict=True):
            np.testing.assert_allclose(values, expected[1:], **close)
        areas = [
            value
            for course in (found.insertion, found.deletion)
            for value in (explain.area(course.network), course.random_areas.mean(), explain.area(course.oracle))
        ]
        np.testing.assert_allclose(numbers(shown, "exact"), areas, **close)
        assert re.findall(r"data-beaten>([^<]*)<", shown) == [
            f"{round(100 * share)} of 100" for share in (found.beaten_by_insertion, found.beaten_by_deletion)
        ]
        assert numbers(shown, "violations") == [len(found.violations)]
        assert shown.count("heavy, but against") == len(found.violations)
        left = found.left_out_probability.without
        np.testing.assert_allclose(numbers(shown, "without"), left, **close)
        np.testing.assert_allclose(numbers(shown, "without-logit"), found.left_out.without, **close)
        assert numbers(shown, "disagreements") == [len(found.disagreements)]
        assert all(f"{format_percent(value)}</b> <small>logit " in shown for value in left if value is not None)
        # … as they are written
        assert all(f"<b>{format_signed(float(value))}</b>" in shown for value in found.contributions.values)
        assert all(f">{format_number(float(weight))}</td>" in shown for weight in found.weights)
        assert f">{format_percent(float(found.sufficiency[-1]))}</b>" in shown
        predicted = kept.prediction
        assert ("which it predicts" in shown) is (cls == predicted)
        assert ("this is the picture's label" in shown) is (cls == 2)


def test_contributions_that_are_not_effects_are_named_with_their_numbers(trace: tn.Trace) -> None:
    met = set()
    for cls in range(7):
        kept = trace.only(range(6))
        found = explain.faithfulness(kept, cls)
        shown = render_report(found, kept, SUBJECT)
        sentence = (re.findall(r"data-disagreements=[^>]*>([^<]*)<", shown) or [""])[0]
        disagreeing = {one.look for one in explain.sign_disagreements(kept, cls)}
        for look, share in zip(found.contributions.looks, found.contributions.values, strict=True):
            fair = None if look is None else float(found.shapley[look])
            named = look in disagreeing or bool(fair is not None and fair * share < 0)
            numbers_of = (
                f"{'the context' if look is None else f'look {look + 1}'} contributes {format_signed(float(share))}, "
            )
            assert (numbers_of in sentence) is named
            assert named is (look in found.disagreements)
            met.add(named)
        assert shown.count("≠") == len(disagreeing)
        assert ("agree in sign: what adds" in sentence) is (not found.disagreements)
    assert met == {True, False}


def test_charts_get_the_numbers_of_their_courses(trace: tn.Trace) -> None:
    kept = trace.only(range(4))
    found = explain.faithfulness(kept, 1)
    shown = render_report(found, kept, SUBJECT)
    charts = [json.loads(unescape(text)) for text in re.findall(r'data-chart-lines="([^"]*)"', shown)]
    assert [chart["below"] for chart in charts] == ["looks added", "looks taken away"]
    for chart, course in zip(charts, (found.insertion, found.deletion), strict=True):
        lines = {line["kind"]: line for line in chart["lines"]}
        for name, values in (("network", course.network), ("hindsight", course.oracle), ("chance", course.random_mean)):
            np.testing.assert_allclose(lines[name]["values"], values, atol=1e-6)
        np.testing.assert_allclose(lines["chance"]["band"], course.random_band, atol=1e-6)


def test_names_are_text(trace: tn.Trace) -> None:
    named = replace(trace.only(range(2)), class_names=(NASTY,) * 7)
    shown = render_report(explain.faithfulness(named, 0), named, replace(SUBJECT, title=NASTY, checkpoint=NASTY))
    assert "<b onmouseover" not in shown and shown.count(escape(NASTY)) >= 3


def test_two_levels_offer_all_looks_up_to_twelve_three_those_of_the_trained_budget(trace: tn.Trace) -> None:
    assert select_looks(trace) == tuple(range(9)) and choose_look_count(trace) == 8
    deep = tn.traverse(tiny(TINY_3L), picture(seed=3), budget=(4, 3))
    within = deep.select(budget=(2, 2))
    assert select_looks(deep) == within and len(within) == 6 == choose_look_count(deep)
    assert [look.parent for look in deep.only(select_looks(deep)).locations] == [None, None, 0, 0, 1, 1]
    shallow = tn.traverse(tiny(replace(TINY_3L, budget=(1, 0))), picture(seed=3), budget=(4, 3))
    assert select_looks(shallow) == tuple(range(12))
    short_run = tn.traverse(tiny(), picture(), budget=(1,))
    assert select_looks(short_run) == (0,)


@pytest.mark.parametrize("looks", [2, 6])
def test_looks_inside_looks_keep_their_names(looks: int) -> None:
    deep = tn.traverse(tiny(TINY_3L), picture(seed=3), budget=(4, 3))
    kept = deep.only(select_looks(deep)[:looks])
    shown = render_report(explain.faithfulness(kept, 0), kept, SUBJECT)
    names = re.findall(r'<th scope="row">(look [\d.]+)', shown)
    assert names == ["look 1", "look 2", "look 1.1", "look 1.2", "look 2.1", "look 2.2"][:looks]
