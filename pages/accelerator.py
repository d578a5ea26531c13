"""Where a hosted Space lends a GPU per call (ZeroGPU), traversals ask for it; elsewhere nothing changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def on_accelerator(function: F) -> F:
    """The function under `spaces.GPU` where that package is there and the host has GPUs to lend."""
    if not os.environ.get("SPACES_ZERO_GPU"):
        return function
    try:
        import spaces
    except ImportError:
        return function
    return spaces.GPU(duration=30)(function)
