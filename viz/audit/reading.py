"""From an `evaluation.json`, whoever wrote it, to an `Audit`: what is not as it should be is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnet_core.checkpoints import CheckpointCard, Evaluation
from viz.audit.model import AtBudget, Audit, Budget, Typical
from viz.audit.reading_map import read_heat_map
from viz.audit.reading_moves import read_moves
from viz.common.evaluation import (
    Estimate,
    is_agreement,
    item_at,
    read_estimate,
    read_list,
    read_mapping,
    read_share,
    read_signed_number,
    read_text,
)

REPLACED_BY = ("mean", "centre", "random")  # what the learned policy is compared with
_POLICIES = ("learned", *REPLACED_BY, "oracle")
_MOST_NAMES = 50  # of typical images at each end
_FAR = 1e6  # a share of a gap beyond this is no measurement


def read_audit(about: CheckpointCard) -> Audit | None:
    """None if the checkpoint was never evaluated."""
    evaluation = about.evaluation
    if evaluation is None:
        return None
    raw = evaluation.raw
    policies, trained = read_mapping(raw, "policies"), _trained(about, evaluation)
    reasons = {name: read_text(read_mapping(policies, name).get("left_out")) for name in _POLICIES}
    return Audit(
        title=about.title or about.source,
        where=evaluation.where,
        plain=not any(result.budget for result in evaluation.results),
        agreement=is_agreement(evaluation),
        confidence=read_share(read_mapping(raw, "intervals").get("confidence")),
        trained=trained,
        heat=read_heat_map(raw, trained),
        budgets=_budgets(evaluation),
        left_out={name: reason for name, reason in reasons.items() if reason},
        typical=_typical(read_mapping(raw, "typical")),
        moves=read_moves(read_mapping(raw, "equivariance")),
    )


def _trained(about: CheckpointCard, evaluation: Evaluation) -> Budget:
    """Of the model, or as the file says; empty if neither tells or it does not fit the budgets."""
    stated = read_list(evaluation.raw, "trained_budget") if about.config is None else list(about.config.budget)
    fits = all(len(stated) == len(result.budget) for result in evaluation.results)
    return tuple(stated) if fits and all(type(k) is int and 0 <= k <= 1024 for k in stated) else ()


def _budgets(evaluation: Evaluation) -> tuple[AtBudget, ...]:
    raw = evaluation.raw
    policies, compared = read_mapping(raw, "policies"), read_mapping(raw, "comparisons")
    closed = read_mapping(raw, "gap_closed")
    found = []
    for index, result in enumerate(evaluation.results):
        if not result.looks:
            continue
        top1 = {name: read_share(item_at(read_list(read_mapping(policies, name), "top1"), index)) for name in _POLICIES}
        top1["learned"] = result.top1  # which the file must have
        lost = {name: _difference(read_mapping(compared, f"learned-{name}"), index) for name in REPLACED_BY}
        found.append(
            AtBudget(
                result.budget,
                {name: value for name, value in top1.items() if value is not None},
                {name: value for name, value in lost.items() if value is not None},
                _difference(read_mapping(compared, "oracle-learned"), index),
                read_estimate(
                    item_at(read_list(closed, "share"), index), item_at(read_list(closed, "interval"), index), _FAR
                ),
            )
        )
    return tuple(sorted(found, key=lambda row: (row.budget[1:], row.budget[0])))


def _difference(found: dict[str, Any], index: int) -> Estimate | None:
    return read_estimate(item_at(read_list(found, "difference"), index), item_at(read_list(found, "interval"), index))


def _typical(found: dict[str, Any]) -> Typical | None:
    most, least = _named(read_list(found, "most")), _named(read_list(found, "least"))
    return Typical(most, least) if most or least else None


def _named(listed: Sequence[Any]) -> tuple[tuple[str, float], ...]:
    pairs = []
    for item in listed[:_MOST_NAMES]:
        entry = item if isinstance(item, dict) else {}
        name, score = read_text(entry.get("name")), read_signed_number(entry.get("score"), 1.0 + 1e-6)
        if name and score is not None:
            pairs.append((name, score))
    return tuple(pairs)
