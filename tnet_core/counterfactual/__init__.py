"""What if the picture were another one: changed pictures, and whether looks follow the content or stay in place."""

from tnet_core.counterfactual.follow import Followed, Lattice, compare, score, spearman
from tnet_core.counterfactual.looks import Fate, Pull, fates, pull
from tnet_core.counterfactual.transforms import Move, Placement, moved, pasted, place

__all__ = [
    "Fate",
    "Followed",
    "Lattice",
    "Move",
    "Placement",
    "Pull",
    "compare",
    "fates",
    "moved",
    "pasted",
    "place",
    "pull",
    "score",
    "spearman",
]
