"""Two traversals side by side: where they looked, in which order, and what that did to the decision.

Everything follows from two traces; no function runs the backbone. Cells are compared where both grids are of the same
size; boxes can always be compared, but on two pictures they compare positions, not what is seen there.
"""

from tnet_core.compare.classes import common_classes
from tnet_core.compare.ledger import LedgerDifference, LedgerRow, ledger_difference
from tnet_core.compare.overlap import (
    Overlap,
    agreement,
    area_overlap,
    overlap,
    same_grid,
    same_image,
    shared_cells,
    within,
)
from tnet_core.compare.ranks import RankCorrelation, kendall, order_correlation, score_correlation, spearman
from tnet_core.compare.retake import ordered
from tnet_core.trace.restriction import retaken

__all__ = [
    "LedgerDifference",
    "LedgerRow",
    "Overlap",
    "RankCorrelation",
    "agreement",
    "area_overlap",
    "common_classes",
    "kendall",
    "ledger_difference",
    "order_correlation",
    "ordered",
    "overlap",
    "retaken",
    "same_grid",
    "same_image",
    "score_correlation",
    "shared_cells",
    "spearman",
    "within",
]
