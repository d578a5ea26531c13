"""Replay: take a trace's looks again and compare every number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.images.source import ImageSource
from tnet_core.tnet import TNet
from tnet_core.trace import Trace
from tnet_core.traversal import Traversal

# Looks taken one by one or together differ by rounding; another weight differs by far more.
TOLERANCE = 1e-4


def replay(trace: Trace, model: TNet, image: Any) -> Trace:
    """Recompute a trace from its image; a TNetError names the first number that differs.

    Times and memory are not compared. Returns the new trace.
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
    for (name, before), (_, now) in zip(_numbers(trace), _numbers(again), strict=True):
        difference = first_difference(before, now)
        if difference is not None:
            raise TNetError(f"The replay failed: {name}{difference}.")
    return again


def first_difference(before: np.ndarray, now: np.ndarray) -> str | None:
    """Where two arrays first differ and how, or None."""
    if before.shape != now.shape:
        return f" has shape {before.shape} in the trace, but {now.shape} now"
    scale = 1 + np.abs(before).max(initial=0)
    wrong = np.flatnonzero(~(np.abs(before - now) <= TOLERANCE * scale))
    if not len(wrong):
        return None
    at = wrong[0]
    place = "" if before.size == 1 else f"[{', '.join(map(str, np.unravel_index(at, before.shape)))}]"
    return f"{place} is {before.flat[at]:.6g} in the trace, but {now.flat[at]:.6g} now"


def _numbers(trace: Trace) -> Iterator[tuple[str, np.ndarray]]:
    """Every number of a trace under the name it is reported by, in the order of computation."""
    for i, grid in enumerate(trace.distributions):
        yield f"distributions[{i}].logits", grid.logits.astype(np.float64)
    for i, look in enumerate(trace.locations):
        yield f"locations[{i}].box", np.array(look.box)
        yield f"locations[{i}].pixels", np.array(look.pixels, dtype=np.float64)
    yield "features", trace.features.astype(np.float64)
    yield "projections", trace.projections.astype(np.float64)
    yield "bias", trace.bias.astype(np.float64)
    for k in range(len(trace.locations) + 1):
        yield f"weights(k={k})", trace.weights(k).astype(np.float64)
        yield f"logits(k={k})", trace.logits(k).astype(np.float64)
