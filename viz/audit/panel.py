"""The frame of every panel, and how signed estimates are drawn in it."""

from __future__ import annotations

import html

from viz.audit.model import Audit
from viz.common.evaluation import Estimate
from viz.common.numbers import short, signed


def panel(name: str, title: str, caption: str, body: str) -> str:
    """Title and caption are plain text, the body is HTML."""
    head = f'<div class="tna-head"><h2 id="tna-{name}">{html.escape(title)}</h2><p>{html.escape(caption)}</p></div>'
    return f'<section class="tna-panel" data-panel="{name}" aria-labelledby="tna-{name}">{head}{body}</section>'


def missing(sentence: str) -> str:
    """What a file does not have."""
    return f'<p class="tna-missing">{html.escape(sentence)}</p>'


def points(share: float) -> str:
    """'+4.0': a difference of shares in points, one decimal as accuracies have."""
    text = f"{100 * abs(share):.1f}"
    return text if not float(text) else ("+" if share > 0 else "\N{MINUS SIGN}") + text


def points_between(estimate: Estimate) -> str:
    """'−0.5 to +4.0', or nothing."""
    return "" if estimate.interval is None else " to ".join(map(points, estimate.interval))


def percent_between(estimate: Estimate) -> str:
    """'17 to 54 %', or nothing."""
    return "" if estimate.interval is None else " to ".join(short(100 * end) for end in estimate.interval) + " %"


def between(estimate: Estimate) -> str:
    return "" if estimate.interval is None else " to ".join(map(signed, estimate.interval))


def confidence(audit: Audit) -> str:
    """'95 % interval'."""
    return "interval" if audit.confidence is None else f"{short(100 * audit.confidence)} % interval"


def whisker(estimate: Estimate, reach: float) -> str:
    """Value and interval on a scale of ±reach, zero in the middle; grey where the sign is in doubt."""
    low, high = estimate.interval or (estimate.value, estimate.value)
    sign = "" if not estimate.is_clear else " tna-for" if estimate.value > 0 else " tna-against"
    left, right, middle = (50 + 50 * max(-1.0, min(1.0, at / reach)) for at in (low, high, estimate.value))
    return (
        f'<div class="tna-whisker{sign}" aria-hidden="true"><i style="left:{left:.1f}%;width:{right - left:.1f}%"></i>'
        f'<u style="left:{middle:.1f}%"></u></div>'
    )


def reach_of(estimates: list[Estimate]) -> float:
    """The end of a common scale."""
    ends = [abs(end) for e in estimates for end in (e.value, *(e.interval or ()))]
    return max([*ends, 1e-9])
