"""The fixed parts of the page and its one-line messages, as escaped HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

from tnet_core import Trace
from viz.numbers import gigaflops, percent
from viz.selection import Shown, chosen

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


def complaints(sentences: Sequence[str]) -> str:
    """What could not be used when the app started; what can be used is on the page."""
    return "".join(f'<p class="tn-notice" role="note">{html.escape(sentence)}</p>' for sentence in sentences)


def summary(trace: Trace, shown: Shown) -> str:
    """Looks, cost and area, with units."""
    looks = chosen(trace, shown)
    cost, everything = trace.cost(subset=looks), trace.cost()
    covered = trace.coverage(subset=looks)
    parts = [
        f"<b>{len(looks)}</b> of {len(trace.locations)} looks",
        f"<b>{gigaflops(cost.flops)}</b> of {gigaflops(everything.flops)}",
        f"boxes cover <b>{percent(covered.get(2, 0.0))}</b> of the picture",
    ]
    if trace.levels > 2:
        parts.append(f"the closest <b>{percent(covered.get(trace.levels, 0.0))}</b>")
    return f'<p class="tn-summary">{"".join(f"<span>{part}</span>" for part in parts)}</p>'
