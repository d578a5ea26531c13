"""Positional encoding module (section 3.2, appendix B.1.5): says where, and at which scale, a feature was seen."""

from __future__ import annotations

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def encode_positions(positions: Tensor, length: int) -> Tensor:
    """Encode integer positions (y, x, scale): (B, 3) -> (B, length).

    K = length // 6 frequencies 100^(-t / (K - 1)); sine and cosine of y, x and scale, then zeros.
    The paper counts one frequency more and puts x first; this is what the official code does.
    """
    angles = positions.to(torch.float32).unsqueeze(2) * _make_frequencies(length // 6, positions.device)  # (B, 3, K)
    waves = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)  # (B, 6K): sin y, cos y, sin x, …
    return F.pad(waves, (0, length - waves.shape[1]))


@lru_cache(maxsize=16)
def _make_frequencies(count: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # what is kept must do for learning too
        steps = torch.arange(count, device=device, dtype=torch.float32)
        return 100.0 ** (-steps / max(count - 1, 1))  # (K,)


class PositionalEncodingModule(nn.Module):
    """V' from V and a position; `kind` is the configuration's `positional`."""

    def __init__(self, kind: str, num_features: int) -> None:
        super().__init__()
        self.kind = kind
        self.length = num_features if kind == "concat" else num_features // 4
        inputs = num_features + self.length if kind == "concat" else self.length
        self.linear = nn.Linear(inputs, num_features)

    def forward(self, vectors: Tensor, positions: Tensor) -> Tensor:
        """Add positions (B, 3), as (y, x, scale), to vectors: V (B, D) -> V' (B, D)."""
        encoding = encode_positions(positions, self.length).to(vectors.dtype)
        if self.kind == "concat":
            return self.linear(torch.cat([vectors, encoding], dim=1))
        moved = vectors + self.linear(encoding)
        # Without the activation, and zero at the start, a pretrained classifier works unchanged.
        return F.silu(moved) if self.kind == "silu" else moved
