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

from tnet_core.inference import converter

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def start_early() -> subprocess.Popen[bytes] | None:
    """Start a process for `tnet_core.inference.converter.adopt`; None where no engine would be used."""
    if os.environ.get("TNET_ENGINE") == "torch" or find_spec("openvino") is None or (os.cpu_count() or 1) < 2:
        return None
    return converter.start_converter()


# Tests and other programs import the app without running it.
started = start_early() if Path(sys.argv[0]).name == "app.py" else None
