"""Looking at a model in evaluation mode and leaving it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation and inference mode. Afterwards each module is back in its own mode: frozen batch
    norms stay in evaluation mode while the rest trains, so one flag for all would not do."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in before:
            module.training = training
