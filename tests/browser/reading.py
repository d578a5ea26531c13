"""What a page shows: values behind its figures, and its text."""

from __future__ import annotations

from typing import Any

import numpy as np
from playwright.sync_api import Page

import tnet_core as tn


def figure_data(page: Page, panel: str, field: str) -> Any:
    """A field of the first trace of a panel's figure, at full precision."""
    return page.evaluate(f"document.querySelector('#{panel} .js-plotly-plot').data[0].{field}")


def figure_text(page: Page, panel: str) -> list[str]:
    """All text drawn in a panel's figure."""
    return page.locator(f"#{panel} .js-plotly-plot svg text").all_text_contents()


def wait_for_looks(page: Page, k: int) -> None:
    """Until every panel has arrived at budget k."""
    page.wait_for_function(
        """k => document.querySelector('.tn-summary b')?.textContent === String(k)
            && document.querySelectorAll('.tn-box').length === k
            && document.querySelectorAll('.tn-look').length === k + 1
            && document.querySelector('#ledger .js-plotly-plot')?.data?.[0].x.length === k + 1
            && document.querySelector('#grid .js-plotly-plot')?.data?.[0].text.flat()
                 .filter(label => label.startsWith('<b>')).length === k""",
        arg=k,
    )


def assert_shows(page: Page, trace: tn.Trace, k: int) -> None:
    """Boxes, classes, contributions, weights and lift on the page are those of the trace."""
    wait_for_looks(page, k)
    order = np.argsort(-trace.logits(k), kind="stable")[:5]
    predicted = int(order[0])
    close = {"rtol": 1e-4, "atol": 1e-4}
    page.wait_for_function(  # the last figure to be replaced
        "name => document.querySelector('#decision .js-plotly-plot').textContent.includes(name)",
        arg=f"class {predicted}",
    )
    np.testing.assert_allclose(figure_data(page, "decision", "customdata"), trace.logits(k)[order], **close)
    np.testing.assert_allclose(figure_data(page, "decision", "x"), 100 * trace.probabilities(k)[order], **close)
    np.testing.assert_allclose(figure_data(page, "ledger", "x"), trace.contributions(predicted, k=k).values, **close)
    np.testing.assert_allclose(figure_data(page, "ledger", "customdata"), trace.weights(k), **close)
    np.testing.assert_allclose(figure_data(page, "grid", "customdata"), trace.distributions[0].lift, **close)
    names = [f"class {c}" for c in order]
    assert [text for text in figure_text(page, "decision") if text.startswith("class")] == names
    np.testing.assert_allclose(boxes(page), [look.box for look in trace.locations[:k]] or np.zeros((0, 4)), atol=0.004)


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
