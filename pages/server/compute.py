"""Runs traversals: on a GPU that a hosted Space lends per call (ZeroGPU), elsewhere in one thread for all."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar, cast

import tnet_core as tn
from pages.sampling import SamplingMode
from pages.server.sessions import Cell
from tnet_core.sampling.frame import Sampler

F = TypeVar("F", bound=Callable[..., Any])


def run_on_accelerator(function: F) -> F:
    """Wrap the function in `spaces.GPU` where that package is there and the host has GPUs to lend."""
    if not os.environ.get("SPACES_ZERO_GPU"):
        return run_in_one_thread(function)
    try:
        import spaces
    except ImportError:
        return run_in_one_thread(function)
    return spaces.GPU(duration=30)(function)


def run_in_one_thread(function: F) -> F:
    """Wrap the function so that it always runs in the same thread, whoever calls it.

    Every thread that has computed keeps about 100 MB of freed memory for itself; requests come in dozens of threads.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="looks")

    @wraps(function)
    def run(*values: Any, **named: Any) -> Any:
        return thread.submit(function, *values, **named).result()

    return cast("F", run)


def prepare_looks(source: tn.ImageSource, config: tn.TNetConfig, mode: SamplingMode) -> None:
    """Read of a large file what its looks need."""
    Sampler(source, config, mode.sampling).prepare(mode.levels_for(config, source.width, source.height))


def take_looks(
    model: tn.TNet,
    source: tn.ImageSource,
    policy: Any,
    budget: tuple[int, ...] | None,
    mode: SamplingMode,
) -> tn.Trace:
    """Take all looks of a budget (the largest, if none is given)."""
    budget = budget or mode.budget_for(model.config, source.width, source.height)
    return tn.traverse(model, source, budget, policy, len(budget) + 1, sampling=mode.sampling)


def add_looks(model: tn.TNet, source: tn.ImageSource, trace: tn.Trace, cells: Sequence[Cell]) -> tn.Trace:
    """Return a trace with further looks at its picture; what it holds is not looked at again, and it stays as it is."""
    traversal = tn.resume(model, source, trace)
    levels = [look.level for look in trace.locations]
    for parent, index in cells:
        levels.append(2 if parent is None else levels[parent] + 1)
        traversal.attend(levels[-1], index, parent)
    return traversal.trace()


def release_freed_memory() -> None:
    """Give back to the system what the C library keeps of freed memory; 10 to 40 ms, so only after work of seconds.

    glibc gives most threads a pool of their own, and what is freed stays in its pool. Requests come in dozens of
    threads: after ten large pictures 390 MB lay in such pools, unused. Two pools for all (MALLOC_ARENA_MAX) are no way
    out: one run of the app held 700 MB more with them.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # other C libraries have no such function
            ctypes.CDLL(None).malloc_trim(0)
