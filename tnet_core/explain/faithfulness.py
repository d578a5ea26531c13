"""Everything that tells how faithful a decision is to the looks it is said to rest on, for one class."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.explain.ablation import LeaveOneOut, SignViolation, differ_in_sign, leave_one_out, sign_violations
from tnet_core.explain.curves import Order, deletion, greedy_deletion, greedy_insertion, insertion, random_orders
from tnet_core.explain.shapley import MAX_EXPLAINED_LOOKS, shapley_values
from tnet_core.explain.value import ClassValue
from tnet_core.records import Contributions
from tnet_core.trace import Trace

RANDOM_ORDERS = 100
BAND = (5, 95)  # per cent of the random orders between the ends of their band

OnStep = Callable[[float, str], object]  # share that is done, what comes next


@dataclass(frozen=True, eq=False)
class Course:
    """The class's probability while looks are added, or taken away, one after the other: (K + 1,) per order."""

    network: np.ndarray
    oracle: np.ndarray  # greedy, with hindsight
    oracle_order: Order
    random: np.ndarray  # (orders, K + 1)

    @property
    def random_mean(self) -> np.ndarray:
        return self.random.mean(0)

    @property
    def random_band(self) -> tuple[np.ndarray, np.ndarray]:
        """The 5th and the 95th percentile after each step."""
        low, high = np.percentile(self.random, BAND, axis=0)
        return low, high

    @property
    def random_areas(self) -> np.ndarray:
        """(orders,)"""
        return area(self.random)


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """A report on all K looks: probabilities of `cls` in courses, sufficiency and necessity, otherwise logits."""

    cls: int
    insertion: Course  # the thumbnail is there all the time
    deletion: Course
    sufficiency_alone: np.ndarray  # (K + 1,) from the first k looks without the thumbnail; the bias alone for k = 0
    necessity_alone: np.ndarray  # (K + 1,) lost without the first k looks, the thumbnail being left out anyway
    contributions: Contributions  # of the thumbnail, then of each look
    weights: np.ndarray  # (K + 1,) likewise
    shapley: np.ndarray  # (K,) fair share of each look in the logit gained over the thumbnail
    violations: tuple[SignViolation, ...]  # worst first
    left_out: LeaveOneOut  # the effect of the thumbnail and of each look
    left_out_probability: LeaveOneOut  # the same in probabilities

    @property
    def disagreements(self) -> tuple[int | None, ...]:
        """Looks (None: the context) whose contribution has another sign than their effect or their Shapley value.

        Greatest contribution first.
        """
        rows = zip(
            self.contributions.looks,
            self.contributions.values,
            (self.left_out.context, *self.left_out.looks),
            (None, *self.shapley),  # the context is always there
            strict=True,
        )
        found = [
            (abs(share), look)
            for look, share, *others in rows
            if any(other is not None and differ_in_sign(share, other) for other in others)
        ]
        return tuple(look for _, look in sorted(found, key=lambda one: -one[0]))

    @property
    def sufficiency(self) -> np.ndarray:
        """(K + 1,) from the first k looks and the thumbnail."""
        return self.insertion.network

    @property
    def necessity(self) -> np.ndarray:
        """(K + 1,) lost without the first k looks."""
        return self.deletion.network[0] - self.deletion.network

    @property
    def beaten_by_insertion(self) -> float:
        """Share of the random orders whose curve encloses less than the network's."""
        return float((self.insertion.random_areas < area(self.insertion.network)).mean())

    @property
    def beaten_by_deletion(self) -> float:
        """Share of the random orders whose curve encloses more than the network's: taking away should hurt soon."""
        return float((self.deletion.random_areas > area(self.deletion.network)).mean())


def area(curve: np.ndarray) -> np.ndarray:
    """Return the area under a curve over the share of looks, 0…1, by trapezoids: (…, K + 1) -> (…,)."""
    return np.trapezoid(curve, axis=-1) / (curve.shape[-1] - 1)


def faithfulness(
    trace: Trace,
    cls: int | str,
    *,
    orders: int = RANDOM_ORDERS,
    seed: int = 0,
    on_step: OnStep | None = None,
) -> Faithfulness:
    """Return the report on a trace of 1 to 12 looks, of which every subset is weighed (`Trace.only` shortens one)."""
    count, target = len(trace.locations), trace.class_index(cls)
    if not 1 <= count <= MAX_EXPLAINED_LOOKS:
        raise TNetError(f"A report on faithfulness needs 1 to {MAX_EXPLAINED_LOOKS} looks; this trace has {count}.")
    report: OnStep = on_step or (lambda _, __: None)  # nobody wants to know
    report(0.0, "Weighing every subset of looks")
    trace = trace.only(trace.select())  # what is remembered of subsets goes with it
    trace.aggregator.prepare(_list_subsets(count))
    report(0.5, "Taking looks in random orders")
    added, taken = _measure_courses(trace, target, random_orders(trace, orders, seed))
    report(0.8, "Searching the best order with hindsight")
    best, worst = greedy_insertion(trace, target), greedy_deletion(trace, target)
    report(0.9, "Dividing the logit fairly")
    shares = shapley_values(trace, target)
    left = deletion(trace, target, context=False)
    return Faithfulness(
        cls=target,
        insertion=Course(insertion(trace, target), insertion(trace, target, best), best, added),
        deletion=Course(deletion(trace, target), deletion(trace, target, worst), worst, taken),
        sufficiency_alone=insertion(trace, target, context=False),
        necessity_alone=left[0] - left,
        contributions=trace.contributions(target),
        weights=trace.weights(),
        shapley=shares,
        violations=tuple(sign_violations(trace, target)),
        left_out=leave_one_out(trace, target),
        left_out_probability=leave_one_out(trace, target, measure="probability"),
    )


def _list_subsets(count: int) -> Iterator[tuple[int, ...]]:
    """Yield every subset of the looks, with the thumbnail, as rows of the features."""
    for size in range(count + 1):
        yield from ((0, *looks) for looks in itertools.combinations(range(1, count + 1), size))


def _measure_courses(trace: Trace, cls: int, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Measure insertion and deletion in many orders (R, K) at once: twice (R, K + 1)."""
    runs, count = orders.shape
    masks = np.zeros((runs, count + 1, count + 1), dtype=bool)
    masks[:, :, 0] = True
    rows = np.arange(runs)
    for step in range(count):
        masks[:, step + 1] = masks[:, step]
        masks[rows, step + 1, orders[:, step] + 1] = True
    rest = ~masks
    rest[:, :, 0] = True
    target = ClassValue(trace, cls, measure="probability")
    found = [target.measure_masks(part.reshape(-1, count + 1)) for part in (masks, rest)]
    return found[0].reshape(runs, -1), found[1].reshape(runs, -1)
