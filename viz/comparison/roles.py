"""What else an evaluation measured of a checkpoint: other ways to choose looks, and to stop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    label: str  # to tick
    suffix: str  # behind the name of the checkpoint
    dash: str  # of its line


# In the order of the page. The first two are adaptive stopping, the others policies of `evaluation.json`.
ROLES = {
    "stop-probability": Role("Adaptive stopping, by probability", "adaptive (probability)", "dot"),
    "stop-margin": Role("Adaptive stopping, by margin", "adaptive (margin)", "dashdot"),
    "oracle": Role("Looks chosen with hindsight (oracle)", "oracle", "4px,2px"),
    "centre": Role("Looks from the centre outwards", "centre", "7px,3px"),
    "mean": Role("The same looks for every image", "same looks", "10px,3px"),
    "random": Role("Looks at random", "random", "2px,3px"),
    "without_context": Role("Learned looks, thumbnail left out", "no thumbnail", "10px,3px,2px,3px"),
}
STOPPING = {"stop-probability": "probability", "stop-margin": "margin"}  # role -> field of `stopping`
POLICIES = tuple(role for role in ROLES if role not in STOPPING)
