"""Location module (section 3.2, appendix B.1.4): scores the n x n candidate cells of an image from a map of it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LOG_EPSILON = 1e-10  # inside the logarithm of a probability, as in the official code


class CoordinateChannels(nn.Module):
    """Two channels, a_h v + b_h on rows and a_w u + b_w on columns, u and v in [-1, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.height_scaling = nn.Linear(1, 1)
        self.width_scaling = nn.Linear(1, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Return the channels: (B, c, n, n) -> (B, 2, n, n), height first."""
        batch, _, n, _ = features.shape
        line = torch.linspace(-1, 1, n, device=features.device, dtype=features.dtype).unsqueeze(1)  # (n, 1)
        height = self.height_scaling(line).view(1, 1, n, 1).expand(batch, 1, n, n)
        width = self.width_scaling(line).view(1, 1, 1, n).expand(batch, 1, n, n)
        return torch.cat([height, width], dim=1)


class LocationModule(nn.Module):
    """The variant of fMoW and the bird data sets: 1x1 convolutions with squeeze-excitation."""

    def __init__(self, channels: int, num_features: int) -> None:
        super().__init__()
        squeezed = max(1, channels // 2)
        self.init = nn.Conv2d(channels, channels, 1)
        self.se_1 = nn.Conv2d(channels, squeezed, 1)
        self.se_2 = nn.Conv2d(squeezed, channels, 1)
        self.coordinates = CoordinateChannels()
        self.final = nn.Conv2d(channels + 2, channels, 1)
        self.output = nn.Conv2d(channels, 1, 1)

    def forward(self, features: Tensor, vector: Tensor | None) -> Tensor:
        """Score cells: F (B, c, n, n) -> raw logits (B, n * n), row-major. V (B, D) is the other variant's."""
        x = F.silu(self.init(features))
        gate = self.se_2(F.silu(self.se_1(x.mean((2, 3), keepdim=True)))).sigmoid()  # (B, c, 1, 1)
        x = x * gate
        x = torch.cat([x, self.coordinates(x)], dim=1)  # (B, c + 2, n, n)
        return self.output(F.silu(self.final(x))).flatten(1)


class ContextLocationModule(nn.Module):
    """The variant of ImageNet: the feature vector of the whole image is given to every cell."""

    def __init__(self, channels: int, num_features: int) -> None:
        super().__init__()
        self.coordinates = CoordinateChannels()
        self.conv = nn.Conv2d(channels + num_features + 2, num_features, 1)
        self.output = nn.Conv2d(num_features, 1, 1)

    def forward(self, features: Tensor, vector: Tensor) -> Tensor:
        """Score cells: F (B, c, n, n), V (B, D) -> raw logits (B, n * n), row-major."""
        n = features.shape[-1]
        context = vector[:, :, None, None].expand(-1, -1, n, n)
        x = torch.cat([features, context, self.coordinates(features)], dim=1)
        return self.output(F.leaky_relu(self.conv(x), 0.2)).flatten(1)


def normalise_logits(raw: Tensor) -> Tensor:
    """Scale each grid's logits to unit length (B, n * n).

    The official code has no epsilon and gives NaN for all-zero logits; here those stay zero, i.e.
    uniform. Because of this scaling no probability exceeds another by more than e^2.
    """
    tiny = torch.finfo(torch.float32).tiny
    # The result does not depend on the scale; taking it out first keeps squares in range.
    scale = raw.detach().abs().amax(1, keepdim=True).clamp_min(tiny)
    return F.normalize(raw / scale, dim=1, eps=tiny)


def rank_cells(scores: Tensor) -> Tensor:
    """Return all cells by descending score, ties to the lower index: (B, n * n) -> (B, n * n) int64."""
    return scores.sort(dim=1, descending=True, stable=True).indices


def top_k(probabilities: Tensor, k: int) -> Tensor:
    """Return the k most probable cells in raster order, as the official code processes them: (B, k)."""
    return rank_cells(probabilities)[:, :k].sort(dim=1).values
