"""Goes on with a traversal where a trace ended: one more look costs one look."""

from __future__ import annotations

from typing import Any

from tnet_core.building import check_model
from tnet_core.errors import TNetError
from tnet_core.inference.policies import rank_cells
from tnet_core.inference.traversal import Traversal
from tnet_core.inference.viewer import Node
from tnet_core.modeling.tnet import TNet
from tnet_core.trace import Trace


def resume(model: TNet, image: Any, trace: Trace, policy: Any = None) -> Traversal:
    """Return a traversal that has seen what a trace holds; nothing of it is looked at again, and it stays as it is.

    The model and the image must be those of the trace. `policy` is needed where that of the trace is known by no name.
    Of a trace without pixels, the crops of further looks alone are known.
    """
    check_model(model)
    if not isinstance(trace, Trace):
        raise TNetError(f"A traversal is resumed from a Trace, not from {type(trace).__name__}.")
    if model.config != trace.config:
        raise TNetError("This model's configuration differs from the one the trace was made with.")
    wanted = trace.policy if policy is None else policy
    traversal = Traversal(model, image, trace.budget, wanted, trace.levels, sampling=trace.sampling)
    if (traversal.source.width, traversal.source.height) != (trace.image.width, trace.image.height):
        raise TNetError("This image is not the one the trace was made of: its size differs.")
    traversal._opening = trace.timing.opening
    grids = {grid.parent: grid for grid in trace.distributions}
    for row, look in enumerate((None, *trace.locations)):
        if look is None:
            [target] = traversal._list_targets(limit=1)
        else:
            target = traversal._target(0 if look.parent is None else look.parent + 1, look.index)
        grid = grids.get(None if look is None else row - 1)
        node = Node(
            target,
            look,
            grid,
            ranking=[] if grid is None else rank_cells(traversal._policy, traversal.policy_name, grid),
            crop=None if trace.seen is None else trace.seen[row],
            pixels_read=trace.pixels_read[row],
            seconds=trace.timing.seconds[row],
            feature=trace.features[row],
            projection=trace.projections[row],
        )
        traversal._append([node])
    return traversal
