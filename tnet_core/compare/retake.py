"""Other looks of a traversal that has them already: fewer of them, in another order, without the backbone.

A look's feature vector does not depend on which others were taken, so the result is that of a traversal of its own.
"""

from __future__ import annotations

from typing import Any

from tnet_core.errors import TNetError
from tnet_core.inference.policies import ranked, resolve
from tnet_core.trace import Trace
from tnet_core.trace.restriction import retaken


def ordered(trace: Trace, policy: Any) -> Trace:
    """The looks another policy takes in a traversal of two levels that looked at every cell."""
    at = {look.index: position for position, look in enumerate(trace.locations)}
    if trace.levels != 2 or len(at) != trace.config.cells:
        raise TNetError("Only two levels with every cell looked at can be ordered anew; traverse again otherwise.")
    name, rank = resolve(policy)
    return retaken(trace, [at[cell] for cell in ranked(rank, name, trace.distributions[0])], name)
