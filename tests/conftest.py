"""Settings for all tests."""

from __future__ import annotations

import torch

# The models of most tests are tiny: threads would cost more than they bring.
torch.set_num_threads(1)
