"""Build a model from a configuration, with random weights."""

from __future__ import annotations

import threading

import torch

from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.init import initialise
from tnet_core.modeling.tnet import TNet

_seeding = threading.Lock()  # the generator that initialisation draws from is global


def default_device() -> torch.device:
    """CUDA where present, the CPU everywhere else."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def choose_device(device: torch.device | str | None) -> torch.device:
    """The device meant, if this machine has it."""
    if device is None:
        return default_device()
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError):
        raise TNetError(f"There is no device {str(device)!r:.40}; use cpu or cuda.") from None
    if chosen.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (chosen.index or 0) >= count:
            raise TNetError(f"This machine has no device '{chosen}' that PyTorch can use; use cpu.")
    elif chosen.type != "cpu":
        raise TNetError(f"Models run on cpu or cuda, not on '{chosen.type}'.")
    return chosen


def place(model: TNet, device: torch.device | str | None) -> TNet:
    """Put a model where it will run, channels-last and in eval mode."""
    return model.to(choose_device(device)).to(memory_format=torch.channels_last).eval()


def build(config: TNetConfig, seed: int = 0, *, device: torch.device | str | None = None) -> TNet:
    """A model in eval mode; the same seed gives the same weights, and global random state is untouched."""
    if not isinstance(config, TNetConfig):
        raise TNetError(f"A model is built from a TNetConfig, such as tn.preset(NAME), not from {config!r:.60}.")
    target = choose_device(device)
    with _seeding, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = TNet(config)
        initialise(model)
    return place(model, target)
