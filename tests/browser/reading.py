"""What a page shows: values behind its figures, and its text."""

from __future__ import annotations

from typing import Any

import numpy as np
from playwright.sync_api import Page

import tnet_core as tn
from viz.names import class_name
from viz.selection import Shown, chosen, labels


def figure_data(page: Page, panel: str, field: str) -> Any:
    """A field of the first trace of a panel's figure, at full precision."""
    return page.evaluate(f"document.querySelector('#{panel} .js-plotly-plot').data[0].{field}")


def figure_text(page: Page, panel: str) -> list[str]:
    """All text drawn in a panel's figure."""
    return page.locator(f"#{panel} .js-plotly-plot svg text").all_text_contents()


def wait_for_looks(page: Page, k: int, upper: int | None = None) -> None:
    """Until every panel has arrived at k looks, `upper` of them (default: all) in the thumbnail's grid."""
    page.wait_for_function(
        """([k, upper]) => document.querySelector('.tn-summary b')?.textContent === String(k)
            && document.querySelectorAll('.tn-box').length === k
            && document.querySelectorAll('.tn-look').length === k + 1
            && document.querySelector('#ledger .js-plotly-plot')?.data?.[0].x.length === k + 1
            && document.querySelector('#grid .js-plotly-plot')?.data?.[0].text.flat()
                 .filter(label => label.startsWith('<b>')).length === upper""",
        arg=[k, k if upper is None else upper],
    )


def assert_shows(page: Page, trace: tn.Trace, shown: Shown) -> None:
    """Boxes, classes, contributions, weights and lift on the page are those of the trace."""
    subset = chosen(trace, shown)
    wait_for_looks(page, len(subset), sum(trace.locations[p].parent is None for p in subset))
    logits = trace.logits(subset=subset)
    order = np.argsort(-logits, kind="stable")[:5]
    predicted = int(order[0])
    close = {"rtol": 1e-4, "atol": 1e-4}
    names = [class_name(trace, int(c)) for c in order]
    page.wait_for_function(  # the last figure to be replaced
        """([name, logit]) => { const plot = document.querySelector('#decision .js-plotly-plot');
            return plot.textContent.includes(name) && Math.abs(plot.data[0].customdata[0] - logit) < 1e-3; }""",
        arg=[names[0], float(logits[predicted])],
    )
    np.testing.assert_allclose(figure_data(page, "decision", "customdata"), logits[order], **close)
    probabilities = trace.probabilities(subset=subset)
    np.testing.assert_allclose(figure_data(page, "decision", "x"), 100 * probabilities[order], **close)
    shares = trace.contributions(predicted, subset=subset)
    np.testing.assert_allclose(figure_data(page, "ledger", "x"), shares.values, **close)
    np.testing.assert_allclose(figure_data(page, "ledger", "customdata"), trace.weights(subset=subset), **close)
    np.testing.assert_allclose(figure_data(page, "grid", "customdata"), trace.distributions[0].lift, **close)
    assert [text for text in figure_text(page, "decision") if text in names] == names
    np.testing.assert_allclose(boxes(page), [trace.locations[p].box for p in subset] or np.zeros((0, 4)), atol=0.004)
    assert page.locator(".tn-box b").all_text_contents() == [labels(trace)[p] for p in subset]


def boxes(page: Page) -> np.ndarray:
    """Where boxes are really drawn, relative to the picture as it is really drawn: (k, 4) x0, y0, x1, y1."""
    return np.array(
        page.evaluate(
            """() => { const picture = document.querySelector('.tn-picture img').getBoundingClientRect();
              return [...document.querySelectorAll('.tn-box')].map(box => { const r = box.getBoundingClientRect();
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
