"""One traversal of one picture: reading what it needs, then taking its looks."""

from __future__ import annotations

from typing import Any

import tnet_core as tn
from pages.explore.links import Cell
from pages.sampling import Mode
from tnet_core.sampling.frame import Sampler


def prepare(source: tn.ImageSource, config: tn.TNetConfig, mode: Mode) -> None:
    """Reads of a large file what its looks need."""
    Sampler(source, config, mode.sampling).prepare(mode.levels_for(config, source.width, source.height))


def take_looks(
    model: tn.TNet,
    source: tn.ImageSource,
    policy: Any,
    budget: tuple[int, ...] | None,
    added: tuple[Cell, ...],
    mode: Mode,
) -> tn.Trace:
    """All looks of a budget (the largest, if none is given), then those added by hand."""
    budget = budget or mode.budget_for(model.config, source.width, source.height)
    traversal = tn.Traversal(model, source, budget, policy, len(budget) + 1, sampling=mode.sampling)
    trace = traversal.run()
    for parent, index in added:
        level = 2 if parent is None else trace.locations[parent].level + 1
        traversal.attend(level, index, parent)
        trace = traversal.trace()
    return trace
