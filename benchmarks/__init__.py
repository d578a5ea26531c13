"""Speed, memory and cost, each a command that prints a table and writes JSON."""

import os
import sys

if sys.argv[:1] == ["-m"]:  # a command of this package; PyTorch's threads read this when it is imported
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
