"""What if the picture were another one: changed pictures, and whether looks follow the content or stay in place."""

from tnet_core.counterfactual.follow import Followed, Lattice, compare, score
from tnet_core.counterfactual.looks import Fate, Pull, fates, find_look_at, find_nearest_cell, pull
from tnet_core.counterfactual.transforms import Move, Placement, moved, pasted, place
from tnet_core.numbers import correlate_ranks as spearman

__all__ = [
    "Fate",
    "Followed",
    "Lattice",
    "Move",
    "Placement",
    "Pull",
    "compare",
    "fates",
    "find_look_at",
    "find_nearest_cell",
    "moved",
    "pasted",
    "place",
    "pull",
    "score",
    "spearman",
]
