"""The tab 'Compare' as a visitor sees it: its numbers are those of the core, its sliders ask nothing of the server."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, Request, expect

import tests.support.models as models
import tnet_core as tn
from pages.limits import largest_budget
from tests.browser.conftest import ROOT, copy_of_the_project, running, visitor
from tests.browser.reading import attributes, beyond, contrasts, in_both_themes, titles
from tests.support.checkpoints import CONFIG, NAMES, entry_fields, save_birds, write_registry
from tnet_core import compare
from tools.queue_client import QueueClient
from viz.common.text import (
    format_class_name,
    format_fixed,
    format_number,
    format_percent,
    format_signed,
    list_look_names,
)
from viz.examples import draw_picture, list_pictures_of_kind

Visit = Callable[..., Page]
Sides = tuple[tn.Trace, tn.Trace]
DEEP = replace(models.TINY_3L, num_classes=3)
COUSINS = ("robin", "wren", "kite")
NUTHATCH = ROOT / "examples" / "nuthatch.jpg"
SETTLED = ".compare:not([data-shown=nothing]):not([aria-busy])"
PATHS = "boxes => boxes.map(box => box.dataset.path)"
TEXTS = "#compare :is(h2, h3, p, dt, dd b, dd small, li span, li b, th, td, label span, label, button, text)"


@dataclass(frozen=True)
class Stocked:
    """A running app with checkpoints, and what they are."""

    address: str
    birds: tn.TNet
    cousins: tn.TNet
    deep: tn.TNet


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stocked]:
    folder = copy_of_the_project(tmp_path_factory.mktemp("compared"))
    birds, cousins, deep = (folder / "checkpoints" / name for name in ("birds", "birds-cousins", "deep"))
    save_birds(birds)
    told = {"dataset": "Garden birds"}
    tn.save(models.tiny(CONFIG, seed=2), cousins, class_names=COUSINS, provenance=told)
    tn.save(models.tiny(DEEP), deep, class_names=("hook", "ring", "star"), provenance=told)
    offered = [("birds", "Birds of the garden", birds), ("deep", "Three levels", deep), ("birds-2", "Cousins", cousins)]
    write_registry(
        folder / "checkpoints.yaml",
        *(
            entry_fields(place, id=spec, title=title, source={"folder": f"checkpoints/{place.name}"})
            for spec, title, place in offered
        ),
    )
    with running(folder, folder / "log.txt", TNET_CACHE=str(folder / "cache")) as address:
        yield Stocked(address, *(tn.load(place, device="cpu") for place in (birds, cousins, deep)))


@pytest.fixture
def visit_stocked(stocked: Stocked, browser: BrowserContext, requests: list[Request]) -> Iterator[Visit]:
    with visitor(stocked.address, browser, requests) as open_page:
        yield open_page


def open_tab(page: Page) -> None:
    page.get_by_role("tab", name="Compare", exact=True).click()
    page.wait_for_selector(SETTLED)


def choose(page: Page, side: str, option: str) -> None:
    page.locator(f".compare-side[data-side={side}] select").select_option(option)
    page.wait_for_selector(SETTLED)


def compare_by(page: Page, mode: str) -> None:
    page.check(f"[name=compare-mode][value={mode}]")
    page.wait_for_selector(f".compare[data-shown={mode}]:not([aria-busy])")


def column(side: str, rest: str) -> str:
    return f".compare-column[data-side={side}] {rest}"


def numbers(page: Page, selector: str, name: str) -> list[float | None]:
    texts = [element.get_attribute(name) or "null" for element in page.locator(selector).all()]
    return [None if text == "null" else float(text) for text in texts]


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-4, atol=2e-4)


def line(page: Page, place: str, name: str) -> list[float]:
    text = page.locator(f"{place} [data-line={name}]").get_attribute("data-values")
    return [float(value) for value in (text or "").split()]


def assert_compares(page: Page, sides: Sides, budget: tuple[int, ...], names: tuple[str, str] | None = None) -> None:
    """Boxes, decisions, curves, overlaps, correlations and ledger on the page are those of the core."""
    a, b = sides
    looks = (compare.select_within(a, budget), compare.select_within(b, budget))
    for side, trace, chosen in zip("ab", sides, looks, strict=True):
        expect(page.locator(column(side, ".tn-box:visible"))).to_have_count(len(chosen))
        shown = page.locator(column(side, ".tn-box:visible b")).all_text_contents()
        assert shown == [list_look_names(trace)[look] for look in chosen]
        logits, shares = trace.logits(subset=chosen), trace.probabilities(subset=chosen)
        order = np.argsort(-logits, kind="stable")[:5]
        bars = f".compare-decision[data-side={side}] .tn-classes"
        expect(page.locator(f"{bars} li").first).to_contain_text(format_class_name(trace, int(order[0])))
        assert page.locator(f"{bars} b").all_text_contents() == [format_percent(float(shares[cls])) for cls in order]
        close([float(text.removeprefix("logit ")) for text in titles(page, f"{bars} li")], logits[order])
    assert_alike(page, sides, looks)
    common = compare.common_classes(*sides)
    if names is None:
        cls = next(both for both in common if both[0] == int(a.logits(subset=looks[0]).argmax()))
    else:
        cls = (a.class_index(names[0]), b.class_index(names[1]))
    for side, other in (("a", "b"), ("b", "a")):
        for which in (side, other):
            trace, target = (a, cls[0]) if which == "a" else (b, cls[1])
            course = [
                trace.probabilities(subset=compare.select_within(trace, (k, *budget[1:])))[target]
                for k in range(trace.budget[0] + 1)
            ]
            close(line(page, f".compare-decision[data-side={side}]", which), course)
    assert_difference(page, sides, looks, cls)


def assert_alike(page: Page, sides: Sides, looks: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    found = compare.overlap(*sides, *looks)
    assert numbers(page, "[data-cells]", "data-cells") == list(found.cells.values())
    areas = numbers(page, "[data-area]", "data-area")
    assert areas == [share and pytest.approx(share) for share in found.area.values()]
    said = page.locator("[data-area]").all_text_contents()
    assert said == ["no looks to compare" if share is None else format_percent(share) for share in found.area.values()]
    if compare.same_grid(*sides):
        close(line(page, ".compare-alike", "agreement"), compare.agreement(*sides))
    kept = sides[0].source == sides[1].source and compare.same_image(*sides)
    for name, value in (("order", compare.order_correlation(*sides)), ("scores", compare.score_correlation(*sides))):
        shown = 0 if value is None or (kept and name == "scores") else 1
        expect(page.locator(f"[data-{name}-spearman]")).to_have_count(shown)
        if shown and value is not None:
            assert attributes(page, f"[data-{name}-spearman]", f"data-{name}-spearman") == [value.spearman]
            assert attributes(page, f"[data-{name}-kendall]", f"data-{name}-kendall") == [value.kendall]
            expect(page.locator(f"[data-{name}-kendall]")).to_have_text(format_number(value.kendall))


def assert_difference(
    page: Page, sides: Sides, looks: tuple[tuple[int, ...], tuple[int, ...]], cls: tuple[int, int]
) -> None:
    ledger = compare.ledger_difference(*sides, cls, *looks)
    table = "#compare .compare-difference"
    expect(page.locator(f"{table} tbody tr")).to_have_count(len(ledger.rows))
    close(attributes(page, f"{table} [data-a]", "data-a"), [row.left for row in ledger.rows if row.left is not None])
    close(attributes(page, f"{table} [data-b]", "data-b"), [row.right for row in ledger.rows if row.right is not None])
    differences = attributes(page, f"{table} [data-difference]", "data-difference")
    close(differences, [row.difference for row in ledger.rows])
    (bias,), (total,) = (attributes(page, f"{table} [{name}]", name) for name in ("data-bias", "data-total"))
    close([bias, total], [ledger.bias[1] - ledger.bias[0], ledger.total])
    assert sum(differences) + bias == pytest.approx(total, abs=1e-5)
    a, b = sides
    names = []
    for row in ledger.rows:
        called = [("A", list_look_names(a), row.a), ("B", list_look_names(b), row.b)]
        names.append(
            ", ".join(f"{side} {named[look]}" for side, named, look in called if look is not None) or "context"
        )
    assert page.locator(f"{table} tbody th").all_text_contents() == names
    assert page.locator(f"{table} [data-total]").text_content() in (format_fixed(total), f"+{format_fixed(total)}")
    assert page.locator(f"{table} [data-difference]").all_text_contents() == [
        format_signed(value) for value in differences
    ]


def test_the_networks_looks_are_set_against_others_of_the_same_picture(
    visit: Visit, model: tn.TNet, reference: tn.Trace, requests: list[Request]
) -> None:
    page = visit()
    open_tab(page)
    sides = (reference, tn.traverse(model, draw_picture(0), budget=(25,), policy="random:0"))
    opening = reference.config.budget
    assert_compares(page, sides, opening)
    boxes = [page.locator(column(side, ".tn-box:visible")).evaluate_all(PATHS) for side in "ab"]
    assert boxes[0] != boxes[1]  # two sides that look alike would say nothing
    expect(page.locator(".compare .tn-tint.tn-off")).to_have_count(2)  # photographs as they are
    expect(page.locator("[data-level='0']")).to_have_attribute("aria-valuetext", f"{opening[0]} of 25 looks")
    expect(page.locator(".compare-constant")).to_contain_text("looking at Harbour at dusk")
    expect(page.locator("[name=compare-mode][value=checkpoints]")).to_be_disabled()  # there is only one

    # the sliders and the class ask nothing of the server
    before = len(requests)
    page.focus(".compare-sliders [data-level='0']")
    page.keyboard.press("ArrowRight")
    assert_compares(page, sides, (opening[0] + 1,))
    page.keyboard.press("Home")
    assert_compares(page, sides, (0,))
    page.keyboard.press("End")
    assert_compares(page, sides, (25,))
    page.focus("[data-choose=class]")
    page.locator("[data-choose=class]").select_option("17")
    ledger = compare.ledger_difference(*sides, (17, 17), range(25), range(25))
    close(attributes(page, "#compare [data-total]", "data-total"), [ledger.total])
    page.check("#compare .tn-spot input")
    expect(page.locator(column("a", ".tn-tint:not(.tn-off)"))).to_have_count(1)
    assert len(requests) == before

    page.locator(".compare-sliders [data-level='0']").fill("3")
    choose(page, "b", "random")
    page.fill(".compare-side[data-side=b] .compare-seed input", "7")
    page.keyboard.press("Tab")
    expect(page.locator(column("b", "h2"))).to_contain_text("seed 7")
    assert_compares(page, (reference, tn.traverse(model, draw_picture(0), budget=(25,), policy="random:7")), (3,))
    page.fill(".compare-side[data-side=b] .compare-seed input", "-4")
    page.keyboard.press("Tab")
    expect(page.locator("#compare .tn-sentence")).to_have_text("The seed is -4, but must lie in 0…999999999.")
    expect(page.locator(column("b", "h2"))).to_contain_text("seed 7")  # what is shown stays


def test_cells_of_your_own_and_looks_chosen_in_explore(visit: Visit, model: tn.TNet, reference: tn.Trace) -> None:
    page = visit()
    open_tab(page)
    choose(page, "b", "own")
    expect(page.locator(".compare-hint")).to_contain_text("Click cells of picture B")
    expect(page.locator(column("b", ".tn-box"))).to_have_count(0)
    for cell in (12, 3):
        page.click(column("b", f"[data-cell='{cell}']"))
        expect(page.locator(column("b", f"[data-cell='{cell}']"))).to_have_attribute("aria-pressed", "true")
    assert_compares(page, (reference, tn.traverse(model, draw_picture(0), budget=(2,), policy=[12, 3])), (2,))
    page.focus(column("b", "[data-cell='3']"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(column("b", ".tn-box:visible"))).to_have_count(3)
    expect(page.locator(column("b", "[data-cell='8']"))).to_be_focused()
    page.click(column("b", "[data-cell='12']"))
    expect(page.locator(column("b", ".tn-box:visible"))).to_have_count(2)
    assert_compares(page, (reference, tn.traverse(model, draw_picture(0), budget=(2,), policy=[3, 8])), (2,))
    page.click(".compare-side[data-side=b] .compare-clear")
    expect(page.locator(column("b", ".tn-box"))).to_have_count(0)
    expect(page.locator(".compare-alike .tn-caption")).to_contain_text("One side takes no look")

    # looks by hand in Explore: removed and added there, compared here
    assert page.locator(".compare-side[data-side=a] option[value=hand]").is_disabled()
    page.get_by_role("tab", name="Explore").click()
    gone, added = reference.locations[0].index, reference.locations[9].index
    expect(page.locator("#explore-stage .tn-box:visible")).to_have_count(reference.config.budget[0])
    page.click(f".tn-tint [data-cell='{gone}']")
    page.click(f".tn-tint [data-cell='{added}']")
    kept = [*range(1, reference.config.budget[0]), 9]
    expect(page.locator("#explore-stage .tn-steered")).to_contain_text("Your looks")
    expect(page.locator("#explore-stage .tn-box:visible")).to_have_count(len(kept))
    open_tab(page)
    choose(page, "b", "centre")
    choose(page, "a", "hand")
    expect(page.locator(column("a", "h2"))).to_contain_text("your looks in Explore")
    cells = [reference.locations[look].index for look in kept]
    mine = tn.traverse(model, draw_picture(0), budget=(len(kept),), policy=cells)
    assert_compares(page, (mine, tn.traverse(model, draw_picture(0), budget=(25,), policy="centre")), (len(kept),))

    # another picture in Explore is another picture here
    page.get_by_role("tab", name="Explore").click()
    page.click("[data-example='1']")
    expect(page.locator("#explore-stage figcaption")).to_contain_text("Farmland")
    open_tab(page)
    expect(page.locator(".compare-constant")).to_contain_text("looking at Farmland")
    again = tn.traverse(model, draw_picture(1), budget=(25,))
    assert_compares(page, (again, tn.traverse(model, draw_picture(1), budget=(25,), policy="centre")), (len(kept),))


def test_checkpoints_are_compared_for_the_classes_they_share(visit_stocked: Visit, stocked: Stocked) -> None:
    page = visit_stocked()
    open_tab(page)
    compare_by(page, "checkpoints")  # the one of the most similar name
    a, b = (tn.traverse(checkpoint, NUTHATCH, budget=(9,)) for checkpoint in (stocked.birds, stocked.cousins))
    expect(page.locator(column("b", "h2"))).to_contain_text("Cousins")
    assert (a.class_names, b.class_names) == (NAMES, COUSINS)
    page.locator(".compare-sliders [data-level='0']").fill("4")
    page.focus("[data-choose=class]")
    options = page.locator("[data-choose=class] optgroup[label*=common] option")
    assert options.all_text_contents() == ["robin", "wren"]  # no great tit, no kite
    page.locator("[data-choose=class]").select_option(label="robin")
    assert_compares(page, (a, b), (4,), ("robin", "robin"))
    expect(page.locator(".compare-difference .tn-caption")).to_contain_text("no common scale")

    # three levels: a slider each, and no class in common
    choose(page, "b", "deep")
    expect(page.locator(".compare-sliders [data-level]")).to_have_count(2)
    deep = tn.traverse(stocked.deep, NUTHATCH, budget=largest_budget(DEEP))
    expect(page.locator(".compare-none")).to_contain_text("have no class in common (3 and 3 classes")
    expect(page.locator(".compare-table")).not_to_be_visible()
    for budget in ((2, 2), (3, 1)):
        for level, looks in enumerate(budget):
            page.locator(f".compare-sliders [data-level='{level}']").fill(str(looks))
        looks_now = (compare.select_within(a, budget), compare.select_within(deep, budget))
        expect(page.locator(column("b", ".tn-box:visible"))).to_have_count(len(looks_now[1]))
        assert_alike(page, (a, deep), looks_now)
    choose(page, "a", "deep")
    expect(page.locator(".compare-table")).to_be_visible()
    assert_compares(page, (deep, deep), (3, 1))
    assert set(numbers(page, "[data-cells]", "data-cells")) == {1.0}


def test_pictures_are_compared_by_position_and_can_be_uploaded(
    visit_stocked: Visit, stocked: Stocked, tmp_path: Path
) -> None:
    page = visit_stocked()
    open_tab(page)
    compare_by(page, "pictures")
    file = tmp_path / "<b>mine.png"
    file.write_bytes(encode_picture(8))
    page.set_input_files("#compare-bring input[type=file]", file)
    expect(page.locator(column("b", "h2"))).to_contain_text("mine.png")
    page.wait_for_selector(SETTLED)
    a, b = (tn.traverse(stocked.birds, place, budget=(9,)) for place in (NUTHATCH, file))
    assert_compares(page, (a, b), (3,))
    expect(page.locator(".compare-alike .tn-head p")).to_contain_text("compares positions in the picture")
    assert page.locator("#compare figcaption b, #compare h2 b b").count() == 0
    (tmp_path / "broken.png").write_bytes(b"no picture")
    page.set_input_files("#compare-bring input[type=file]", tmp_path / "broken.png")
    expect(page.locator("#compare .tn-sentence")).to_contain_text("broken.png")
    assert_compares(page, (a, b), (3,))


def encode_picture(seed: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(models.picture(90, 120, seed=seed)).save(buffer, "PNG")
    return buffer.getvalue()


def test_three_levels_are_compared_by_policy_too(visit_stocked: Visit, stocked: Stocked) -> None:
    page = visit_stocked()
    page.click("#explore-chooser input")
    page.get_by_role("option", name="Three levels").click()
    expect(page.locator(".tn-budgets")).to_be_visible()
    open_tab(page)
    first = ROOT / "examples" / list_pictures_of_kind("bird")[0].file
    sides = tuple(
        tn.traverse(stocked.deep, first, budget=largest_budget(DEEP), policy=p) for p in ("learned", "random:0")
    )
    assert_compares(page, (sides[0], sides[1]), (2, 2))
    assert page.locator(".compare-side[data-side=a] option[value=own]").count() == 0


def test_nothing_is_cut_off_on_a_telephone_and_all_is_readable(visit: Visit) -> None:
    page = visit(width=390, height=844)
    open_tab(page)
    choose(page, "a", "random")
    choose(page, "b", "own")
    page.click(column("b", "[data-cell='12']"))
    expect(page.locator(column("b", ".tn-box:visible"))).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert beyond(page, 390) == []
    page.locator(".compare-sliders [data-level='0']").fill("25")  # rows with long names and long numbers
    table = page.locator(".compare-difference .tn-scroll")
    assert table.evaluate("element => element.scrollWidth - element.clientWidth") == 0
    a, b = (page.locator(column(side, ".tn-photo")).bounding_box() for side in "ab")
    assert a is not None and b is not None and a["y"] == b["y"] and a["x"] < b["x"]  # side by side here too
    for theme in in_both_themes(page):
        texts = contrasts(page, TEXTS)
        assert len(texts) > 40
        assert {text: round(value, 2) for text, value in texts if value < 4.5} == {}, theme


def test_questions_that_no_page_asks_get_a_sentence(stocked: Stocked) -> None:
    client = QueueClient(stocked.address)
    client.happens("load")
    view = client.component("compare")
    told = json.loads(client.happens("select")[0].outputs[view] or "{}")
    assert told["kind"] == "offer"
    good = {"mode": "policies", "scene": told["scene"], "id": 1, "a": {"policy": "learned"}, "b": {"policy": "centre"}}

    def answer(event: Any) -> dict[str, Any]:
        return json.loads(client.happens("pair", data=event)[0].outputs[client.component("channel")])

    assert answer(good)["kind"] == "pair"
    for change, sentence in (
        ({"b": {"policy": "own", "cells": [9]}}, "A cell named by the policy 'cells' is 9, but must lie in 0…8."),
        ({"b": {"policy": "own", "cells": [1, 1]}}, "The policy 'cells' names a cell twice in one grid."),
        ({"b": {"policy": "own", "cells": "x"}}, "Your own cells must be a list of whole numbers, not 'x'."),
        ({"scene": 0}, "Another picture was opened in Explore meanwhile: open this tab again."),
        ({"mode": "pictures", "a": {"picture": "brought"}, "b": {"picture": "/etc/passwd"}}, "must be a whole number"),
        ({"mode": "checkpoints", "a": {"checkpoint": "../.."}}, "is not offered here"),
    ):
        told = answer(good | change)
        assert told["kind"] == "problem" and sentence in told["sentence"], change
    client.close()
