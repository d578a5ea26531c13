"""The faithfulness report of one picture: does the decision rest on the looks, in the order they were taken?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tnet_core import Trace
from tnet_core.explain import Course, Faithfulness, area
from tnet_core.explain.ablation import differ_in_sign
from viz.common.payload import format_json
from viz.common.templates import render_macro
from viz.common.text import format_class_name, format_number, format_signed, list_look_names


@dataclass(frozen=True)
class ReportSubject:
    """What a report is about."""

    title: str  # of the picture
    checkpoint: str
    picture: str  # a data URI
    label: int | None = None  # class it is known to show


def render_report(found: Faithfulness, trace: Trace, subject: ReportSubject) -> str:
    """Render the report; `trace` has its looks and no others."""
    names = {"about": format_class_name(trace, found.cls), "predicted": format_class_name(trace, trace.prediction)}
    courses = [
        {"name": "insertion", "better": "more is better"}
        | _build_course(found.insertion, found.beaten_by_insertion, "Adding looks", "looks added"),
        {"name": "deletion", "better": "less is better"}
        | _build_course(found.deletion, found.beaten_by_deletion, "Taking looks away", "looks taken away"),
    ]
    shares = _list_shares(found, trace)
    return render_macro(
        "audit/report.html", "report", found, trace, subject, names, courses, _build_enough(found), shares
    )


def render_no_report(sentence: str) -> str:
    """Render why there is none."""
    return render_macro("audit/parts.html", "missing", sentence)


def _build_course(course: Course, beaten: float, title: str, below: str) -> dict[str, Any]:
    """Return the areas under one course, and its lines as `viz/web/audit` draws them."""
    lines = [
        {"kind": "chance", "values": _round(course.random_mean), "band": [_round(end) for end in course.random_band]},
        {"kind": "hindsight", "values": _round(course.oracle)},
        {"kind": "network", "values": _round(course.network), "dots": "all"},
    ]
    return {
        "title": title,
        "areas": (
            ("network", "network's order", float(area(course.network))),
            ("chance", "random orders, mean", float(course.random_areas.mean())),
            ("hindsight", "with hindsight", float(area(course.oracle))),
        ),
        "beaten": round(beaten * len(course.random)),
        "chart": format_json({"label": f"{title}: probability of the class", "below": below, "lines": lines}),
    }


def _build_enough(found: Faithfulness) -> dict[str, str]:
    """Return the lines of sufficiency and of necessity, each with the thumbnail and without it."""
    charts = {
        "sufficiency": (found.sufficiency, found.sufficiency_alone),
        "necessity": (found.necessity, found.necessity_alone),
    }
    return {
        name: format_json(
            {
                "lines": [
                    {"name": "alone", "label": "looks alone", "points": _pair(alone)},
                    {"name": "learned", "label": "with thumbnail", "points": _pair(together)},
                ],
                "gains": [],
                "below": "looks",
                "label": f"{name.capitalize()} by looks",
            }
        )
        for name, (together, alone) in charts.items()
    }


def _pair(values: np.ndarray) -> list[tuple[int, float]]:
    """Return (k, value) from the first look on."""
    return [(k, value) for k, value in enumerate(_round(values)) if k]


def _round(values: np.ndarray) -> list[float]:
    return [round(float(value), 6) for value in values]


def _list_shares(found: Faithfulness, trace: Trace) -> dict[str, Any]:
    """Return a row for the context and each look, the end of their scale, and what their signs say in words."""
    values, shapley = found.contributions.values, [None, *map(float, found.shapley)]
    effects = [found.left_out.context, *found.left_out.looks]
    left = zip(found.left_out_probability.without, found.left_out.without, strict=True)
    heavy = {violation.look for violation in found.violations}
    rows = []
    for at, (look, (probability, logit)) in enumerate(zip(found.contributions.looks, left, strict=True)):
        value, effect = float(values[at]), effects[at]
        rows.append(
            {
                "name": _format_name(look, trace),
                "is_heavy": look in heavy,
                "value": value,
                "shapley": shapley[at],
                "probability": probability,
                "logit": None if probability is None else logit,
                # leaving the look out moves the class to the other side than its contribution says
                "is_contrary": effect is not None and differ_in_sign(value, effect),
                "weight": float(found.weights[at]),
            }
        )
    return {
        "rows": rows,
        "reach": max(float(abs(values).max()), float(abs(found.shapley).max()), 1e-9),
        "violations": _format_violations(found, trace),
        "disagreements": _format_disagreements(found, trace),
    }


def _format_name(look: int | None, trace: Trace) -> str:
    return "context" if look is None else f"look {list_look_names(trace)[look]}"


def _format_violations(found: Faithfulness, trace: Trace) -> str:
    """Return one sentence on weights and contributions."""
    count = len(found.violations)
    listed = ", ".join(
        f"{_format_subject(one.look, trace)} (weight {format_number(one.weight)}, {format_signed(one.contribution)})"
        for one in found.violations
    )
    return (
        f"{'1 sign violation' if count == 1 else f'{count} sign violations'} of weight and contribution: more than an "
        f"even share of the weight, but against the class: {listed}."
        if count
        else "No sign violation of weight and contribution: no look with more than an even share of the weight argues "
        "against the class."
    )


def _format_disagreements(found: Faithfulness, trace: Trace) -> str:
    """Return one sentence on contributions and effects."""
    looks = found.disagreements
    rows = {look: at for at, look in enumerate(found.contributions.looks)}
    listed = "; ".join(_format_disagreement(found, trace, look, rows[look]) for look in looks)
    return (
        f"Contribution and effect (or Shapley value) disagree in sign for {len(looks)} of {len(rows)}: {listed}."
        if looks
        else "Contributions, effects and Shapley values agree in sign: what adds to the class also raised it, and what "
        "argues against it lowered it."
    )


def _format_disagreement(found: Faithfulness, trace: Trace, look: int | None, row: int) -> str:
    share, effect = float(found.contributions.values[row]), found.left_out.context
    fair = ""
    if look is not None:
        effect = float(found.left_out.looks[look])
        fair = f", its Shapley value is {format_signed(float(found.shapley[look]))}"
    changed = "" if effect is None else f"its effect on the logit is {format_signed(effect)}"
    return f"{_format_subject(look, trace)} contributes {format_signed(share)}, {changed}{fair}"


def _format_subject(look: int | None, trace: Trace) -> str:
    return "the context" if look is None else f"look {list_look_names(trace)[look]}"
