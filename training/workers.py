"""How processes that load images behave."""

from __future__ import annotations

import signal

import cv2
import torch


def before_workers() -> None:
    """To be called in the process that starts them.

    They run in parallel already, so OpenCV needs no threads of its own; and its threads must end
    here, since a forked process that tries to end them waits for ever.
    """
    cv2.setNumThreads(1)


def quiet_worker(_: int) -> None:
    """To be called in each of them."""
    torch.set_num_threads(1)
    # A signal to the whole group must not take the data away from a run that is about to end cleanly.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
