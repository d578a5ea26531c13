"""Which pixels looks are cut from, and how deep they go: what a page, a link or a program may ask for.

Nothing here looks at a picture; budgets follow from the rules of `pages.limits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import tnet_core as tn
from pages.limits import count_levels, largest_budget
from tnet_core.modeling.config import Sampling

AUTO: Literal["auto"] = "auto"
SAMPLINGS = ("official", "native")


@dataclass(frozen=True)
class SamplingMode:
    """How looks are cut: as the checkpoint was trained, unless something else is said."""

    sampling: Sampling | None = None  # None: the checkpoint's own, which is official for those that say nothing
    levels: Literal["auto"] | None = None  # "auto": as deep as the picture goes

    def levels_for(self, config: tn.TNetConfig, width: int, height: int) -> int:
        """Return the processing levels of a picture of this size."""
        return count_levels(config, width, height) if self.levels == AUTO else config.levels

    def budget_for(self, config: tn.TNetConfig, width: int, height: int) -> tuple[int, ...]:
        """Return the largest budget that a page takes."""
        return largest_budget(config, self.levels_for(config, width, height))


AS_TRAINED = SamplingMode()
DEEP = SamplingMode("native", AUTO)


def parse_mode(sampling: Any, levels: Any) -> SamplingMode:
    """Read what somebody asks for, who may have sent anything; None stands for what the checkpoint was trained with."""
    if sampling not in (None, "official", "native"):
        raise tn.TNetError(f"Looks are cut by 'official' or 'native' sampling, not by {sampling!r:.40}.")
    if levels is not None and levels != AUTO:
        raise tn.TNetError(f"Levels are those of training or 'auto', not {levels!r:.40}.")
    return SamplingMode(sampling, levels)


def check_mode(mode: SamplingMode, config: tn.TNetConfig) -> SamplingMode:
    """Return the mode; a TNetError where the checkpoint cannot be used that way."""
    if mode.levels == AUTO and (mode.sampling or config.sampling) != "native":
        raise tn.TNetError("More levels than in training need 'native' sampling: the network's own frame has no more.")
    return mode


def simplify_mode(mode: SamplingMode, config: tn.TNetConfig, width: int, height: int) -> SamplingMode:
    """Leave out of the mode what makes no difference for a picture of this size."""
    mode = check_mode(mode, config)
    if config.is_baseline or max(width, height) <= config.input_size:
        return AS_TRAINED
    sampling = None if mode.sampling == config.sampling else mode.sampling
    return SamplingMode(sampling, AUTO if mode.levels_for(config, width, height) > config.levels else None)
