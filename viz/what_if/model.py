"""What the tab shows: two traversals of one picture, and what the core says about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tnet_core import Trace
from tnet_core.counterfactual import Fate, Followed, Lattice, Placement, Pull, compare, fates, pull
from viz.audit.model import Estimate

_USUAL = 5  # looks that count at first


@dataclass(frozen=True)
class Measured:
    """A score of the checkpoint's evaluation."""

    about: str
    score: Estimate


@dataclass(frozen=True)
class Experiment:
    """One change of one picture. Exactly one of `placement` and `copied` is given."""

    title: str  # of the picture
    change: str  # 'mirrored left to right'
    before: Trace
    after: Trace
    pictures: tuple[str, str]  # data URIs: unchanged, changed
    placement: Placement | None = None
    copied: tuple[int, int] | None = None  # cell whose pixels were copied, cell that shows them
    changed: bool = True  # False where the wish moves nothing
    label: int | None = None
    where: str = ""  # on what the checkpoint was evaluated
    measured: tuple[Measured, ...] = ()
    otherwise: str = ""  # how Explore looks at the picture, where that is not as in training

    @property
    def most(self) -> int:
        """Looks at the whole picture, in both traversals."""
        return self.before.budget[0]

    @property
    def start(self) -> int:
        return min(self.most, _USUAL)

    @cached_property
    def cells(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of the looks at the whole picture, in their order: unchanged, changed."""
        before, after = (
            tuple(look.index for look in trace.locations if look.parent is None) for trace in (self.before, self.after)
        )
        return before, after

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice.of(self.before.config, self.before.image.width, self.before.image.height)

    @cached_property
    def followed(self) -> Followed | None:
        """What the grid did, by the definitions of the data-set score; None for a copy, and where nothing moved."""
        if self.placement is None or not self.changed:
            return None
        old, new = (trace.distributions[0].logits.reshape(1, -1) for trace in (self.before, self.after))
        return compare(old, new, self.lattice, self.placement)

    @cached_property
    def pull(self) -> Pull | None:
        if self.copied is None:
            return None
        old, new = (trace.distributions[0].logits.ravel() for trace in (self.before, self.after))
        return pull(old, new, self.before.cell_boxes(), *self.copied)

    def fates(self, k: int) -> list[Fate]:
        """Of the first k looks, given the first k of the changed picture; nothing for a copy."""
        if self.placement is None:
            return []
        before, after = self.cells
        return fates(before[:k], after[:k], self.lattice, self.placement)

    def budget(self, k: int) -> tuple[int, ...]:
        """The first k looks at the whole picture, with all looks inside them."""
        return (k, *self.before.budget[1:])
