"""The four answers of an audit, each one sentence with its interval; 'not established' where that holds zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from viz.audit.data import Audit, ClassLooks, PolicyResults
from viz.common.curves import CurvePoint
from viz.common.evaluation import Estimate
from viz.common.text import (
    format_accuracy,
    format_budget,
    format_flops,
    format_number,
    format_percent,
    format_points,
    format_signed,
)

Write = Callable[[float], str]
MIN_CLASS_IMAGES = 5  # below, a share of a class's images says nothing
NEAR_MIDDLE = 0.5  # centre bias from which first looks count as near the middle: halfway from chance to always there
_USUAL_CONFIDENCE = 0.95  # of a class's interval where the evaluation states none


@dataclass(frozen=True)
class Answer:
    verdict: str  # in a word or two
    sentence: str


NOT_ESTABLISHED = "Not established"


def answer_content(audit: Audit) -> Answer:
    """Answer whether looks follow content, begin near the middle, or both: neither rules out the other."""
    if not audit.moves:
        return Answer("Not measured", "this evaluation has no equivariance scores.")
    score = audit.moves[0].score
    ends = _format_ends(audit, score, format_signed)
    measured = f"score {format_signed(score.value)}{ends}; −1 is position, 1 content"
    bias = None if audit.heat is None else audit.heat.centre_bias.get(1)
    begin = "" if bias is None else f"begin {_describe_bias(bias)} (centre bias {format_number(bias)} of 1)"
    if not score.is_clear:
        also = f"; they {begin}" if begin else ""
        return Answer(NOT_ESTABLISHED, f"whether looks follow content that is moved ({measured}){also}.")
    also = f", and {begin}" if begin else ""
    is_near = bias is not None and bias >= NEAR_MIDDLE
    if score.value > 0:
        verdict = "Both" if is_near else "Content"
        return Answer(verdict, f"looks follow content that is moved ({measured}){also}.")
    verdict = "Centre" if is_near else "Position"
    return Answer(verdict, f"looks stay where they were when content is moved ({measured}){also}.")


def _describe_bias(bias: float) -> str:
    """Say where first looks lie by their centre bias: 1 is always the middle cell, 0 as far from it as chance."""
    if bias >= NEAR_MIDDLE:
        return "near the middle"
    return "nearer to the middle than chance" if bias > 0 else "no nearer to the middle than chance"


def find_choosing(audit: Audit) -> PolicyResults | None:
    """Return the results that the answer is about: of the trained budget, or else of one look."""
    rows = [row for row in audit.budgets if "mean" in row.lost]
    return next((row for row in rows if row.budget == audit.trained), rows[0] if rows else None)


def answer_choosing(audit: Audit) -> Answer:
    """Answer whether looks chosen by the picture are worth more than the same looks for every picture."""
    row = find_choosing(audit)
    if row is None:
        return Answer("Not measured", "this evaluation compares no policies.")
    gain = row.lost["mean"]
    size = f"{format_number(100 * abs(gain.value))} points"
    ends = _format_ends(audit, gain, format_points)
    against = f"than the same looks for every picture{ends}"
    looks = f"with {format_budget(row.budget)}"
    if not gain.is_clear:
        return Answer(
            NOT_ESTABLISHED,
            f"{looks}, choosing by the picture makes {format_points(gain.value)} points of {audit.measure} against the "
            f"same looks for every picture{ends}.",
        )
    if gain.value > 0:
        return Answer("Yes", f"{looks}, choosing by the picture brings {size} more {audit.measure} {against}.")
    return Answer("No", f"{looks}, choosing by the picture brings {size} less {audit.measure} {against}.")


def find_enough(audit: Audit) -> tuple[CurvePoint, CurvePoint] | None:
    """Return the point with the fewest looks that lies in the interval of the best, and the best."""
    points = [point for point in audit.curves.get("learned", ()) if point.top1 is not None]
    best = max(points, key=lambda point: (point.top1 or 0.0, -(point.locations or 0.0)), default=None)
    if best is None or best.top1_interval is None:
        return None
    low = best.top1_interval[0]
    return next(point for point in points if (point.top1 or 0.0) >= low), best


def answer_enough(audit: Audit) -> Answer:
    """Answer how many looks are enough: by the checkpoint's rule where it was measured, else by intervals."""
    stop = audit.stopping
    if stop is not None:
        ends = _format_ends(audit, stop.top1, format_accuracy)
        words = f"{format_number(stop.looks)} looks on average"
        cost = "" if stop.flops is None else f" for {format_flops(stop.flops)}"
        return Answer(
            words,
            f"the recommended rule stops after {stop.least} to {stop.most} looks, once surer than "
            f"{format_percent(stop.threshold)}; top-1 {audit.measure} {format_accuracy(stop.top1.value)}{ends}{cost}.",
        )
    found = find_enough(audit)
    if found is None:
        return Answer(NOT_ESTABLISHED, "this evaluation has no intervals by numbers of looks.")
    few, best = found
    if few is best:
        ends = f"{_format_confidence(audit)} {_format_range(best.top1_interval, format_accuracy)}"
        told = f"fewer do not reach the {ends} of its {format_accuracy(best.top1)}, the best measured."
        return Answer(format_budget(few.budget).capitalize(), f"{told} No stopping rule is recommended.")
    return Answer(
        format_budget(few.budget).capitalize(),
        f"{format_accuracy(few.top1)} lies in the {_format_confidence(audit)} of the best measured, "
        f"{format_budget(best.budget)} ({format_accuracy(best.top1)}, "
        f"{_format_range(best.top1_interval, format_accuracy)}). "
        "No stopping rule is recommended.",
    )


