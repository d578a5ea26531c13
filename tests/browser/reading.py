"""What a page shows: its numbers at full precision, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from playwright.sync_api import Page, expect

import tnet_core as tn
from tnet_core import explain
from viz.common.text import (
    format_class_name,
    format_fixed,
    format_flops,
    format_number,
    format_percent,
    format_signed,
    list_look_names,
)

Versus = int | None | Literal["rival"]  # a class, none, or what the page compares with where nobody chose
Shown = int | tuple[int, ...] | list[int]  # looks in their order, a budget, or positions chosen by hand


def looks_of(trace: tn.Trace, shown: Shown) -> tuple[int, ...]:
    if isinstance(shown, int):
        return trace.select(shown)
    return trace.select(budget=shown) if isinstance(shown, tuple) else trace.select(subset=shown)


def wait_for_looks(page: Page, k: int) -> None:
    expect(page.locator(".tn-box:visible")).to_have_count(k)


def attributes(page: Page, selector: str, name: str) -> list[float]:
    return [float(element.get_attribute(name) or "nan") for element in page.locator(selector).all()]


def find_rival(trace: tn.Trace, looks: Sequence[int], cls: int) -> int:
    """What the thumbnail alone says, or where that is the class itself, the best other class."""
    best = [int(trace.logits(subset=()).argmax()), *np.argsort(-trace.logits(subset=looks), kind="stable").tolist()]
    return int(next(other for other in best if other != cls))


def assert_shows(page: Page, trace: tn.Trace, shown: Shown, cls: int | None = None, versus: Versus = "rival") -> None:
    """Boxes, decision, ledger, crops, grids and cost on the page are those of the trace."""
    looks = looks_of(trace, shown)
    called, logits = list_look_names(trace), trace.logits(subset=looks)
    order = np.argsort(-logits, kind="stable")[:5]
    wait_for_looks(page, len(looks))
    first = page.locator(".tn-classes li").first
    expect(first.locator("span")).to_contain_text(format_class_name(trace, int(order[0])))
    # the decision
    close: dict[str, Any] = {"rtol": 1e-4, "atol": 2e-4}
    shown_logits = [float(text.removeprefix("logit ")) for text in titles(page, ".tn-classes li")]
    np.testing.assert_allclose(shown_logits, logits[order], **close)
    probabilities = trace.probabilities(subset=looks)
    assert page.locator(".tn-classes b").all_text_contents() == [format_percent(float(probabilities[c])) for c in order]
    # how the score adds up
    target = int(order[0]) if cls is None else cls
    versus = find_rival(trace, looks, target) if versus == "rival" else versus
    shares, weights = trace.contributions(target, versus, subset=looks), trace.weights(subset=looks)
    np.testing.assert_allclose(attributes(page, "tbody [data-value]", "data-value"), shares.values, **close)
    np.testing.assert_allclose(attributes(page, "tbody [data-weight]", "data-weight"), weights, **close)
    np.testing.assert_allclose(attributes(page, "[data-total]", "data-total"), [shares.total], **close)
    assert page.locator("tbody th").all_text_contents() == ["context", *(f"look {called[p]}" for p in looks)]
    assert page.locator("tbody [data-value]").all_text_contents() == [format_signed(float(v)) for v in shares.values]
    assert page.locator("tbody [data-weight]").all_text_contents() == [format_number(float(w)) for w in weights]
    expect(page.locator("[data-total] b")).to_have_text(format_fixed(shares.total))
    assert_left_out(page, trace, looks, target, versus)
    # where
    drawn = sorted(looks)  # boxes lie in the order of the trace
    np.testing.assert_allclose(boxes(page), [trace.locations[p].box for p in drawn] or np.zeros((0, 4)), atol=0.004)
    assert page.locator(".tn-box:visible b").all_text_contents() == [called[p] for p in drawn]
    assert page.locator(".tn-look:visible").count() == len(looks) + 1
    for p in looks[:2]:
        alone = trace.logits(subset=[p], context=False)
        text = page.locator(f".tn-look[data-look='{p}'] .tn-alone").text_content() or ""
        assert text.startswith(f"alone: {format_class_name(trace, int(alone.argmax()))} ")
    opened = [grid for grid in trace.distributions if grid.parent is None or grid.parent in looks]
    opened.sort(key=lambda grid: [] if grid.parent is None else list(map(int, called[grid.parent].split("."))))
    lifts = [grid.lift.ravel() for grid in opened]  # each grid is followed by those inside it
    np.testing.assert_allclose(
        attributes(page, ".tn-node:visible > .tn-grid [data-lift]", "data-lift"), np.concatenate(lifts), **close
    )
    pressed = page.locator(".tn-node:visible > .tn-grid [aria-pressed=true] b").all_text_contents()
    assert sorted(pressed) == sorted(called[p] for p in looks)
    # what it cost
    cost = page.locator(".tn-cost b").all_text_contents()
    covered = trace.coverage(subset=looks)
    assert cost[:3] == [
        str(len(looks)),
        format_flops(trace.cost(subset=looks).flops),
        format_percent(covered.get(2, 0.0)),
    ]


def assert_left_out(page: Page, trace: tn.Trace, looks: Sequence[int], cls: int, versus: int | None) -> None:
    """The column `without it` is what `explain` computes; one sentence names the look that contradicts its share."""
    measure = page.locator("[data-measure]").input_value()
    assert measure in ("probability", "logit")
    asked: dict[str, Any] = {"measure": measure, "subset": looks}
    left = explain.leave_one_out(trace, cls, versus, **asked)
    cells = page.locator(".tn-ledger tbody .tn-without")
    if not looks:
        assert cells.all_text_contents() == ["\N{EN DASH}"]  # nothing would remain
    else:
        shown = attributes(page, ".tn-ledger tbody [data-without]", "data-without")
        np.testing.assert_allclose(shown, np.array(left.without, dtype=float), rtol=1e-4, atol=2e-4)
    found = explain.sign_disagreements(trace, cls, versus, **asked)
    marked = page.locator(".tn-ledger tbody tr:has(.tn-contrary) th").all_text_contents()
    clear = [one for one in found if abs(one.effect) > 0.011 and abs(one.contribution) > 1e-3]  # beyond rounding
    called = list_look_names(trace)
    names = ["context" if one.look is None else f"look {called[one.look]}" for one in clear]
    assert set(names) <= set(marked) and len(marked) <= len(found)
    sentence = page.locator(".tn-disagree")
    assert sentence.is_hidden() is (not marked)
    if clear:
        text = (sentence.text_content() or "").lower()
        assert f"{names[0]} has a share of {format_signed(clear[0].contribution)}, yet it " in text
        assert ("lowered" if clear[0].contribution > 0 else "raised") in text


def titles(page: Page, selector: str) -> list[str]:
    return [element.get_attribute("title") or "" for element in page.locator(selector).all()]


def boxes(page: Page) -> np.ndarray:
    """Where boxes are really drawn, relative to the picture as it is really drawn: (k, 4) x0, y0, x1, y1."""
    return np.array(
        page.evaluate(
            """() => { const picture = document.querySelector('.tn-photo').getBoundingClientRect();
              const boxes = [...document.querySelectorAll('.tn-box:not([hidden])')];
              return boxes.map(box => { const r = box.getBoundingClientRect();
                return [(r.left - picture.left) / picture.width, (r.top - picture.top) / picture.height,
                        (r.right - picture.left) / picture.width, (r.bottom - picture.top) / picture.height]; }); }"""
        )
    ).reshape(-1, 4)


def contrasts(page: Page, selector: str) -> list[tuple[str, float]]:
    """Text and contrast with the page's ground (WCAG) of all visible texts that match."""
    return page.evaluate(
        """selector => {
          const parse = text => { const n = text.match(/[\\d.]+/g).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
          const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
          const light = rgb => { const [r, g, b] = rgb.map(v => { v /= 255;
            return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const ground = element => { const above = [];
            for (let e = element; e; e = e.parentElement) above.push(parse(getComputedStyle(e).backgroundColor));
            return above.reverse().reduce((below, top) => over(top, below), [255, 255, 255]); };
          return [...document.querySelectorAll(selector)]
            .filter(e => e.textContent.trim() && e.getBoundingClientRect().width > 0)
            .map(e => { const style = getComputedStyle(e), below = ground(e);
              const ink = over(parse(e instanceof SVGElement ? style.fill : style.color), below);
              const [a, b] = [light(ink), light(below)].sort((x, y) => y - x);
              return [e.textContent.trim(), (a + 0.05) / (b + 0.05)]; }); }""",
        selector,
    )


def in_both_themes(page: Page) -> Iterator[str]:
    """Show an open page in light, then in dark, by the class that the theme of an address sets."""
    page.add_style_tag(content="* { transition: none !important; }")
    for theme in ("light", "dark"):
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
        yield theme


def beyond(page: Page, width: int) -> list[str]:
    """Elements that reach outside the page and cannot be scrolled to inside of it.

    Gradio measures its tabs on a copy of one pixel, which nobody sees.
    """
    return page.evaluate(
        """width => { const scrolls = e => e && (e.scrollWidth > e.clientWidth
              && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
          return [...document.querySelectorAll('.gradio-container *')].filter(e => {
             const r = e.getBoundingClientRect();
             return r.width && (r.right > width + 1 || r.left < -1) && !scrolls(e) && !e.closest('.visually-hidden'); })
           .map(e => e.className.baseVal ?? e.className); }""",
        width,
    )
