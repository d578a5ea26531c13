"""Reads an `Audit` out of an `evaluation.json`, whoever wrote it: what is not as it should be is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnet_core.checkpoints import CheckpointCard, Evaluation
from viz.audit.data import (
    Audit,
    Budget,
    Cells,
    ClassLooks,
    HeatMap,
    LookMap,
    MoveScores,
    PolicyResults,
    StopResult,
    TypicalImages,
)
from viz.common.curves import CurvePoint
from viz.common.evaluation import (
    Estimate,
    clean_line,
    is_agreement,
    item_at,
    read_estimate,
    read_list,
    read_mapping,
    read_number,
    read_share,
    read_signed_number,
    read_text,
)
from viz.common.measured import read_measured_curves
from viz.common.text import format_data_set, make_readable

REPLACED_BY = ("mean", "centre", "random", "surest")  # what the learned policy is compared with
_POLICIES = ("learned", *REPLACED_BY, "oracle")
_MAX_NAMES = 50  # of typical images at each end
_MAX_GAP_SHARE = 1e6  # a share of a gap beyond this is no measurement
_MAX_GRID = 32
_MAX_SLIDER_LOOKS = 100
MAX_CLASSES = 1000
_MAX_SCORE = 1e3  # of centre bias; towards the border it has no fixed end
_MAX_MOVES = 20  # ways to move


def read_audit(about: CheckpointCard) -> Audit | None:
    """Read the audit of a checkpoint; None if it was never evaluated."""
    evaluation = about.evaluation
    if evaluation is None:
        return None
    raw = evaluation.raw
    policies, trained = read_mapping(raw, "policies"), _read_trained_budget(about, evaluation)
    reasons = {name: read_text(read_mapping(policies, name).get("left_out")) for name in _POLICIES}
    return Audit(
        title=about.title or about.source,
        where=format_data_set(evaluation.where),
        plain=not any(result.budget for result in evaluation.results),
        agreement=is_agreement(evaluation),
        confidence=read_share(read_mapping(raw, "intervals").get("confidence")),
        trained=trained,
        heat=read_heat_map(raw, trained),
        budgets=_read_budgets(evaluation),
        left_out={name: reason for name, reason in reasons.items() if reason},
        typical=_read_typical(read_mapping(raw, "typical")),
        moves=read_moves(read_mapping(raw, "equivariance")),
        curves=_read_curves(about, trained),
        stopping=_read_stopping(about, read_mapping(raw, "stopping")),
    )


def _read_curves(about: CheckpointCard, trained: Budget) -> dict[str, tuple[CurvePoint, ...]]:
    """Read the points of the policies and of stopping when sure, with as many looks inside looks as in training."""
    found: dict[str, tuple[CurvePoint, ...]] = {}
    curves = read_measured_curves(about)
    inner = "".join(f"/{k}" for k in trained[1:])
    whole = next((c for c in curves if not c.role and c.id == f"measured/{about.source}{inner}"), None)
    for curve in curves:
        if whole is not None and (curve is whole or curve.variant_of == whole.id):
            name = {"": "learned", "stop-rule": "stopping"}.get(curve.role, curve.role)
            if name in (*_POLICIES, "stopping"):
                found[name] = curve.points
    return found


def _read_stopping(about: CheckpointCard, found: dict[str, Any]) -> StopResult | None:
    """Read how the recommended rule did; None where there is none or its cross-fitted result is not stated."""
    rule, result = about.stopping, read_mapping(found, "cross_fitted")
    top1 = read_estimate(result.get("top1"), result.get("top1_interval"))
    looks = read_number(result.get("looks"))
    if rule is None or top1 is None or looks is None:
        return None
    return StopResult(rule.least, rule.most, rule.threshold, top1, looks, read_number(result.get("flops")))


def _read_trained_budget(about: CheckpointCard, evaluation: Evaluation) -> Budget:
    """Return the budget of the model, or as the file says; empty if neither tells or it does not fit the others."""
    stated = read_list(evaluation.raw, "trained_budget") if about.config is None else list(about.config.budget)
    fits = all(len(stated) == len(result.budget) for result in evaluation.results)
    return tuple(stated) if fits and all(type(k) is int and 0 <= k <= 1024 for k in stated) else ()


def _read_budgets(evaluation: Evaluation) -> tuple[PolicyResults, ...]:
    raw = evaluation.raw
    policies, compared = read_mapping(raw, "policies"), read_mapping(raw, "comparisons")
    reference = "surest" if "gap_to_surest" in raw else "oracle"  # files of before know the oracle alone
    closed = read_mapping(raw, "gap_to_surest" if reference == "surest" else "gap_closed")
    found = []
    for index, result in enumerate(evaluation.results):
        if not result.looks:
            continue
        top1 = {name: read_share(item_at(read_list(read_mapping(policies, name), "top1"), index)) for name in _POLICIES}
        top1["learned"] = result.top1  # which the file must have
        lost = {name: _read_difference(read_mapping(compared, f"learned-{name}"), index) for name in REPLACED_BY}
        found.append(
            PolicyResults(
                result.budget,
                {name: value for name, value in top1.items() if value is not None},
                {name: value for name, value in lost.items() if value is not None},
                _read_difference(read_mapping(compared, "oracle-learned"), index),
                read_estimate(
                    item_at(read_list(closed, "share"), index),
                    item_at(read_list(closed, "interval"), index),
                    _MAX_GAP_SHARE,
                ),
                reference,
            )
        )
    return tuple(sorted(found, key=lambda row: (row.budget[1:], row.budget[0])))


def _read_difference(found: dict[str, Any], index: int) -> Estimate | None:
    return read_estimate(item_at(read_list(found, "difference"), index), item_at(read_list(found, "interval"), index))


def _read_typical(found: dict[str, Any]) -> TypicalImages | None:
    most, least = _read_named(read_list(found, "most")), _read_named(read_list(found, "least"))
    return TypicalImages(most, least) if most or least else None


def _read_named(listed: Sequence[Any]) -> tuple[tuple[str, float], ...]:
    pairs = []
    for item in listed[:_MAX_NAMES]:
        entry = item if isinstance(item, dict) else {}
        name, score = read_text(entry.get("name")), read_signed_number(entry.get("score"), 1.0 + 1e-6)
        if name and score is not None:
            pairs.append((name, score))
    return tuple(pairs)


def read_heat_map(raw: dict[str, Any], trained: Budget) -> HeatMap | None:
    found = read_mapping(raw, "heat_map")
    grid = found.get("grid")
    if type(grid) is not int or not 2 <= grid <= _MAX_GRID:
        return None
    cells, images = grid * grid, _read_count(found.get("images"))
    if images is None:
        return None
    taken = _read_rows(read_list(found, "taken"), cells, images)
    where = LookMap(images, taken, _read_lift(found.get("probability"), cells))
    if not taken and where.lift is None:
        return None
    entries = [_read_class(item, cells, trained) for item in read_list(found, "per_class")]
    known = [entry for entry in entries if entry is not None]
    bias = read_mapping(found, "centre_bias")
    return HeatMap(
        grid=grid,
        where=where,
        classes=_make_names_distinct(known[:MAX_CLASSES]),
        more_classes=len(entries) - len(known[:MAX_CLASSES]),
        centre_bias=_read_scores(read_list(bias, "after_looks")),
        at_centre=read_share(bias.get("first_look_at_centre")),
        at_favourite=read_share(bias.get("first_look_at_mean_favourite")),
        entropy=read_share(bias.get("entropy_of_first_look")),
    )


def _read_class(item: Any, cells: int, trained: Budget) -> ClassLooks | None:
    """Read one class, of which a file counts the first look and as many as in training."""
    entry = item if isinstance(item, dict) else {}
    images, label = _read_count(entry.get("images")), entry.get("class")
    if images is None or type(label) is not int or not 0 <= label < 10**9:
        return None
    name = entry.get("name")
    counted = {1: "taken_1"} | ({trained[0]: "taken_trained"} if trained and trained[0] > 1 else {})
    taken = {k: row for k, key in counted.items() if (row := _read_counts(entry.get(key), cells, images)) is not None}
    bias = entry.get("centre_bias")
    return ClassLooks(
        name=make_readable(clean_line(name)) if isinstance(name, str) and clean_line(name) else f"class {label}",
        where=LookMap(images, taken, _read_lift(entry.get("probability"), cells)),
        top1=read_share(entry.get("top1")),
        thumbnail=read_share(entry.get("top1_thumbnail")),
        centre_bias=_read_score(bias),
    )


def _make_names_distinct(classes: list[ClassLooks]) -> tuple[ClassLooks, ...]:
    """Give classes names by which they can be chosen: a second one of the same name gets a number."""
    used: set[str] = set()
    renamed = []
    for entry in classes:
        name, turn = entry.name, 2
        while name in used:
            name, turn = f"{entry.name} ({turn})", turn + 1
        used.add(name)
        renamed.append(ClassLooks(name, entry.where, entry.top1, entry.thumbnail, entry.centre_bias))
    return tuple(renamed)


def _read_count(value: Any) -> int | None:
    """Return a number of images."""
    return value if type(value) is int and 1 <= value <= 10**9 else None


def _read_counts(value: Any, cells: int, images: int) -> Cells | None:
    if not isinstance(value, list) or len(value) != cells:
        return None
    return tuple(map(float, value)) if all(type(n) is int and 0 <= n <= images for n in value) else None


def _read_rows(rows: list[Any], cells: int, images: int) -> dict[int, Cells]:
    """Read rows up to the first that is not as it should be: without it the next ones mean nothing."""
    found: dict[int, Cells] = {}
    for k, row in enumerate(rows[:_MAX_SLIDER_LOOKS], 1):
        counts = _read_counts(row, cells, images)
        if counts is None:
            break
        found[k] = counts
    return found


def _read_lift(value: Any, cells: int) -> Cells | None:
    """Return probabilities over uniform."""
    shares = [read_share(p) for p in value] if isinstance(value, list) and len(value) == cells else []
    known = [p for p in shares if p is not None]
    if len(known) != cells or not 0.9 <= sum(known) <= 1.1:
        return None
    return tuple(p * cells for p in known)


def _read_scores(values: list[Any]) -> dict[int, float]:
    found = {k: _read_score(value) for k, value in enumerate(values[:_MAX_SLIDER_LOOKS], 1)}
    return {k: value for k, value in found.items() if value is not None}


def _read_score(value: Any) -> float | None:
    """Return a score of at most 1."""
    found = read_signed_number(value, _MAX_SCORE)
    return found if found is not None and found <= 1 else None


def read_moves(found: dict[str, Any]) -> tuple[MoveScores, ...]:
    """Read the scores, all ways together first, then each; nothing where no score is."""
    listed = [("all of them", found), *read_mapping(found, "transforms").items()][: _MAX_MOVES + 1]
    moves = [_read_move(name, entry) for name, entry in listed]
    return tuple(move for move in moves if move is not None)


def _read_move(name: str, entry: Any) -> MoveScores | None:
    values = entry if isinstance(entry, dict) else {}
    score = _read_stated(values, "score")
    if score is None:
        return None
    first, images = read_mapping(values, "first_look"), values.get("images")
    whole = name == "all of them"  # its text explains the section
    return MoveScores(
        about=name if whole else read_text(values.get("about")) or read_text(name.replace("_", " ")),
        images=images if type(images) is int and 0 <= images <= 10**9 else None,
        score=score,
        followed=_read_stated(first, "followed"),
        stayed=_read_stated(first, "stayed"),
    )


def _read_stated(values: dict[str, Any], key: str) -> Estimate | None:
    return read_estimate(values.get(key), values.get(f"{key}_interval"))
