"""Work that several processes share. Accelerate is needed only where there are several."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from tnet_core.errors import TNetError

if TYPE_CHECKING:
    from accelerate import Accelerator

T = TypeVar("T")


def shared(indices: list[int], accelerator: Accelerator | None) -> AbstractContextManager[Any]:
    """This process's part of the indices, as a context."""
    return nullcontext(indices) if accelerator is None else accelerator.split_between_processes(indices)


def everywhere(work: Callable[[], T], accelerator: Accelerator | None) -> list[T]:
    """What each process computed, on every process. A process that fails still reports, so that the
    others do not wait for it: all of them end with its sentence."""
    if accelerator is None or accelerator.num_processes == 1:
        return [work()]
    from accelerate.utils import gather_object

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
