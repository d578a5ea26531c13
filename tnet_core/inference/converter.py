"""The processes that convert models for the engine: started when one is needed, or early by an entry point.

Nothing here imports PyTorch: `startup.py` starts a converter before PyTorch is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

COMMAND = ("-P", "-m", "tnet_core.inference.conversion")  # Python's arguments

_ready: list[subprocess.Popen[bytes]] = []  # converters that were started early, and have imported PyTorch meanwhile
_lock = threading.Lock()


def start_converter() -> subprocess.Popen[bytes]:
    """Start a process that waits for a backbone to convert."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen([sys.executable, *COMMAND], stdin=pipe, stdout=pipe, stderr=null, env=environment)


def adopt(converter: subprocess.Popen[bytes] | None) -> None:
    """Keep a process that was started early for the next conversion."""
    if converter is not None:
        with _lock:
            _ready.append(converter)


def take_converter() -> subprocess.Popen[bytes]:
    """Return a process that was started early, or a new one."""
    with _lock:
        while _ready:
            ready = _ready.pop()
            if ready.poll() is None:
                return ready
            ready.communicate()  # it has ended meanwhile, as where memory is short
    return start_converter()


def dismiss() -> None:
    """End processes that were started early and are not needed."""
    with _lock:
        while _ready:
            converter = _ready.pop()
            converter.kill()
            converter.communicate()


def _forget_parent() -> None:
    """Give a fork its own lock, since another thread may have held it, and leave the converters to the parent."""
    global _lock
    _lock = threading.Lock()
    while _ready:
        converter = _ready.pop()
        converter.returncode = 0  # somebody else's child is not waited for
        for pipe in (converter.stdin, converter.stdout):
            if pipe is not None:
                pipe.close()


os.register_at_fork(after_in_child=_forget_parent)
