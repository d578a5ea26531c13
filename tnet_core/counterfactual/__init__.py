"""What if the picture were another one: changed pictures, and whether looks follow the content or stay in place."""

from tnet_core.counterfactual.follow import Followed, Lattice, compare, score, spearman
from tnet_core.counterfactual.transforms import Move, Placement, moved, pasted, place

__all__ = ["Followed", "Lattice", "Move", "Placement", "compare", "moved", "pasted", "place", "score", "spearman"]
