"""The text around the chart: caption, legend, and the longer explanation of what the numbers are."""

from __future__ import annotations

import html
from collections.abc import Collection

from viz.accuracy.curve_styles import assign_styles, render_swatch
from viz.accuracy.plot_curves import find_drawn_points
from viz.accuracy.selection import Selection
from viz.common.curves import Curve

_DETAILS = (
    (
        "Measured and published numbers are not one experiment",
        "A checkpoint is measured on the images named here, after the training that these weights had. The paper's "
        "numbers come from its own training and test images and are shown as printed. Shapes of curves compare well; "
        "heights between the two kinds do not say which method is better.",
    ),
    (
        "Looks and budgets",
        "A look is one attended location. The slider takes the nearest number of looks that a source has, the smaller "
        "of two, and the table says which. With three levels a budget of 3 × 1 is 3 looks with 1 look inside each: "
        "6 locations.",
    ),
    (
        "Adaptive stopping",
        "Look by look until the network is sure enough: the highest probability, or its lead over the second, exceeds "
        "a threshold. A curve has one point per threshold, at the mean number of looks; it needs no other training.",
    ),
    (
        "Other ways to look",
        "Random, central and always-the-same looks tell what a learned policy must beat; the oracle knows the label "
        "and chooses with hindsight, so it is a limit and no method.",
    ),
    (
        "FLOPs, time and memory",
        "FLOPs are the multiplications of convolutions and dense layers, for both kinds. Published times and memory "
        "are those of batches of 64 images on one Quadro RTX 8000, times measured here those of one decoded image at a "
        "time on the processor its evaluation names: compare within one kind. No time is estimated from FLOPs.",
    ),
    (
        "Coverage, precision and recall",
        "Of the looks at the second level: the share of the image they cover, the share of their area inside the "
        "object's box, and the share of that box they cover. The paper's for ImageNet are on training images.",
    ),
)
_HEADINGS = {"measured": "Measured here", "published": "Published in the paper"}


def render_intro(shown: Selection) -> str:
    """Render the heading and the one caption line of the chart."""
    return (
        f'<div class="accuracy-head"><h2>Accuracy vs locations</h2><p>{html.escape(_format_caption(shown))}</p></div>'
    )


def _format_caption(shown: Selection) -> str:
    measured = [curve for curve in shown.curves if curve.kind == "measured"]
    sentences = []
    if measured:
        places = list(dict.fromkeys(curve.source for curve in measured))
        where = "; ".join(places[:3]) + ("; …" if len(places) > 3 else "")
        sentences.append(f"Filled markers, solid lines: measured here ({where}).")
    if len(measured) < len(shown.curves):
        sentences.append("Hollow markers, dashed lines: printed in the paper, on its own test images.")
    if shown.data.agreement:
        sentences.append("Counted is agreement with the backbone's answer for the whole image: this is no accuracy.")
    points = find_drawn_points(shown)
    if shown.x.name == "locations" and any(curve.is_plain and curve.id in points for curve in shown.curves):
        sentences.append("Classifiers that take no looks are level lines, marked at the right.")
    if shown.x.name == "time" and points:
        sentences.append(_format_times(shown, points))
    return " ".join(sentences) or "Tick the curves to compare."


def _format_times(shown: Selection, points: Collection[str]) -> str:
    """Say whose times are drawn, and which can be compared."""
    drawn = [curve for curve in shown.curves if curve.id in points]
    whose = [
        f"{told} on {'; '.join(found)}"
        for kind, told in (("measured", "one image at a time"), ("published", "the paper's"))
        if (
            found := dict.fromkeys(
                curve.timed_on or "a machine that is not named" for curve in drawn if curve.kind == kind
            )
        )
    ]
    machines = {curve.timed_on for curve in drawn}
    only = " These are different machines: compare times on one of them only." if len(machines) > 1 else ""
    return f"Times: {', '.join(whose)}.{only}"


def render_explanation() -> str:
    """Render the explanation, which is closed until somebody opens it."""
    parts = "".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>" for term, text in _DETAILS)
    summary = "<summary>What these numbers are, and are not</summary>"
    return f'<details class="accuracy-why">{summary}<dl>{parts}</dl></details>'


def render_legend(shown: Selection) -> str:
    """Render the legend as text of the page: it wraps on any screen and says which numbers are whose."""
    found, points = assign_styles(shown.data), find_drawn_points(shown)
    groups = []
    for kind, head in _HEADINGS.items():
        head += _format_machines(shown, kind) if shown.x.name == "time" else ""
        items = "".join(
            _render_legend_item(curve, render_swatch(found[curve.id]), curve.id in points)
            for curve in shown.curves
            if curve.kind == kind
        )
        if items:
            groups.append(f'<div class="accuracy-{kind}"><h3>{head}</h3><ul>{items}</ul></div>')
    # On narrow screens they are far below.
    more = (
        '<button type="button" class="tn-jump accuracy-jump" data-scroll-to="accuracy-curves">'
        "Choose other curves</button>"
    )
    return f'<div class="accuracy-legend">{"".join(groups)}{more}</div>'


def _format_machines(shown: Selection, kind: str) -> str:
    """Return ', on …': whose times they are."""
    found = dict.fromkeys(curve.timed_on for curve in shown.curves if curve.kind == kind and curve.timed_on)
    return f", on {html.escape('; '.join(found))}" if found else ""


def _render_legend_item(curve: Curve, mark: str, is_drawn: bool) -> str:
    name = html.escape(curve.label)
    return (
        f"<li>{mark}<span>{name}</span></li>"
        if is_drawn
        else f'<li class="accuracy-absent"><span>{name}: not stated</span></li>'
    )
