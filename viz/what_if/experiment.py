"""`Experiment`: two traversals of one picture, what the core says about them, and in one sentence what happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from tnet_core import Trace
from tnet_core.checkpoints import CheckpointCard
from tnet_core.counterfactual import (
    CellCentres,
    Fate,
    Followed,
    Placement,
    Pull,
    compare,
    find_fates,
    find_look_at,
    measure_pull,
)
from tnet_core.records import Box
from viz.common.evaluation import Estimate, read_estimate, read_mapping, read_text
from viz.common.text import format_percent

_START_LOOKS = 5  # looks that count at first
_FATE_WORDS = {
    "followed": "followed {its} content",
    "stayed": "stayed where {it} {was}",
    "neither": "did neither",
    "both": "cannot be told apart, since both places are looked at",
    "gone": "lost {its} content, which left the picture",
    "unmoved": "{tells} nothing, since the old place still shows {its} content",
}
NOTHING_CHANGED = "Nothing is changed yet: both sides show the same picture."


@dataclass(frozen=True)
class MeasuredScore:
    """A score of the checkpoint's evaluation."""

    about: str
    score: Estimate


@dataclass(frozen=True)
class LookAtCopy:
    """A look that sees the copy."""

    position: int  # in the order of looks
    is_own_cell: bool  # at the copy's own cell, or at one that covers at least half of the copy