def list_counted(audit: Audit) -> list[ClassLooks]:
    """Return the classes with enough images to speak of a share, worst first."""
    classes = () if audit.heat is None else audit.heat.classes
    enough = [entry for entry in classes if entry.top1 is not None and entry.where.images >= MIN_CLASS_IMAGES]
    return sorted(enough, key=lambda entry: (entry.top1 or 0.0, -entry.where.images, entry.name))


def compute_share_interval(share: float, images: int, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of so many images."""
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    middle = (share + z2 / (2 * images)) / (1 + z2 / images)
    half = math.sqrt(z2 * (share * (1 - share) / images + z2 / (4 * images**2))) / (1 + z2 / images)
    return max(0.0, middle - half), min(1.0, middle + half)


def answer_classes(audit: Audit) -> Answer:
    """Answer which classes fail: those whose interval lies below what all images reach."""
    counted = list_counted(audit)
    if audit.heat is None or not audit.heat.classes:
        return Answer("Not measured", "this evaluation has no numbers of single classes.")
    if not counted:
        few = f"no class has {MIN_CLASS_IMAGES} images, too few to tell."
        return Answer(NOT_ESTABLISHED, few)
    overall = next((row.top1["learned"] for row in audit.budgets if row.budget == audit.trained), None)
    confidence = audit.confidence or _USUAL_CONFIDENCE
    intervals = {e.name: compute_share_interval(e.top1 or 0.0, e.where.images, confidence) for e in counted}
    worst, right = counted[0], "agree" if audit.agreement else "right"
    told = (
        f"{worst.name} is worst of those with at least {MIN_CLASS_IMAGES} images: {format_counted(worst, worst.top1)} "
        f"{right} ({_format_confidence(audit)} {_format_range(intervals[worst.name], format_percent)})"
    )
    if overall is None:
        return Answer(NOT_ESTABLISHED, f"{told}.")
    below = [entry for entry in counted if intervals[entry.name][1] < overall]
    if not below:
        return Answer(NOT_ESTABLISHED, f"{told}, which holds the {format_accuracy(overall)} of all images.")
    return Answer(
        f"{len(below)} of {len(counted)} classes", f"{told}, below the {format_accuracy(overall)} of all images."
    )


def format_counted(entry: ClassLooks, share: float | None) -> str:
    """Return '9 of 12': how many of a class's images are right."""
    return "" if share is None else f"{round(share * entry.where.images)} of {entry.where.images}"


def _format_confidence(audit: Audit) -> str:
    return "interval" if audit.confidence is None else f"{format_number(100 * audit.confidence)} % interval"


def _format_ends(audit: Audit, estimate: Estimate, write: Write) -> str:
    """Return ', 95 % interval 1.0 to 5.0'; empty where none is stated."""
    return (
        "" if estimate.interval is None else f", {_format_confidence(audit)} {_format_range(estimate.interval, write)}"
    )


def _format_range(ends: tuple[float, float] | None, write: Write) -> str:
    return "" if ends is None else f"{write(ends[0])} to {write(ends[1])}"
