"""The fixed parts of the page and its one-line messages, as escaped HTML."""

from __future__ import annotations

import html
from functools import lru_cache

from tnet_core import ImageSource, Trace
from viz.encode import data_uri, preview
from viz.examples import EXAMPLES, picture
from viz.numbers import gigaflops, percent

_THUMBNAIL = 240

MASTHEAD = (
    '<header class="tn-masthead"><h1>TNet Explorer</h1>'
    "<p>Watch a classifier decide where to look, and see what each look was worth.</p></header>"
)

UNTRAINED = (
    '<p class="tn-notice" role="note"><strong>Untrained weights.</strong> This network was initialised at random: '
    "where it looks and what it scores mean nothing yet. The page shows how a decision is put together.</p>"
)

LOADING = '<div class="tn-frame tn-loading" style="--ratio:1.33333"><span>Looking at the first picture…</span></div>'


def heading(title: str, caption: str) -> str:
    """A panel's name and its one caption; both plain text."""
    return f'<div class="tn-head"><h2>{html.escape(title)}</h2><p>{html.escape(caption)}</p></div>'


def problem(sentence: str) -> str:
    """What went wrong, for a screen reader at once; what is on the page stays."""
    return f'<p class="tn-problem" role="alert">{html.escape(sentence)} The picture below is unchanged.</p>'


def summary(trace: Trace, k: int) -> str:
    """Looks, cost and area, with units."""
    cost, everything = trace.cost(k), trace.cost()
    covered = trace.coverage(k).get(2, 0.0)
    parts = [
        f"<b>{k}</b> of {len(trace.locations)} looks",
        f"<b>{gigaflops(cost.flops)}</b> of {gigaflops(everything.flops)}",
        f"boxes cover <b>{percent(covered)}</b> of the picture",
    ]
    return f'<p class="tn-summary">{"".join(f"<span>{part}</span>" for part in parts)}</p>'


def gallery(selected: int | None) -> str:
    """Buttons of the examples; `data-example` is what a click reports."""
    buttons = "".join(
        f'<button type="button" class="tn-example" data-example="{index}" '
        f'aria-pressed="{"true" if index == selected else "false"}">'
        f'<img src="{_thumbnail(index)}" alt=""><span>{html.escape(example.title)}</span></button>'
        for index, example in enumerate(EXAMPLES)
    )
    return f'<div class="tn-gallery" role="group" aria-label="Example pictures">{buttons}</div>'


@lru_cache(maxsize=len(EXAMPLES))
def _thumbnail(index: int) -> str:
    return data_uri(preview(ImageSource.open(picture(index)), _THUMBNAIL), quality=80)
