"""Many looks take little more memory than a few: the engine runs them in parts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.long]  # that parts are run one by one is checked in test_engine.py

ROOT = Path(__file__).parents[2]
MEASURE = """
import torch
import tnet_core as tn
from tnet_core.inference.memory import PeakMemory
model = tn.optimised(tn.load("tnet-lite0-cub", device="cpu"))
assert model.features.engine.open(model.features).model is not None
def measure(looks):
    peak = PeakMemory(torch.device("cpu"))
    tn.traverse(model, "examples/nuthatch.jpg", looks)
    return peak.read()
measure(7), measure(7)  # what is allocated once; the engine keeps what its largest batch needed
few, many = measure(7), measure(25)
assert few > 100 << 20
print((many - few) / 2**20)
"""


def test_25_looks_need_at_most_40_mb_more_than_7() -> None:
    """They took 12 MB more, half of it the crops themselves; 125 MB if the engine ran all of them at once."""
    environment = {name: value for name, value in os.environ.items() if name != "TNET_ENGINE"}
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURE]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 40
