"""Reads curves out of a checkpoint's `evaluation.json`, or out of an evaluation of a visitor's own images.

A model with three levels or more gives one curve for each number of looks inside a look; along it grows the number of
looks at the second level. Optional fields of a budget that have the paper's names, `ms_per_image` and `memory_gb`, are
read where a file has them; the time an evaluation took is no time per image, since it tries out many looks at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tnet_core.checkpoints import BudgetResult, CheckpointCard, Evaluation
from tnet_core.schemas.evaluation import parse_evaluation
from viz.common.curves import POLICIES, ROLES, STOPPING, Curve, CurvePoint, Interval
from viz.common.evaluation import (
    is_agreement,
    item_at,
    read_interval,
    read_list,
    read_mapping,
    read_number,
    read_share,
    read_text,
)
from viz.common.text import format_data_set

_LEARNED = "learned"
_MAX_MACHINE_NAME = 60  # characters
MAX_EVALUATIONS = 5  # of one visitor
VISITOR_PREFIX = "Your data"
_OF_CURVES = ("schema", "dataset", "budgets", "policies", "attention", "intervals", "stopping", "run")
_NEEDED = (*_OF_CURVES, "trained_budget", "comparisons")  # and for the sentence about them


def read_measured_curves(about: CheckpointCard) -> list[Curve]:
    """Return the checkpoint's curves, each followed by its variants; nothing if it was never measured."""
    if about.evaluation is None:
        return []
    reader = _CurveReader(about, about.evaluation)
    found: list[Curve] = []
    for inner in reader.find_inner_budgets():
        curve = reader.read_learned(inner)
        found += [curve, *reader.read_variants(curve, inner)]
    return found


class _CurveReader:
    def __init__(self, about: CheckpointCard, evaluation: Evaluation) -> None:
        self.raw = evaluation.raw
        self.results = evaluation.results
        self.rows = read_list(self.raw, "budgets")  # as long as the results, which are made of them
        self.attention = read_mapping(self.raw, "attention")
        self.name = about.title or about.source
        self.id = f"measured/{about.source}"
        self.common: dict[str, Any] = {
            "data_set": evaluation.dataset,
            "kind": "measured",
            "family": self.id,
            "source": format_data_set(evaluation.where),
            "agreement": is_agreement(evaluation),
            "confidence": read_share(read_mapping(self.raw, "intervals").get("confidence")),
            "timed_on": _format_machine(self.raw),
        }

    def find_inner_budgets(self) -> list[tuple[int, ...]]:
        """Return the looks per grid below the second level; one, empty, for two levels."""
        return sorted({result.budget[1:] for result in self.results})

    def read_learned(self, inner: tuple[int, ...]) -> Curve:
        points = [
            self._build_point(index, _LEARNED, *self._read_accuracies(index)) for index in self._find_places(inner)
        ]
        suffix = f": {' × '.join(map(str, inner))} inside each look" if inner else ""
        name = self.id + "".join(f"/{k}" for k in inner)
        return Curve(id=name, label=self.name + suffix, points=_sort_points(points), **self.common)

    def read_variants(self, curve: Curve, inner: tuple[int, ...]) -> Iterator[Curve]:
        for role, name in STOPPING.items():
            yield from self._build_variant(curve, role, self._read_stopping(name, inner))
        for role in POLICIES:
            yield from self._build_variant(curve, role, self._read_policy(role, inner))

    def _build_variant(self, curve: Curve, role: str, points: list[CurvePoint]) -> Iterator[Curve]:
        if points:
            label = f"{curve.label}, {ROLES[role].suffix}"
            yield Curve(
                id=f"{curve.id}/{role}",
                label=label,
                points=_sort_points(points),
                role=role,
                variant_of=curve.id,
                **self.common,
            )

    def _find_places(self, inner: tuple[int, ...]) -> list[int]:
        """Find the budgets of one curve; without a look at the second level there is none inside it."""
        return [index for index, result in enumerate(self.results) if result.budget[1:] == inner]

    def _read_accuracies(self, index: int) -> tuple[float | None, float | None, Interval | None, Interval | None]:
        result, learned = self.results[index], read_mapping(read_mapping(self.raw, "policies"), _LEARNED)
        row = item_at(self.rows, index)
        top1 = read_interval(row.get("top1_interval")) if isinstance(row, dict) else None
        top5 = read_interval(item_at(read_list(learned, "top5_interval"), index))
        return result.top1, result.top5, top1, top5

    def _read_policy(self, role: str, inner: tuple[int, ...]) -> list[CurvePoint]:
        """Return the points of a policy that the evaluation tried out, where it has a value."""
        policy = read_mapping(read_mapping(self.raw, "policies"), role)
        found = []
        for index in self._find_places(inner):
            top1, top5 = (
                read_share(item_at(read_list(policy, "top1"), index)),
                read_share(item_at(read_list(policy, "top5"), index)),
            )
            ends = [read_interval(item_at(read_list(policy, f"{name}_interval"), index)) for name in ("top1", "top5")]
            if top1 is not None:
                found.append(self._build_point(index, role, top1, top5, *ends))
        return found

    def _build_point(
        self, index: int, policy: str, top1: float | None, top5: float | None, *ends: Interval | None
    ) -> CurvePoint:
        result: BudgetResult = self.results[index]
        row = item_at(self.rows, index)
        row = row if isinstance(row, dict) and policy == _LEARNED else {}
        areas = read_mapping(self.attention, policy)
        after = result.budget[0] - 1 if result.budget else -1  # place in lists that begin after the first look
        return CurvePoint(
            locations=float(result.looks) if result.budget else None,
            budget=result.budget,
            top1=top1,
            top5=top5,
            flops=result.flops,
            ms_per_image=read_number(row.get("ms_per_image")),
            memory_gb=read_number(row.get("memory_gb")),
            coverage=read_share(item_at(read_list(areas, "coverage"), after)),
            precision=read_share(item_at(read_list(areas, "precision"), after)),
            recall=read_share(item_at(read_list(areas, "recall"), after)),
            top1_interval=ends[0],
            top5_interval=ends[1],
        )

    def _read_stopping(self, name: str, inner: tuple[int, ...]) -> list[CurvePoint]:
        """Read mean looks and mean cost for each threshold; measured at one budget, so it belongs to one curve."""
        stopping = read_mapping(self.raw, "stopping")
        if tuple(read_list(stopping, "budget")[1:]) != inner:
            return []
        found = []
        for values in self._list_stops(read_list(read_mapping(stopping, name), "points")):
            looks, top1 = read_number(values.get("looks")), read_share(values.get("top1"))
            if looks is not None and top1 is not None:
                flops, threshold = read_number(values.get("flops")), read_share(values.get("threshold"))
                found.append(CurvePoint(locations=looks, top1=top1, flops=flops, threshold=threshold))
        return found

    def _list_stops(self, points: list[Any]) -> list[dict[str, Any]]:
        """Return the points of one curve; of rules with several limits, those with the widest."""
        found = [point for point in points if isinstance(point, dict)]
        limits = [(point.get("least"), point.get("most")) for point in found]
        widths = {(a, b): b - a for a, b in limits if type(a) is int and type(b) is int and a < b}
        widest = max(widths, key=widths.__getitem__) if widths else (None, None)
        return [point for point, pair in zip(found, limits, strict=True) if pair == widest]


