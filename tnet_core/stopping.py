"""When to stop looking: how sure a checkpoint really is (`Calibration`) and how sure is enough (`StoppingRule`).

A temperature T divides the logits before the softmax. It changes how sure the network appears, never which class comes
first, and no logit. A rule looks at the highest of these probabilities, not at the margin between the two best: once it
is calibrated it is the chance to be right, so a threshold can be read ("stop at 90 %").

Rules are for two levels, where the first k looks are what a budget of k would have taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.numbers import check_whole, softmax

if TYPE_CHECKING:
    from tnet_core.trace import Trace

LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.05, 20.0
MAX_CELLS = 1024  # cells of the largest grid
NO_RULE = (
    "This checkpoint has no recommended stopping rule; give one (tn.StoppingRule), or measure one with "
    "'python -m training.evaluate CHECKPOINT DATA --recommend'."
)


def check_temperature(value: object) -> float:
    """Return a temperature as a float, or say which numbers are possible."""
    return _check_number(value, "A temperature", LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE)


def _check_number(value: object, what: str, low: float = 0.0, high: float = 1.0) -> float:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not low <= (number := float(value)) <= high:  # type: ignore[arg-type]
        raise TNetError(f"{what} is a number in {low:g}…{high:g}, not {value!r:.40}.")
    return number


def compute_probabilities(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Return the softmax of logits divided by a temperature, along the last axis: float64."""
    return softmax(logits.astype(np.float64) / temperature)


@dataclass(frozen=True)
class Calibration:
    """A checkpoint's temperature, and its calibration error without and with it (expected error, 15 equal bins).

    The errors are fractions, measured on images that the temperature was not chosen on; None: not measured.
    """

    temperature: float = 1.0
    error_before: float | None = None
    error_after: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", check_temperature(self.temperature))
        for name in ("error_before", "error_after"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _check_number(getattr(self, name), "A calibration error"))

    def describe(self) -> str:
        """Return 'temperature 0.71, calibration error 14.4 % before and 4.8 % after'."""
        if self.error_before is None or self.error_after is None:
            return f"temperature {self.temperature:g}"
        errors = f"{100 * self.error_before:.1f} % before and {100 * self.error_after:.1f} % after"
        return f"temperature {self.temperature:g}, calibration error {errors}"


@dataclass(frozen=True)
class StoppingRule:
    """Look at least `least` times, then stop as soon as the highest probability exceeds the threshold, or at `most`."""

    least: int
    most: int
    threshold: float  # of the highest probability, calibrated; it must be exceeded

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", check_whole(self.most, "The largest number of looks", 0, MAX_CELLS))
        object.__setattr__(self, "least", check_whole(self.least, "The least number of looks", 0, self.most))
        object.__setattr__(self, "threshold", _check_number(self.threshold, "A stopping threshold"))

    def is_met(self, looks: int, probability: float) -> bool:
        """Tell whether to stop after so many looks with this highest probability."""
        return looks >= self.most or (looks >= self.least and probability > self.threshold)

    def describe(self) -> str:
        """Return 'at least 1 and at most 3 looks, until a class has more than 85 %'."""
        if self.least == self.most:
            return f"always {self.most} look{'' if self.most == 1 else 's'}"
        return (
            f"at least {self.least} and at most {self.most} looks, until a class has more than "
            f"{100 * self.threshold:.3g} %"
        )


@dataclass(frozen=True)
class StopPoint:
    """Where and why a traversal stopped."""

    rule: StoppingRule
    looks: int  # taken
    probability: float  # the highest then, calibrated
    reason: Literal["sure", "most", "budget"]  # the threshold was exceeded; the rule's or the budget's last look

    def describe(self) -> str:
        """Return one sentence for a person."""
        taken = f"after {self.looks} look{'' if self.looks == 1 else 's'}" if self.looks else "at the thumbnail"
        share = f"{100 * self.probability:.3g} %"
        if self.reason == "sure":
            return f"Stopped {taken}: {share} is more than the {100 * self.rule.threshold:.3g} % of the rule."
        owner = "the rule's" if self.reason == "most" else "the budget's"
        return f"Stopped {taken}, {owner} largest number, with {share}."


def choose_rule(
    given: StoppingRule | bool | None, recommended: StoppingRule | None, levels: int
) -> StoppingRule | None:
    """Return the rule of a traversal of so many levels: the given one, for True the recommended one, or none."""
    if given is None or given is False:
        return None
    rule = recommended if given is True else given
    if levels != 2:
        raise TNetError(
            f"A stopping rule is for two levels, where looks have one order, and here there {_count_levels(levels)}: "
            "leave it out."
        )
    if rule is None:
        raise TNetError(NO_RULE)
    if not isinstance(rule, StoppingRule):
        raise TNetError(f"A stopping rule is a tn.StoppingRule, or True for the checkpoint's own, not {rule!r:.60}.")
    return rule


def _count_levels(levels: int) -> str:
    return "is one level" if levels == 1 else f"are {levels} levels"


def find_stop(probabilities: np.ndarray, rule: StoppingRule) -> StopPoint:
    """Return where a rule stops, given the highest probability after 0, 1, … looks: (K + 1,)."""
    last = len(probabilities) - 1
    for looks, probability in enumerate(probabilities.tolist()):
        if rule.is_met(looks, probability) or looks == last:
            return make_stop(rule, looks, probability)
    raise TNetError("There is nothing to stop: not even the thumbnail was seen.")


def make_stop(rule: StoppingRule, looks: int, probability: float) -> StopPoint:
    """Return the point for a traversal that ends here, with the reason why."""
    if looks >= rule.least and probability > rule.threshold:
        return StopPoint(rule, looks, probability, "sure")
    return StopPoint(rule, looks, probability, "most" if looks >= rule.most else "budget")


@dataclass(frozen=True)
class Stop:
    """Where a traversal would have stopped."""

    k: int  # looks taken
    prediction: int
    margins: np.ndarray  # (K + 1,) probability of the first class minus that of the second, for every k
    flops: int  # spent up to k
    flops_saved: int  # of the whole run
    reached: bool  # False: the threshold was never exceeded and all looks were taken


def adaptive_stop(trace: Trace, threshold: float | StoppingRule) -> Stop:
    """Stop after the first k looks whose margin between the two best classes exceeds the threshold, or by a rule."""
    if isinstance(threshold, StoppingRule):
        if trace.levels != 2:
            raise TNetError(f"A stopping rule is for two levels, and this trace has {trace.levels}.")
    elif not isinstance(threshold, (int, float)) or not 0.0 <= threshold <= 1.0:
        raise TNetError(f"A stopping threshold is a probability margin in 0…1, not {threshold!r:.40}.")
    count = len(trace.locations)
    # Prefixes need no model, so this also works on a trace read from a file.
    logits = np.stack([trace.logits(k) for k in range(count + 1)])
    probabilities = compute_probabilities(logits, trace.temperature or 1.0)
    best = np.sort(probabilities, axis=1)[:, ::-1]
    margins = best[:, 0] - (best[:, 1] if best.shape[1] > 1 else 0.0)
    if isinstance(threshold, StoppingRule):
        point = find_stop(best[:, 0], threshold)
        k, is_reached = point.looks, point.reason == "sure"
    else:
        above = np.flatnonzero(margins > threshold)
        k, is_reached = (int(above[0]), True) if len(above) else (count, False)
    spent, total = trace.cost(k).flops, trace.cost().flops
    return Stop(k, int(probabilities[k].argmax()), margins, spent, total - spent, is_reached)
