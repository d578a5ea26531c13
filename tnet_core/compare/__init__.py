"""Two traversals side by side: where they looked, in which order, and what that did to the decision.

Everything follows from two traces; no function runs the backbone. Cells are compared where both grids are of the same
size; boxes can always be compared, but on two pictures they compare positions, not what is seen there.
"""

from __future__ import annotations

from typing import Any

from tnet_core.compare.ledger import LedgerDifference, LedgerRow, common_classes, ledger_difference
from tnet_core.compare.similarity import (
    Overlap,
    RankCorrelation,
    agreement,
    area_overlap,
    kendall,
    order_correlation,
    overlap,
    same_grid,
    same_image,
    score_correlation,
    select_within,
    shared_cells,
    spearman,
)
from tnet_core.errors import TNetError
from tnet_core.inference.policies import rank_cells, resolve
from tnet_core.trace import Trace
from tnet_core.trace.restriction import retake_looks

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
    "order_by_policy",
    "order_correlation",
    "overlap",
    "retake_looks",
    "same_grid",
    "same_image",
    "score_correlation",
    "select_within",
    "shared_cells",
    "spearman",
]


def order_by_policy(trace: Trace, policy: Any) -> Trace:
    """Return the looks another policy takes of a two-level trace that looked at every cell, without the backbone.

    A look's feature vector does not depend on which others were taken, so the result is that of a traversal of its own.
    """
    at = {look.index: position for position, look in enumerate(trace.locations)}
    if trace.levels != 2 or len(at) != trace.config.cells:
        raise TNetError("Only two levels with every cell looked at can be ordered anew; traverse again otherwise.")
    name, rank = resolve(policy)
    return retake_looks(trace, [at[cell] for cell in rank_cells(rank, name, trace.distributions[0])], name)
