"""The browser's arithmetic and its numbers as text, module by module, against what Python computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

import tnet_core as tn
from tests.support.golden import FLOPS, NUMBERS, build_golden_scene, build_golden_texts
from tests.support.models import TINY, TINY_3L, picture, tiny
from tnet_core import explain
from viz.web.join import ENTRY, read_modules
from viz.web.modules import build_address, build_sent_modules, build_web_head

CLOSE: dict[str, Any] = {"rtol": 2e-5, "atol": 2e-6}  # weights and projections travel as float32
DERIVE = """async ({ sent, budgets, cases }) => {
  const core = await import("/core/scene.js");
  const scene = core.openScene(sent);
  return {
    budgets: budgets.map(([budget]) => core.withinBudget(scene, budget)),
    cases: cases.map(({ looks, cls, versus }) => {
      const weights = core.weightsOf(scene, looks);
      const logits = core.logitsOf(scene, looks, weights);
      const share = core.probabilitiesOf(scene, logits);
      const { values, bias, total } = core.sharesOf(scene, looks, weights, cls, versus);
      const without = core.leaveOneOut(scene, looks, cls, versus);
      const left = measure => without.map(rest => rest && rest[measure]);
      return {
        weights: [...weights], logits: [...logits], probabilities: [...share], top: core.topClasses(share, 5),
        shares: values, bias, total, without: { probability: left("probability"), logit: left("logit") },
        flops: core.flopsOf(scene, looks),
      };
    }),
  };
}"""


@pytest.fixture(scope="module")
def page(browser: BrowserContext) -> Iterator[Page]:
    """An empty page that can import every module, without a server."""

    def answer(route: Route) -> None:
        text = read_modules().get(route.request.url.removeprefix("http://localhost/"))
        if text is None:
            route.fulfill(body="<!doctype html>", content_type="text/html")
        else:
            route.fulfill(body=text, content_type="text/javascript")

    opened = browser.new_page()
    opened.route("http://localhost/**", answer)
    opened.goto("http://localhost/")
    yield opened
    opened.close()


@pytest.mark.parametrize("temperature", [None, 0.6])
@pytest.mark.parametrize(
    ("config", "budget", "by_hand"),
    [(TINY, (4,), (3, 1, 0)), (TINY_3L, (2, 2), (3, 0, 4))],
    ids=["two levels", "three levels"],
)
def test_a_scene_is_weighed_summed_and_left_out_as_in_python(
    page: Page, config: tn.TNetConfig, budget: tuple[int, ...], by_hand: tuple[int, ...], temperature: float | None
) -> None:
    trace = replace(tn.traverse(tiny(config), picture(seed=3), budget=budget), temperature=temperature)
    golden = build_golden_scene(trace, picture(seed=3), by_hand)
    found = page.evaluate(DERIVE, golden)
    assert found["budgets"] == [looks for _, looks in golden["budgets"]]
    assert len(golden["cases"]) > 8
    for case, derived in zip(golden["cases"], found["cases"], strict=True):
        assert derived["top"] == case["top"]
        for name in ("weights", "logits", "probabilities", "shares", "bias", "total", "flops"):
            np.testing.assert_allclose(derived[name], case[name], **CLOSE, err_msg=f"{name} of {case['looks']}")
        for measure, expected in case["without"].items():
            mine = derived["without"][measure]
            assert [value is None for value in mine] == [value is None for value in expected]
            known = [(a, b) for a, b in zip(mine, expected, strict=True) if b is not None]
            np.testing.assert_allclose(*zip(*known, strict=True) if known else ([], []), **CLOSE)


def test_the_page_stops_where_the_recommended_rule_does(page: Page) -> None:
    whole = replace(tn.traverse(tiny(TINY), picture(seed=3), (9,)), temperature=0.5)
    highest = [whole.probabilities(k).max() for k in range(10)]
    middle = float(np.median(highest))
    rules = [(0, 9, middle), (1, 3, middle), (2, 4, 1.0), (1, 9, max(highest[1:]) - 1e-6), (3, 3, 0.0), (1, 3, 0.0)]
    for rule in (tn.StoppingRule(*numbers) for numbers in rules):
        trace = replace(whole, recommended=rule)
        sent = build_golden_scene(trace, picture(seed=3), (0,))["sent"]
        assert sent["rule"] == {"least": rule.least, "most": rule.most, "threshold": rule.threshold}
        found = page.evaluate(
            """async sent => {
            const { openScene, sayCalibrated } = await import("/core/scene.js");
            const { followNetwork, openState, stopAt, viewOf } = await import("/explore/state.js");
            const { drawCurve } = await import("/explore/panels.js");
            const stage = document.createElement("div");
            stage.innerHTML = '<div class="tn-course"><div class="tn-head"><p></p></div></div>' +
              '<div class="tn-plot"></div>' +
              '<label class="tn-threshold"><select><option value="rule" hidden disabled></option>' +
              '<option value="0.3"></option></select></label>';
            const state = openState(openScene(sent), null, false);
            followNetwork(state, 9);
            const own = stopAt(state);
            drawCurve(stage, viewOf(state));
            const shown = [stage.querySelector("select").value, stage.querySelector("p").textContent];
            state.threshold = 0.3;
            return [own, stopAt(state), sayCalibrated(state.scene), ...shown]; }""",
            sent,
        )
        lead = explain.adaptive_stop(trace, 0.3)
        assert found[:2] == [explain.adaptive_stop(trace, rule).k, lead.k if lead.reached else None]
        assert "right as often as they say" in found[2]
        assert found[3] == "rule" and "By the recommended rule the network would stop" in found[4]


def test_a_softmax_neither_overflows_nor_loses_a_tie(page: Page) -> None:
    given = [[1000.0, 999.0, -1000.0], [0.0, 0.0], [-5.0], [1e-9, 0.0, 3.25, -2.5]]
    found = page.evaluate(
        """async given => { const { softmax, topClasses } = await import("/core/scene.js");
        return given.map(logits => [[...softmax(logits)], topClasses(softmax(logits), 2)]); }""",
        given,
    )
    for logits, (shares, top) in zip(given, found, strict=True):
        powers = np.exp(np.array(logits) - max(logits))
        np.testing.assert_allclose(shares, powers / powers.sum(), rtol=1e-14)
        assert top == np.argsort(-np.array(logits), kind="stable")[:2].tolist()


def test_numbers_are_written_as_in_python(page: Page) -> None:
    finite = [value for value in NUMBERS if np.isfinite(value)]
    found = page.evaluate(
        """async ([numbers, finite, flops]) => {
        const text = await import("/core/text.js");
        const numeric = numbers.map(value => ({ Infinity, NaN })[value] ?? Number(value));
        const written = Object.fromEntries(
          Object.entries({short: text.short, signed: text.formatSigned, percent: text.percent, times: text.times})
            .map(([name, write]) => [name, numeric.map(write)]));
        return { ...written, fixed: finite.map(text.formatFixed), gigaflops: flops.map(text.gigaflops) };
        }""",
        [[{"inf": "Infinity", "nan": "NaN"}.get(repr(value), repr(value)) for value in NUMBERS], finite, list(FLOPS)],
    )
    for name, texts in build_golden_texts().items():
        assert found[name] == texts, name


def test_a_sum_adds_up_as_written_and_counts_agree_with_their_noun(page: Page) -> None:
    sums = page.evaluate(
        """async given => { const { roundSum } = await import("/core/text.js");
        return given.map(([term, total]) => roundSum(term, total)); }""",
        [[0.005, 7.404], [-0.125, 3.999], [1.1, 1.1], [0.0, -2.675]],
    )
    for written in sums:
        assert round(100 * written["sum"]) + round(100 * written["term"]) == round(100 * written["total"])
    counted = page.evaluate(
        """async () => { const { formatCount } = await import("/core/text.js");
        return [0, 1, 2].map(count => formatCount(count, "look", "looks")); }"""
    )
    assert counted == ["no looks", "1 look", "2 looks"]


def test_boxes_that_overlap_are_covered_once(page: Page) -> None:
    boxes = [[0, 0, 0.5, 0.5], [0.25, 0.25, 0.75, 0.75], [0.9, 0.9, 1, 1]]
    found = page.evaluate("async boxes => (await import('/core/scene.js')).coverage(boxes)", boxes)
    inside = [
        any(x0 <= x < x1 and y0 <= y < y1 for x0, y0, x1, y1 in boxes)
        for x in np.arange(0.0025, 1, 0.005)
        for y in np.arange(0.0025, 1, 0.005)
    ]
    np.testing.assert_allclose(found, np.mean(inside), atol=1e-9)


def test_a_line_is_drawn_where_its_numbers_are(page: Page) -> None:
    values, low, high = [0.25, 1.0, 0.5, 0.0, 0.125], [0.0] * 5, [0.75] * 5
    found = page.evaluate(
        """async ([values, low, high]) => {
        const { LABELLED, SMALL, drawLineChart, readPlace } = await import("/ui/line_chart.js");
        const line = { values, kind: "a", dots: "all", band: [low, high] };
        const chart = drawLineChart(LABELLED, { width: 100, last: 4, lines: [line], label: "<b>", below: "looks" });
        const later = { values: values.slice(2), from: 2, kind: "b" };
        const other = drawLineChart(SMALL, { width: 456, last: 4, at: 9, stop: 1, lines: [later], label: "" });
        document.body.replaceChildren(chart);
        const { left, width } = chart.getBoundingClientRect();
        const read = (drawing, tag, name) => [...drawing.querySelectorAll(tag)].map(e => e.getAttribute(name));
        return {
          points: read(chart, "polyline", "points")[0], band: read(chart, "polygon", "points")[0],
          titles: [...chart.querySelectorAll("circle title")].map(e => e.textContent), label: chart.ariaLabel,
          ticks: [...chart.querySelectorAll("text")].map(e => e.textContent),
          later: read(other, "polyline", "points")[0], here: read(other, "circle", "cx").map(Number),
          stop: Number(read(other, ".tn-stop", "x1")[0]),
          places: [0, 0.4, 0.5, 1].map(share => readPlace(chart, LABELLED, 4, left + share * width)),
        }; }""",
        [values, low, high],
    )
    points = np.array([[float(n) for n in point.split(",")] for point in found["points"].split()])
    np.testing.assert_allclose(points[:, 0], np.linspace(42, 370, 5), atol=0.06)
    np.testing.assert_allclose((174 - points[:, 1]) / 166, values, atol=1e-3)
    assert len(found["band"].split()) == 10 and found["label"] == "<b>"
    assert found["titles"] == [f"{k}: {share}\N{NO-BREAK SPACE}%" for k, share in enumerate((25, 100, 50, 0, 13))]
    assert found["ticks"] == ["0 %", "50 %", "100 %", "0", "1", "2", "3", "4", "looks"]
    assert [float(point.split(",")[0]) for point in found["later"].split()] == [244, 344, 444]
    assert (found["here"], found["stop"]) == ([444], 144)  # a line that ends keeps its last value
    assert found["places"] == [0, 1, 2, 4]


def test_code_that_cannot_be_loaded_is_said_once_on_the_page(browser: BrowserContext) -> None:
    opened = browser.new_page()
    try:
        text = f"<!doctype html><head>{build_web_head()}</head><body class=gradio-container><p>The page</p>"
        opened.route("http://localhost/**", lambda route: route.fulfill(status=404, body=""))
        opened.route("http://localhost/below/", lambda route: route.fulfill(body=text, content_type="text/html"))
        asked: list[str] = []
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto("http://localhost/below/")
        opened.evaluate("async () => { await TNet('mountExplore'); await TNet('mountCompare'); }")
        assert opened.locator("[role=alert]").all_text_contents() == [
            "A part of this page could not be loaded: check the connection and reload the page."
        ]
        assert f"http://localhost/below/{build_address('main.js')}" in asked  # relative to the page
    finally:
        opened.close()


@pytest.mark.parametrize("function", ["mountCompare", "mountAccuracy", "openLinkedStep", "saveChart"])
def test_code_that_is_loaded_later_and_cannot_be_is_said_too(browser: BrowserContext, function: str) -> None:
    opened, entry = browser.new_page(), f"http://localhost/{build_address(ENTRY)}"
    try:
        text = f"<!doctype html><head>{build_web_head()}</head><body class=gradio-container><p>The page</p>"
        opened.route("http://localhost/**", lambda route: route.fulfill(status=404, body=""))
        opened.route("http://localhost/", lambda route: route.fulfill(body=text, content_type="text/html"))
        code = build_sent_modules()[ENTRY]
        opened.route(entry, lambda route: route.fulfill(body=code, content_type="text/javascript"))
        opened.goto("http://localhost/")
        opened.evaluate(f"async () => TNet('{function}', document.body, document.body)")
        expect(opened.locator("[role=alert]")).to_have_text(
            "A part of this page could not be loaded: check the connection and reload the page."
        )
    finally:
        opened.close()
