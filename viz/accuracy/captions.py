"""What the tab shows and what it does not: plain text, and the longer explanation behind 'why?'."""

from __future__ import annotations

import html
from collections.abc import Collection

from viz.accuracy.selection import Selection
from viz.accuracy.traces import drawn

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


def intro(shown: Selection) -> str:
    """HTML: heading and the one caption line of the chart."""
    return f'<div class="tnc-head"><h2>Accuracy vs locations</h2><p>{html.escape(_caption(shown))}</p></div>'


def _caption(shown: Selection) -> str:
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
    points = drawn(shown)
    if shown.x.name == "locations" and any(curve.plain and curve.id in points for curve in shown.curves):
        sentences.append("Classifiers that take no looks are level lines, marked at the right.")
    if shown.x.name == "time" and points:
        sentences.append(_timed(shown, points))
    return " ".join(sentences) or "Tick the curves to compare."


def _timed(shown: Selection, points: Collection[str]) -> str:
    """Whose times are drawn, and which can be compared."""
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


def explanation() -> str:
    """HTML: closed until asked for."""
    parts = "".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>" for term, text in _DETAILS)
    return f'<details class="tnc-why"><summary>What these numbers are, and are not</summary><dl>{parts}</dl></details>'
