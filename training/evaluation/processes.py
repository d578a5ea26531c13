"""Work that several processes share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from accelerate import Accelerator
from accelerate.utils import gather_object

from tnet_core.errors import TNetError

T = TypeVar("T")


def shared(indices: list[int], accelerator: Accelerator | None) -> AbstractContextManager[Any]:
    """This process's part of the indices, as a context."""
    return nullcontext(indices) if accelerator is None else accelerator.split_between_processes(indices)


def everywhere(work: Callable[[], T], accelerator: Accelerator | None) -> list[T]:
    """What each process computed, on every process. A process that fails still reports, so that the
    others do not wait for it: all of them end with its sentence."""
    if accelerator is None or accelerator.num_processes == 1:
        return [work()]
    mine: T | None = None
    problem = ""
    try:
        mine = work()
    except TNetError as error:
        problem = str(error)
    everything = gather_object([(mine, problem)])
    for _, sentence in everything:
        if sentence:
            raise TNetError(sentence)
    return [part for part, _ in everything]
