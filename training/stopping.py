"""When to stop before the last step: somebody asked for it, or the time is up."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any


class Stopping:
    """A context in which SIGTERM asks for a clean end instead of a sudden one."""

    def __init__(self, minutes: float | None) -> None:
        self._began = time.monotonic()
        self._minutes = minutes
        self._previous: Any = None
        self.asked = False
        self.reserve = 5.0  # seconds that must remain for what follows the last step

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():  # only there signals can be handled
            self._previous = signal.signal(signal.SIGTERM, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)

    def _ask(self, _: int, __: FrameType | None) -> None:
        self.asked = True

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def due(self) -> bool:
        return self.asked or not self.allows(0.0)

    def allows(self, seconds: float) -> bool:
        """Whether something that takes this long, and the reserve, still fit."""
        return self._minutes is None or self.seconds + seconds + self.reserve <= 60 * self._minutes
