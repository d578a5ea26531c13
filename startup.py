"""What happens before PyTorch is imported; `app.py` imports this first.

PyTorch's threads read their settings when it is imported: waiting threads that spin take the cores from whoever has
work to do on a busy host, and so do more threads than a container has processors. And a process that converts models
for the engine needs seconds for imports of its own, so it starts now and is ended unused where the models were
converted before.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tnet_core.inference import converter

# What a container may use of its host, in versions 2 and 1 of Linux' control groups: microseconds of each period.
QUOTAS = (("/sys/fs/cgroup/cpu.max",), ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"))


def set_threads() -> None:
    """Set the variables that PyTorch's threads read, unless the user did; the engine takes as many threads."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    quota = find_quota()
    if quota is not None and quota < (os.cpu_count() or 1):  # PyTorch counts the host's processors
        os.environ.setdefault("OMP_NUM_THREADS", str(quota))


def find_quota() -> int | None:
    """Return how many processors this container may use, at least 1; None where nothing limits it."""
    for files in QUOTAS:
        try:
            used, period = " ".join(Path(file).read_text() for file in files).split()
            if int(used) > 0:
                return max(1, round(int(used) / int(period)))
        except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
            continue
    return None


def start_early() -> subprocess.Popen[bytes] | None:
    """Start a process for `tnet_core.inference.converter.adopt`; None where no engine would be used."""
    if os.environ.get("TNET_ENGINE") == "torch" or find_spec("openvino") is None or (os.cpu_count() or 1) < 2:
        return None
    return converter.start_converter()


set_threads()
# Tests and other programs import the app without running it.
started = start_early() if Path(sys.argv[0]).name == "app.py" else None
