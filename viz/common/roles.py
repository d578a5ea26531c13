"""What else an evaluation measured of a checkpoint: other ways to choose looks, and to stop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    label: str  # to tick
    suffix: str  # behind the name of the checkpoint
    symbol: str = ""  # small, on a thin solid line; none: the line is dotted
    dash: str = "solid"


# In the order of the page. The first two are adaptive stopping, the others policies of `evaluation.json`.
ROLES = {
    "stop-probability": Role("Adaptive stopping, by probability", "adaptive (probability)", dash="dot"),
    "stop-margin": Role("Adaptive stopping, by margin", "adaptive (margin)", dash="dashdot"),
    "oracle": Role("Looks chosen with hindsight (oracle)", "oracle", "triangle-up"),
    "centre": Role("Looks from the centre outwards", "centre", "cross"),
    "mean": Role("The same looks for every image", "same looks", "square"),
    "random": Role("Looks at random", "random", "x"),
    "without_context": Role("Learned looks, thumbnail left out", "no thumbnail", "diamond"),
}
STOPPING = {"stop-probability": "probability", "stop-margin": "margin"}  # role -> field of `stopping`
POLICIES = tuple(role for role in ROLES if role not in STOPPING)
