"""Where traversals compute: on a GPU that a hosted Space lends per call (ZeroGPU), elsewhere in one thread for all."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def on_accelerator(function: F) -> F:
    """The function under `spaces.GPU` where that package is there and the host has GPUs to lend."""
    if not os.environ.get("SPACES_ZERO_GPU"):
        return in_one_thread(function)
    try:
        import spaces
    except ImportError:
        return in_one_thread(function)
    return spaces.GPU(duration=30)(function)


def in_one_thread(function: F) -> F:
    """The same, always in the same thread, whoever calls it.

    Every thread that has computed keeps about 100 MB of freed memory for itself; requests come in dozens of threads.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="looks")

    @wraps(function)
    def called(*values: Any, **named: Any) -> Any:
        return thread.submit(function, *values, **named).result()

    return cast("F", called)