def _format_machine(raw: dict[str, Any]) -> str:
    """Return 'AMD EPYC, 1 thread', or the name of the GPU; empty where no time per image was taken."""
    if not any(
        isinstance(row, dict) and read_number(row.get("ms_per_image")) is not None for row in read_list(raw, "budgets")
    ):
        return ""
    machine = read_mapping(read_mapping(raw, "run"), "machine")
    device, threads = read_text(machine.get("device"))[:_MAX_MACHINE_NAME], machine.get("threads")
    if device != "cpu":
        return device
    counted = f", {threads} thread{'s' * (threads != 1)}" if type(threads) is int and 0 < threads < 10_000 else ""
    return (read_text(machine.get("processor"))[:_MAX_MACHINE_NAME] or "a processor") + counted


def _sort_points(points: list[CurvePoint]) -> tuple[CurvePoint, ...]:
    return tuple(sorted(points, key=lambda point: point.locations or 0.0))


@dataclass(frozen=True)
class VisitorEvaluation:
    """One evaluation of a visitor's own images: no more of it than its curves need."""

    number: int  # counts a visitor's evaluations
    spec: str  # of the checkpoint
    title: str  # of the checkpoint
    content: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.content["dataset"]["name"])

    @property
    def key(self) -> str:
        """The key of its data set."""
        return f"own/{self.name.casefold()}"


def add_evaluation(
    evaluations: Sequence[VisitorEvaluation], spec: str, title: str, content: dict[str, Any]
) -> tuple[VisitorEvaluation, ...]:
    """Return the evaluations with one more; the oldest are left out, and a former one of the same images and model."""
    number = 1 + max((former.number for former in evaluations), default=0)
    newest = VisitorEvaluation(number, spec, title, {key: content[key] for key in _NEEDED if key in content})
    others = [former for former in evaluations if (former.key, former.spec) != (newest.key, spec)]
    return (*others, newest)[-MAX_EVALUATIONS:]


def read_visitor_curves(one: VisitorEvaluation) -> list[Curve]:
    about = CheckpointCard(
        source=f"own/{one.number}/{one.spec}",
        origin="",
        title=f"{VISITOR_PREFIX}: {one.name} ({one.title})",
        evaluation=parse_evaluation(one.content),
    )
    return [replace(curve, is_default=not curve.role) for curve in read_measured_curves(about)]
