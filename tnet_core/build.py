"""Build a model from a configuration, with random weights."""

from __future__ import annotations

import torch

from tnet_core.config import TNetConfig
from tnet_core.modules.init import initialise
from tnet_core.tnet import TNet


def default_device() -> torch.device:
    """CUDA where present, the CPU everywhere else."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def build(config: TNetConfig, seed: int = 0, *, device: torch.device | str | None = None) -> TNet:
    """A model in eval mode; the same seed gives the same weights, and global random state is untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = TNet(config)
        initialise(model)
    target = default_device() if device is None else torch.device(device)
    return model.to(target).to(memory_format=torch.channels_last).eval()
