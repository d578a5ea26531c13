"""Which pixels looks are cut from, and how deep they go: what a page, a link or a program may ask for.

Nothing here looks at a picture; budgets follow from the rules of `viz.budgets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import tnet_core as tn
from tnet_core.modeling.config import Sampling
from viz.budgets import deepest, largest

AUTO: Literal["auto"] = "auto"
SAMPLINGS = ("official", "native")


@dataclass(frozen=True)
class Mode:
    """As the checkpoint was trained, unless something else is said."""

    sampling: Sampling | None = None  # None: the checkpoint's own, which is official for those that say nothing
    levels: Literal["auto"] | None = None  # "auto": as deep as the picture goes

    def levels_for(self, config: tn.TNetConfig, width: int, height: int) -> int:
        """Processing levels of a picture of this size."""
        return deepest(config, width, height) if self.levels == AUTO else config.levels

    def budget_for(self, config: tn.TNetConfig, width: int, height: int) -> tuple[int, ...]:
        """The largest one that a page takes."""
        return largest(config, self.levels_for(config, width, height))


OWN = Mode()


def wanted(sampling: Any, levels: Any) -> Mode:
    """What somebody asks for, who may have sent anything; None stands for what the checkpoint was trained with."""
    if sampling not in (None, "official", "native"):
        raise tn.TNetError(f"Looks are cut by 'official' or 'native' sampling, not by {sampling!r:.40}.")
    if levels is not None and levels != AUTO:
        raise tn.TNetError(f"Levels are those of training or 'auto', not {levels!r:.40}.")
    return Mode(sampling, levels)


def checked(mode: Mode, config: tn.TNetConfig) -> Mode:
    """The same, where the checkpoint can be used that way."""
    if mode.levels == AUTO and (mode.sampling or config.sampling) != "native":
        raise tn.TNetError("More levels than in training need 'native' sampling: the network's own frame has no more.")
    return mode


def settled(mode: Mode, config: tn.TNetConfig, width: int, height: int) -> Mode:
    """What is left of a wish on a picture of this size: nothing that makes no difference."""
    mode = checked(mode, config)
    if config.is_baseline or max(width, height) <= config.input_size:
        return OWN
    sampling = None if mode.sampling == config.sampling else mode.sampling
    return Mode(sampling, AUTO if mode.levels_for(config, width, height) > config.levels else None)
