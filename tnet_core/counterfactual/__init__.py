"""What if the picture were another one: changed pictures, and whether looks follow the content or stay in place."""

from tnet_core.counterfactual.follow import CellCentres, Followed, compare, compute_score
from tnet_core.counterfactual.looks import Fate, Pull, find_fates, find_look_at, find_nearest_cell, measure_pull
from tnet_core.counterfactual.transforms import Move, Placement, move_content, paste_part, place

__all__ = [
    "CellCentres",
    "Fate",
    "Followed",
    "Move",
    "Placement",
    "Pull",
    "compare",
    "compute_score",
    "find_fates",
    "find_look_at",
    "find_nearest_cell",
    "measure_pull",
    "move_content",
    "paste_part",
    "place",
]
