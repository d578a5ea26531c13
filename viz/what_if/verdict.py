"""What happened, in one sentence."""

from __future__ import annotations

from collections import Counter

from tnet_core.counterfactual import Fate
from viz.common.numbers import short
from viz.what_if.model import Experiment

_TOLD = {
    "followed": "followed {its} content",
    "stayed": "stayed where {it} {was}",
    "neither": "did neither",
    "both": "cannot be told apart, since both places are looked at",
    "gone": "lost {its} content, which left the picture",
    "unmoved": "{tells} nothing, since {its} content did not move",
}
NOTHING = "Nothing is changed yet: both sides show the same picture."


def verdict(shown: Experiment, k: int) -> str:
    if not shown.changed:
        return NOTHING
    if shown.pull is not None:
        return _of_a_copy(shown, k)
    return of_looks(shown.fates(k), k)


def of_looks(fates: list[Fate], k: int) -> str:
    """'Of the first 5 looks, 4 followed their content and 1 stayed where it was.'"""
    counts: Counter[str] = Counter(fate.kind for fate in fates)
    if k == 1:
        return f"The first look {_words(fates[0].kind, 1)}."
    parts = [f"{counts[kind]} {_words(kind, counts[kind])}" for kind in _TOLD if counts[kind]]
    if len(parts) == 1:
        told = _words(fates[0].kind, k)
        return f"{'Both' if k == 2 else f'All {k}'} looks {told}."
    return f"Of the first {k} looks, {', '.join(parts[:-1])} and {parts[-1]}."


def _words(kind: str, count: int) -> str:
    one = count == 1
    return _TOLD[kind].format(
        its="its" if one else "their",
        it="it" if one else "they",
        was="was" if one else "were",
        tells="tells" if one else "tell",
    )


def _of_a_copy(shown: Experiment, k: int) -> str:
    assert shown.pull is not None
    (before, after), (first, then) = shown.pull.target, shown.cells
    drawn = f"The copy's cell ranks {after + 1} of {shown.before.config.cells} now and ranked {before + 1} before."
    kept = len(set(first[:k]) & set(then[:k]))
    if k == 1:
        return f"{drawn} The first look is {'at the same cell' if kept else 'at another cell'}."
    return f"{drawn} {kept} of the first {k} looks are at the same cells."


def by_chance(shown: Experiment, k: int) -> str:
    """What k looks at random would meet."""
    return f"Any one cell is among {k} random looks with a chance of {short(100 * k / shown.before.config.cells)} %."
