"""The scores that a checkpoint's evaluation has for a change like the one on the page."""

from __future__ import annotations

from tnet_core.checkpoints import CheckpointCard
from viz.audit.fields import estimate, text
from viz.common.evaluation import read_mapping
from viz.what_if.model import Measured


def measured(about: CheckpointCard, name: str | None) -> tuple[Measured, ...]:
    """Of all moves, and of the one with this name in the file; nothing where they are not there."""
    if about.evaluation is None:
        return ()
    section = read_mapping(about.evaluation.raw, "equivariance")
    single = read_mapping(read_mapping(section, "transforms"), name) if name is not None else {}
    found = []
    for told, entry in (("all moves together", section), (text(single.get("about")) or "this move", single)):
        score = estimate(entry.get("score"), entry.get("score_interval"))
        if score is not None:
            found.append(Measured(told, score))
    return tuple(found)
