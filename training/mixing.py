"""Mixup: images of a batch laid over one another, and their labels with them.

Not in the official code. It keeps a network from knowing a small data set by heart: no blend is seen twice.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Beta


def mixed(images: Tensor, labels: Tensor, alpha: float, classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Each image over another one: the blends, the label of the stronger image, and the shares of all classes.

    (B, 3, S, S), (B,) -> the same, and (B, classes). Shares of the stronger image are at least a half, so the
    label that rewards are given for stays that of the image itself.
    """
    share = Beta(alpha, alpha).sample((len(images),)).to(images)
    share = torch.maximum(share, 1 - share)
    other = torch.randperm(len(images), device=images.device)
    blends = torch.lerp(images[other], images, share[:, None, None, None])
    one_hot = F.one_hot(labels, classes).to(images.dtype)
    return blends, labels, torch.lerp(one_hot[other], one_hot, share[:, None])