@dataclass(frozen=True)
class Experiment:
    """One change of one picture. Exactly one of `placement` and `copied` is given."""

    title: str  # of the picture
    change: str  # 'mirrored left to right'
    before: Trace
    after: Trace
    pictures: tuple[str, str]  # data URIs: unchanged, changed
    placement: Placement | None = None
    copied: tuple[int, int] | None = None  # cell whose pixels were copied, cell that shows them, or most of them
    copy: Box | None = None  # what shows the copy, where it is not that cell
    has_changed: bool = True  # False where the request moves nothing
    label: int | None = None
    evaluated_on: str = ""  # on what the checkpoint was evaluated
    measured: tuple[MeasuredScore, ...] = ()
    settings: str = ""  # the change as parameters of the page's address
    sampling_note: str = ""  # how Explore looks at the picture, where that is not as in training

    @property
    def max_looks(self) -> int:
        """Looks at the whole picture, in both traversals."""
        return self.before.budget[0]

    @property
    def start_looks(self) -> int:
        return min(self.max_looks, _START_LOOKS)

    @cached_property
    def cells(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The cells of the looks at the whole picture, in their order: unchanged, changed."""
        before, after = (
            tuple(look.index for look in trace.locations if look.parent is None) for trace in (self.before, self.after)
        )
        return before, after

    @cached_property
    def centres(self) -> CellCentres:
        return CellCentres.of(self.before.config, self.before.image.width, self.before.image.height)

    @cached_property
    def followed(self) -> Followed | None:
        """What the grid did, by the definitions of the data-set score; None for a copy, and where nothing moved."""
        if self.placement is None or not self.has_changed:
            return None
        old, new = (trace.distributions[0].logits.reshape(1, -1) for trace in (self.before, self.after))
        return compare(old, new, self.centres, self.placement)

    @cached_property
    def pull(self) -> Pull | None:
        if self.copied is None:
            return None
        old, new = (trace.distributions[0].logits.ravel() for trace in (self.before, self.after))
        return measure_pull(old, new, self.before.cell_boxes(), *self.copied, self.copy)

    @property
    def copy_box(self) -> Box | None:
        """The box of the copy, or None without one."""
        return self.copy or (None if self.copied is None else self.before.cell_boxes()[self.copied[1]])

    def find_looks_at_copy(self, k: int) -> tuple[LookAtCopy | None, LookAtCopy | None]:
        """Return which of the first k looks is at the copy's own cell, or else covers half of it, before and after."""
        boxes, place = self.before.cell_boxes(), self.copy_box
        assert place is not None and self.copied is not None
        found: list[LookAtCopy | None] = []
        for cells in (side[:k] for side in self.cells):
            covering = find_look_at([boxes[cell] for cell in cells], place)
            if self.copied[1] in cells:
                found.append(LookAtCopy(cells.index(self.copied[1]), True))
            else:
                found.append(None if covering is None else LookAtCopy(covering, False))
        return found[0], found[1]

    def find_fates(self, k: int) -> list[Fate]:
        """Return what became of the first k looks, given the first k of the changed picture; nothing for a copy."""
        if self.placement is None:
            return []
        before, after = self.cells
        return find_fates(before[:k], after[:k], self.centres, self.placement)

    def build_budget(self, k: int) -> tuple[int, ...]:
        """Return the budget of the first k looks at the whole picture, with all looks inside them."""
        return (k, *self.before.budget[1:])


def read_measured_scores(about: CheckpointCard, name: str | None) -> tuple[MeasuredScore, ...]:
    """Read the scores of all moves, and of the one with this name in the file; nothing where there are none."""
    if about.evaluation is None:
        return ()
    section = read_mapping(about.evaluation.raw, "equivariance")
    single = read_mapping(read_mapping(section, "transforms"), name) if name is not None else {}
    found = []
    for told, entry in (("all moves together", section), (read_text(single.get("about")) or "this move", single)):
        score = read_estimate(entry.get("score"), entry.get("score_interval"))
        if score is not None:
            found.append(MeasuredScore(told, score))
    return tuple(found)


def format_verdict(shown: Experiment, k: int) -> str:
    """Say in one sentence what happened."""
    if not shown.has_changed:
        return NOTHING_CHANGED
    if shown.pull is not None:
        return _format_copy(shown, k)
    return format_fates(shown.find_fates(k), k)


def format_fates(fates: list[Fate], k: int) -> str:
    """Return 'Of the first 5 looks, 4 followed their content and 1 stayed where it was.'"""
    counts: Counter[str] = Counter(fate.kind for fate in fates)
    if k == 1:
        return f"The first look {_format_fate(fates[0].kind, 1)}."
    parts = [f"{counts[kind]} {_format_fate(kind, counts[kind])}" for kind in _FATE_WORDS if counts[kind]]
    if len(parts) == 1:
        told = _format_fate(fates[0].kind, k)
        return f"{'Both' if k == 2 else f'All {k}'} looks {told}."
    return f"Of the first {k} looks, {', '.join(parts[:-1])} and {parts[-1]}."


def _format_fate(kind: str, count: int) -> str:
    one = count == 1
    return _FATE_WORDS[kind].format(
        its="its" if one else "their",
        it="it" if one else "they",
        was="was" if one else "were",
        tells="tells" if one else "tell",
    )


def _format_copy(shown: Experiment, k: int) -> str:
    assert shown.pull is not None
    was, now = shown.find_looks_at_copy(k)
    if now is not None and was is None:
        does = "goes to the copy" if now.is_own_cell else "covers at least half of the copy"
        if k == 1:
            return f"The first look {does}; before, it was elsewhere."
        before = "was there" if now.is_own_cell else "did"
        return f"Look {now.position + 1} {does}; before, none of the first {k} looks {before}."
    if now is not None and was is not None:
        does = "is at the copy" if now.is_own_cell else "covers at least half of the copy"
        already = f"where look {was.position + 1} was already"
        return f"Look {now.position + 1} {does}, {already}: the copy may not be the reason."
    if was is not None:
        return f"No look is at the copy, where look {was.position + 1} was before: the copy drove it away."
    cells, rank = shown.before.config.cells, shown.pull.target[1] + 1
    who = f"None of the first {k} looks goes" if k > 1 else "The first look does not go"
    return f"{who} to the copy, whose own cell ranks {rank} of {cells}."


def format_kept(shown: Experiment, k: int) -> str:
    """Say how the copy's cell ranks and how many looks stay where they were."""
    assert shown.pull is not None
    (before, after), (first, then) = shown.pull.target, shown.cells
    kept = len(set(first[:k]) & set(then[:k]))
    looks = f"{kept} of the first {k} looks are" if k > 1 else f"The first look is {'' if kept else 'not '}"
    same = "at the same cells" if k > 1 else "at the same cell"
    ranks = f"The copy's own cell ranks {after + 1} of {shown.before.config.cells} now and ranked {before + 1} before."
    return f"{ranks} {looks.strip()} {same}."


def format_chance(shown: Experiment, k: int) -> str:
    """Say what k looks at random would meet."""
    chance = format_percent(k / shown.before.config.cells)
    return f"Any one cell is among {k} random looks with a chance of {chance}."
