"""Budgets: how many looks to take in each grid, one number per level below the first."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from tnet_core.config import TNetConfig
from tnet_core.errors import TNetError

_MAX_LOOKS = 10_000  # of one traversal; keeps a mistyped budget from filling the memory


def check_budget(config: TNetConfig, budget: Sequence[int] | int | None, levels: int | None) -> tuple[int, ...]:
    """A valid budget for `levels` processing levels (default: the configuration's).

    None is the budget of training; for levels beyond those of training its last entry is repeated.
    """
    depth = config.levels if levels is None else _integer(levels, "The number of levels")
    if config.is_baseline:
        if depth != 1 or budget not in (None, (), [], 0, (0,), [0]):
            raise TNetError("This model is a baseline that sees the whole image at once: it takes no looks.")
        return ()
    if not 1 <= depth <= 12:
        raise TNetError(f"The number of levels must lie in 1…12, not {depth}.")
    if budget is None:
        trained = config.budget or (1,)
        looks = tuple((trained + trained[-1:] * depth)[: depth - 1])
    else:
        entries = [budget] if isinstance(budget, int) else budget
        if isinstance(entries, (str, bytes)) or not hasattr(entries, "__iter__"):
            raise TNetError(f"A budget is one whole number per level below the first, not {budget!r:.60}.")
        looks = tuple(_integer(k, "A budget entry") for k in entries)
    if len(looks) != depth - 1:
        raise TNetError(
            f"A budget of {len(looks)} entries does not fit {depth} levels: give {depth - 1} "
            "(one per level below the first), or say how many levels you want."
        )
    total, width = 0, 1
    for k in looks:
        if not 0 <= k <= config.cells:
            raise TNetError(
                f"A budget of {k} looks is not possible: a {config.grid}x{config.grid} grid has "
                f"{config.cells} cells (0…{config.cells})."
            )
        width *= k
        total += width
    if total > _MAX_LOOKS:
        raise TNetError(f"A budget of {total} looks in all is too large; at most {_MAX_LOOKS} are allowed.")
    return looks


def _integer(value: object, what: str) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TNetError(f"{what} must be a whole number, not {value!r:.60}.") from None
