"""Budgets: how many looks to take in each grid, one number per level below the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.numbers import check_entries, check_whole

if TYPE_CHECKING:
    from tnet_core.modeling.config import TNetConfig

_MAX_LOOKS_IN_ALL = 10_000  # keeps a mistyped budget from filling the memory
MAX_LEVELS = 12


def check_budget(config: TNetConfig, budget: Sequence[int] | int | None, levels: int | None) -> tuple[int, ...]:
    """Return a valid budget for `levels` processing levels (default: the configuration's).

    None is the budget of training; for levels beyond those of training its last entry is repeated.
    """
    depth = config.levels if levels is None else check_whole(levels, "The number of levels", 1, MAX_LEVELS)
    if config.is_baseline:
        if depth != 1 or (budget is not None and any(budget_entries(budget))):
            raise TNetError("This model is a baseline that sees the whole image at once: it takes no looks.")
        return ()
    if budget is None:
        trained = config.budget or (1,)
        looks = tuple((trained + trained[-1:] * depth)[: depth - 1])
    else:
        looks = budget_entries(budget)
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
    if total > _MAX_LOOKS_IN_ALL:
        raise TNetError(f"A budget of {total} looks in all is too large; at most {_MAX_LOOKS_IN_ALL} are allowed.")
    return looks


def extend_budget(config: TNetConfig, budget: Sequence[int] | int | None, depth: int) -> Sequence[int] | int | None:
    """Return a budget for a depth nobody counted: what is given, then training's last entry for each further level."""
    if budget is None or config.is_baseline:
        return budget
    given = budget_entries(budget)
    if len(given) > depth - 1:
        raise TNetError(f"A budget of {len(given)} entries is longer than the {depth} levels that this picture takes.")
    return given + (config.budget or (1,))[-1:] * (depth - 1 - len(given))


def budget_entries(budget: Sequence[int] | int) -> tuple[int, ...]:
    """Return the numbers of a budget; a single one stands for two levels."""
    if not isinstance(budget, (str, bytes)) and not np.ndim(budget):
        return (check_whole(budget, "A budget"),)
    return tuple(check_whole(k, "A budget entry") for k in check_entries(budget, "A budget"))
