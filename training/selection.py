"""How looks are chosen while training: the official top k, and two ways beyond it.

Each is a `Select`: probabilities (G, n * n) of G grids and k -> k distinct cells of each grid, (G, k)
in raster order. They go to `TNet.forward_train(select=…)`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.location import top_k
from tnet_core.modeling.tnet import Select
from tnet_core.sampling.grid import official_axis
from training.recipes.recipe import PolicySection


def selector(policy: PolicySection, config: TNetConfig) -> Select:
    """The choice that a recipe asks for."""
    if policy.select == "gumbel":
        return lambda probabilities, k: gumbel_top_k(probabilities, k, policy.temperature)
    if policy.select == "spread":
        overlap = cell_overlap(config.input_size, config.grid, config.cell_fraction)
        return lambda probabilities, k: spread(probabilities, k, overlap, policy.discount)
    return top_k


def gumbel_top_k(
    probabilities: Tensor, k: int, temperature: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Sample k cells one after the other without replacement, from p^(1 / temperature) renormalised.

    Cells with the k largest values of log p / temperature + Gumbel noise are such a sample. Without
    a generator the noise comes from torch's own, so a seeded run repeats itself.
    """
    smallest = torch.finfo(torch.float32).tiny
    noise = torch.empty_like(probabilities, dtype=torch.float32).exponential_(generator=generator)
    scores = probabilities.detach().float().clamp_min(smallest).log() / temperature
    return top_k(scores - noise.clamp_min(smallest).log(), k)


def spread(probabilities: Tensor, k: int, overlap: Tensor, discount: float) -> Tensor:
    """Greedy choice of cells that do not show the same pixels twice.

    A cell's probability is multiplied by 1 - discount * share, where share is the part of it that
    the cell taken already covers; `overlap` (n * n, n * n) holds these parts. Discount 0 is top k.
    """
    scores = probabilities.detach().float().clone()  # (G, n * n)
    shared = overlap.to(scores)
    chosen = []
    for _ in range(k):
        best = scores.max(1, keepdim=True).indices  # (G, 1)
        chosen.append(best)
        scores *= (1 - discount * shared[best.squeeze(1)]).clamp_min(0)
        scores.scatter_(1, torch.cat(chosen, 1), -1.0)  # below every score: no cell is taken twice
    if not chosen:
        return torch.zeros((len(scores), 0), dtype=torch.long, device=scores.device)
    return torch.cat(chosen, 1).sort(1).values


def cell_overlap(side: int, n: int, fraction: float) -> Tensor:
    """Part of each cell's area that each other cell covers: (n * n, n * n), ones on the diagonal."""
    axis = official_axis(side, n, fraction)
    starts = torch.tensor(axis.starts, dtype=torch.float32)
    along = (axis.cell - (starts[:, None] - starts[None, :]).abs()).clamp_min(0) / axis.cell  # (n, n)
    return torch.kron(along, along)  # cell r * n + c: rows first
