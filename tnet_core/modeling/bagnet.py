"""BagNet-77, the ImageNet backbone of the paper (its appendix, table 1).

A ResNet-50 whose 3x3 convolutions are mostly 1x1, so that a feature sees at most 77 x 77 px. It has
no batch norm; every convolution has a bias. Unlike the paper's table, LeakyReLU follows the residual
sum, not the third convolution (as the official code does).
"""

from __future__ import annotations

import torch.nn.functional as F
from timm.layers import create_conv2d
from torch import Tensor, nn

_SLOPE = 0.2

# part: bottleneck width, then (middle kernel, stride, padded?) per block
_PARTS: dict[int, tuple[int, list[tuple[int, int, bool]]]] = {
    2: (64, [(3, 2, True), (3, 1, True), (1, 1, True)]),
    3: (128, [(3, 2, True), (3, 1, True), (1, 1, True), (1, 1, True)]),
    4: (256, [(3, 2, False), (3, 1, True), (1, 1, True), (1, 1, True), (1, 1, True), (1, 1, True)]),
    5: (512, [(3, 1, False), (3, 1, True), (1, 1, True)]),
}


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1, padded: bool = True) -> nn.Module:
    """Return a convolution with TensorFlow's "same" (asymmetric at stride 2) or "valid" padding."""
    return create_conv2d(inputs, outputs, kernel, stride=stride, padding="same" if padded else "valid", bias=True)


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, kernel: int, stride: int, padded: bool) -> None:
        super().__init__()
        outputs = 4 * width
        self.comp_1 = _conv(inputs, width, 1)
        self.comp_2 = _conv(width, width, kernel, stride, padded)
        self.comp_3 = _conv(width, outputs, 1)
        self.crop = 0 if padded else (kernel - 1) // 2  # what a valid convolution loses on each side
        needs_projection = stride > 1 or inputs != outputs
        self.shortcut_comp = _conv(inputs, outputs, 1, stride) if needs_projection else None

    def forward(self, x: Tensor) -> Tensor:
        branch = F.leaky_relu(self.comp_1(x), _SLOPE)
        branch = F.leaky_relu(self.comp_2(branch), _SLOPE)
        branch = self.comp_3(branch)
        if self.crop:
            x = x[:, :, self.crop : -self.crop, self.crop : -self.crop]
        if self.shortcut_comp is not None:
            x = self.shortcut_comp(x)
        return F.leaky_relu(x + branch, _SLOPE)


class BagNet77(nn.Module):
    """(B, 3, H, W) -> (B, 512), the mean over positions; 77 px give a 7 x 7 map, 224 px 25 x 25."""

    num_features = 512

    def __init__(self) -> None:
        super().__init__()
        self.part1 = _conv(3, 64, 3, padded=False)
        inputs = 64
        for part, (width, blocks) in _PARTS.items():
            stage = nn.Sequential()
            for kernel, stride, padded in blocks:
                stage.append(Bottleneck(inputs, width, kernel, stride, padded))
                inputs = 4 * width
            self.add_module(f"part{part}", stage)
        self.part6 = _conv(inputs, self.num_features, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.leaky_relu(self.part1(x), _SLOPE)
        for part in _PARTS:
            x = self.get_submodule(f"part{part}")(x)
        x = F.leaky_relu(self.part6(x), _SLOPE)
        return x.mean((2, 3))  # (B, 512)
