"""Policies: plain callables that rank the cells of a grid.

A policy gets a `Distribution` (with the network's own logits) and returns cell indices, most wanted
first; the traversal takes as many as the budget allows. Because a ranking does not depend on the
budget, the looks of a small budget are always the first looks of a larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.numbers import check_entries, check_whole
from tnet_core.records import Distribution

Policy = Callable[[Distribution], Sequence[int]]


def learned(grid: Distribution) -> Sequence[int]:
    """Rank as the network does: by descending logit, ties to the lower index."""
    return grid.order.tolist()


def raster(grid: Distribution) -> Sequence[int]:
    """Rank from left to right, top to bottom."""
    return range(grid.cells)


def centre(grid: Distribution) -> Sequence[int]:
    """Rank from the middle outwards, ties to the lower index."""
    n = grid.logits.shape[0]
    line = np.arange(n) - (n - 1) / 2
    distance = line[:, None] ** 2 + line[None, :] ** 2
    return np.argsort(distance.ravel(), kind="stable").tolist()


def random(seed: int = 0) -> Policy:
    """Return a seeded shuffle, the same for the same grid whatever was visited before."""
    check_whole(seed, "The seed of a random policy", 0, 2**63 - 1)

    def choose(grid: Distribution) -> Sequence[int]:
        generator = np.random.default_rng([seed, len(grid.path), *grid.path])
        return generator.permutation(grid.cells).tolist()

    choose.__name__ = f"random:{seed}"
    return choose


def cells(chosen: Sequence[int] | Mapping[tuple[int, ...], Sequence[int]]) -> Policy:
    """Return a policy that names these cells of the first grid, or of several: {path of a grid: cells}.

    The path of a grid is the tuple of cells that leads to it: () for the thumbnail's.
    """
    table: dict[tuple[int, ...], Sequence[int]] = dict(chosen) if isinstance(chosen, Mapping) else {(): chosen}

    def choose(grid: Distribution) -> Sequence[int]:
        return table.get(grid.path, [])

    choose.__name__ = "cells"
    return choose


_NAMED: dict[str, Policy] = {"learned": learned, "raster": raster, "centre": centre}


def resolve(policy: Any) -> tuple[str, Policy]:
    """Return a policy's name and callable; given are a name such as "learned" or "random:7", cells or a callable."""
    if isinstance(policy, str):
        if policy in _NAMED:
            return policy, _NAMED[policy]
        name, _, seed = policy.partition(":")
        if name == "random" and (seed.isdecimal() or policy == "random") and len(seed) < 10:
            number = int(seed or 0)
            return f"random:{number}", random(number)
        known = ", ".join([*_NAMED, "random", "random:SEED"])
        raise TNetError(f"There is no policy {policy!r:.60}; known are {known}, or give a list of cells.")
    if callable(policy):
        return getattr(policy, "__name__", type(policy).__name__), policy
    if isinstance(policy, (list, tuple, Mapping, np.ndarray)):
        return "cells", cells(policy if isinstance(policy, Mapping) else list(policy))
    raise TNetError(f"A policy must be a name, a list of cells or a callable, not {type(policy).__name__}.")


def rank_cells(policy: Policy, name: str, grid: Distribution) -> list[int]:
    """Ask a policy and return its answer, which must be distinct cells of the grid."""
    answer = check_entries(policy(grid), f"What the policy '{name}' returns")
    cells = [check_whole(cell, f"A cell named by the policy '{name}'", 0, grid.cells - 1) for cell in answer]
    if len(set(cells)) != len(cells):
        raise TNetError(f"The policy '{name}' names a cell twice in one grid.")
    return cells
