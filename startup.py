"""What happens before PyTorch is imported; `app.py` imports this first.

PyTorch's threads read their settings when it is imported: waiting threads that spin take the cores from whoever has
work to do on a busy host. And a process that converts models for the engine needs seconds for imports of its own, so it
starts now and is ended unused where the models were converted before.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def start_converter() -> subprocess.Popen[bytes] | None:
    """Start a process for `tnet_core.inference.conversion.adopt`; None where no engine would be used."""
    if os.environ.get("TNET_ENGINE") == "torch" or find_spec("openvino") is None or (os.cpu_count() or 1) < 2:
        return None
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tnet_core.inference.conversion"]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, env=environment, cwd=Path(__file__).parent)


# Tests and other programs import the app without running it.
converter = start_converter() if Path(sys.argv[0]).name == "app.py" else None
