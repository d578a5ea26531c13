"""Replay: take a trace's looks again and compare every number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.imageio.source import ImageSource
from tnet_core.inference.traversal import Traversal
from tnet_core.modeling.tnet import TNet
from tnet_core.trace import Trace

# Looks taken one by one or together differ by rounding; another weight differs by far more.
TOLERANCE = 1e-4
ROUGH_TOLERANCE = 0.1  # where one of the two was not computed in float32


def replay(trace: Trace, model: TNet, image: Any) -> Trace:
    """Recompute a trace from its image; a TNetError names the first number that differs.

    Times and memory are not compared, class names are. Numbers may differ by `TOLERANCE` of the largest of their kind,
    by `ROUGH_TOLERANCE` where trace or model is not in float32. Returns the new trace.
    """
    if model.config != trace.config:
        raise TNetError("The replay failed: this model's configuration differs from the one the trace was made with.")
    source = ImageSource.open(image)
    trace.check_image(source)
    traversal = Traversal(model, source, trace.budget, levels=trace.levels, sampling=trace.sampling)
    traversal.step()
    for look in trace.locations:
        traversal.attend(look.level, look.index, look.parent)
    again = traversal.trace()
    if [grid.parent for grid in trace.distributions] != [grid.parent for grid in again.distributions]:
        raise TNetError("The replay failed: the trace does not hold the grids that its looks open, in their order.")
    sets = trace.aggregator.list_known()
    pairs = zip(_list_numbers(trace, sets), _list_numbers(again, sets), strict=True)
    for name, before, now in itertools.chain(((name, a, b) for (name, a), (_, b) in pairs), _list_ranks(trace)):
        difference = find_difference(before, now, find_tolerance(trace, again))
        if difference is not None:
            raise TNetError(f"The replay failed: {name}{difference}.")
    for cls, (name, called) in enumerate(zip(trace.class_names, again.class_names, strict=False)):
        if name != called:
            raise TNetError(
                f"The replay failed: class_names[{cls}] is {name!r:.60} in the trace, but {called!r:.60} now."
            )
    return again


def find_tolerance(trace: Trace, again: Trace) -> float:
    """Return by how much numbers of two traces may differ."""
    return TOLERANCE if trace.precision == again.precision == "float32" else ROUGH_TOLERANCE


def find_difference(before: np.ndarray, now: np.ndarray, tolerance: float = TOLERANCE) -> str | None:
    """Return where two arrays first differ and how, or None."""
    if before.shape != now.shape:
        return f" has shape {before.shape} in the trace, but {now.shape} now"
    scale = 1 + np.abs(before).max(initial=0)
    wrong = np.flatnonzero(~(np.abs(before - now) <= tolerance * scale))
    if not len(wrong):
        return None
    at = wrong[0]
    place = "" if before.size == 1 else f"[{', '.join(map(str, np.unravel_index(at, before.shape)))}]"
    return f"{place} is {before.flat[at]:.6g} in the trace, but {now.flat[at]:.6g} now"


def _list_numbers(trace: Trace, sets: Sequence[tuple[int, ...]]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield every number of a trace with the name it is reported by, in the order of computation."""
    yield "image.width", np.array(trace.image.width)
    yield "image.height", np.array(trace.image.height)
    for i, grid in enumerate(trace.distributions):
        yield f"distributions[{i}].logits", grid.logits.astype(np.float64)
        yield f"distributions[{i}].probabilities", grid.probabilities.astype(np.float64)
    for i, look in enumerate(trace.locations):
        for name in ("box", "pixels", "logit", "prob", "lift"):
            yield f"locations[{i}].{name}", np.array(getattr(look, name), dtype=np.float64)
    yield "pixels_read", np.array(trace.pixels_read, dtype=np.float64)
    yield "features", trace.features.astype(np.float64)
    yield "projections", trace.projections.astype(np.float64)
    yield "bias", trace.bias.astype(np.float64)
    for k in range(len(trace.locations) + 1):
        yield f"weights(k={k})", trace.weights(k).astype(np.float64)
        yield f"logits(k={k})", trace.logits(k).astype(np.float64)
    for rows in sets:
        yield f"weights(rows={list(rows)})", trace.aggregator.weights(rows).astype(np.float64)


def _list_ranks(trace: Trace) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each look's rank and what the trace's own logits say of it; rounding may swap two cells that tie."""
    grids = {grid.parent: grid.ranks.ravel() for grid in trace.distributions}
    for i, look in enumerate(trace.locations):
        yield f"locations[{i}].rank", np.array(look.rank), grids[look.parent][look.index]
