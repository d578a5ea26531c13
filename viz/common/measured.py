"""Curves out of a checkpoint's `evaluation.json`.

A model with three levels or more gives one curve for each number of looks inside a look; along it grows the number of
looks at the second level. Optional fields of a budget that have the paper's names, `ms_per_image` and `memory_gb`, are
read where a file has them; the time an evaluation took is no time per image, since it tries out many looks at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tnet_core.checkpoints import BudgetResult, CheckpointCard, Evaluation
from viz.common.curves import Curve, Interval, Point
from viz.common.evaluation import at, interval, items, mapping, number, share, text
from viz.common.roles import POLICIES, ROLES, STOPPING
from viz.explore.card import is_agreement

_LEARNED = "learned"


def curves_of(about: CheckpointCard) -> list[Curve]:
    """The checkpoint itself, each curve followed by its variants; nothing if it was never measured."""
    if about.evaluation is None:
        return []
    reader = _Reader(about, about.evaluation)
    found: list[Curve] = []
    for inner in reader.inner_budgets():
        curve = reader.learned(inner)
        found += [curve, *reader.variants(curve, inner)]
    return found


class _Reader:
    def __init__(self, about: CheckpointCard, evaluation: Evaluation) -> None:
        self.raw = evaluation.raw
        self.results = evaluation.results
        self.rows = items(self.raw, "budgets")  # as long as the results, which are made of them
        self.attention = mapping(self.raw, "attention")
        self.name = about.title or about.source
        self.id = f"measured/{about.source}"
        self.common: dict[str, Any] = {
            "data_set": evaluation.dataset,
            "kind": "measured",
            "family": self.id,
            "source": evaluation.where,
            "agreement": is_agreement(evaluation),
            "confidence": share(mapping(self.raw, "intervals").get("confidence")),
            "timed_on": _machine(self.raw),
        }

    def inner_budgets(self) -> list[tuple[int, ...]]:
        """Looks per grid below the second level; one, empty, for two levels."""
        return sorted({result.budget[1:] for result in self.results})

    def learned(self, inner: tuple[int, ...]) -> Curve:
        points = [self._point(index, _LEARNED, *self._accuracies(index)) for index in self._places(inner)]
        suffix = f": {' × '.join(map(str, inner))} inside each look" if inner else ""
        name = self.id + "".join(f"/{k}" for k in inner)
        return Curve(id=name, label=self.name + suffix, points=_sorted(points), **self.common)

    def variants(self, curve: Curve, inner: tuple[int, ...]) -> Iterator[Curve]:
        for role, name in STOPPING.items():
            yield from self._variant(curve, role, self._stopping(name, inner))
        for role in POLICIES:
            yield from self._variant(curve, role, self._policy(role, inner))

    def _variant(self, curve: Curve, role: str, points: list[Point]) -> Iterator[Curve]:
        if points:
            label = f"{curve.label}, {ROLES[role].suffix}"
            yield Curve(
                id=f"{curve.id}/{role}", label=label, points=_sorted(points), role=role, of=curve.id, **self.common
            )

    def _places(self, inner: tuple[int, ...]) -> list[int]:
        """Where the budgets of one curve are; without a look at the second level there is none inside it."""
        return [index for index, result in enumerate(self.results) if result.budget[1:] == inner]

    def _accuracies(self, index: int) -> tuple[float | None, float | None, Interval | None, Interval | None]:
        result, learned = self.results[index], mapping(mapping(self.raw, "policies"), _LEARNED)
        row = at(self.rows, index)
        top1 = interval(row.get("top1_interval")) if isinstance(row, dict) else None
        top5 = interval(at(items(learned, "top5_interval"), index))
        return result.top1, result.top5, top1, top5

    def _policy(self, role: str, inner: tuple[int, ...]) -> list[Point]:
        """Of a policy that the evaluation tried out; budgets at which it has no value are left out."""
        policy = mapping(mapping(self.raw, "policies"), role)
        found = []
        for index in self._places(inner):
            top1, top5 = share(at(items(policy, "top1"), index)), share(at(items(policy, "top5"), index))
            ends = [interval(at(items(policy, f"{name}_interval"), index)) for name in ("top1", "top5")]
            if top1 is not None:
                found.append(self._point(index, role, top1, top5, *ends))
        return found

    def _point(self, index: int, policy: str, top1: float | None, top5: float | None, *ends: Interval | None) -> Point:
        result: BudgetResult = self.results[index]
        row = at(self.rows, index)
        row = row if isinstance(row, dict) and policy == _LEARNED else {}
        areas = mapping(self.attention, policy)
        after = result.budget[0] - 1 if result.budget else -1  # place in lists that begin after the first look
        return Point(
            locations=float(result.looks) if result.budget else None,
            budget=result.budget,
            top1=top1,
            top5=top5,
            flops=result.flops,
            ms_per_image=number(row.get("ms_per_image")),
            memory_gb=number(row.get("memory_gb")),
            coverage=share(at(items(areas, "coverage"), after)),
            precision=share(at(items(areas, "precision"), after)),
            recall=share(at(items(areas, "recall"), after)),
            top1_interval=ends[0],
            top5_interval=ends[1],
        )

    def _stopping(self, name: str, inner: tuple[int, ...]) -> list[Point]:
        """Mean looks and mean cost for each threshold; measured at one budget, so it belongs to one curve."""
        stopping = mapping(self.raw, "stopping")
        if tuple(items(stopping, "budget")[1:]) != inner:
            return []
        found = []
        for item in items(mapping(stopping, name), "points"):
            values = item if isinstance(item, dict) else {}
            looks, top1 = number(values.get("looks")), share(values.get("top1"))
            if looks is not None and top1 is not None:
                flops, threshold = number(values.get("flops")), share(values.get("threshold"))
                found.append(Point(locations=looks, top1=top1, flops=flops, threshold=threshold))
        return found


def _machine(raw: dict[str, Any]) -> str:
    """'AMD EPYC, 1 thread', or the name of the GPU; empty where no time per image was taken."""
    if not any(isinstance(row, dict) and number(row.get("ms_per_image")) is not None for row in items(raw, "budgets")):
        return ""
    machine = mapping(mapping(raw, "run"), "machine")
    device, threads = text(machine.get("device")), machine.get("threads")
    if device != "cpu":
        return device
    counted = f", {threads} thread{'s' * (threads != 1)}" if type(threads) is int and 0 < threads < 10_000 else ""
    return (text(machine.get("processor")) or "a processor") + counted


def _sorted(points: list[Point]) -> tuple[Point, ...]:
    return tuple(sorted(points, key=lambda point: point.locations or 0.0))
