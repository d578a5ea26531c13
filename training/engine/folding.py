"""Batch norms that do not learn, folded into the convolutions before them: the same numbers in less time.

`fold_frozen(model)` speeds up the frozen part of a model that is being trained and leaves its parameters, names and
`state_dict` alone; `fold_copy(model)` is an evaluation copy for inputs of any size (`tn.optimised` is for crops alone).
Which batch norm follows which convolution is found by running the module once, so it works for any backbone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from timm.layers import BatchNormAct2d
from timm.layers.conv2d_same import Conv2dSame, conv2d_same
from timm.layers.padding import get_same_padding
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

from tnet_core.modeling.tnet import TNet

Pair = tuple[nn.Conv2d, nn.BatchNorm2d]


def fold_copy(model: TNet) -> TNet:
    """Return a copy in evaluation mode whose backbone has its batch norms folded; the model stays as it is."""
    made = copy.deepcopy(model).eval().requires_grad_(False)
    _fold(made, lambda _: True)
    return made


def fold_frozen(model: TNet) -> int:
    """Fold every pair that does not learn, in place; return the number of pairs.

    Call it on a model in training mode with its frozen parts in evaluation mode. Only the way
    forward changes: weights stay where they are, so what is saved is what was loaded.
    """
    return len(_fold(model, _is_frozen))


def _is_frozen(pair: Pair) -> bool:
    return not any(module.training or any(p.requires_grad for p in module.parameters()) for module in pair)


def make_example(model: TNet) -> Tensor:
    side = model.config.base_resolution
    like = model.classifier.linear.weight
    return torch.linspace(-1, 1, 3 * side * side, device=like.device, dtype=like.dtype).view(1, 3, side, side)


def _fold(model: TNet, is_foldable: Callable[[Pair], bool]) -> list[Pair]:
    """Fold pairs and return them; none where that would change what the backbone computes, however that comes about."""
    pairs = {pair: size for pair, size in find_pairs(model).items() if is_foldable(pair)}
    example = torch.cat([make_example(model), make_example(model).flip(2).sin()])
    before = run_backbone(model, example)
    for pair, size in pairs.items():
        join(*pair, size)
    if all(are_alike(a, b) for a, b in zip(before, run_backbone(model, example), strict=True)):
        return list(pairs)
    for pair in pairs:  # as with a convolution whose output goes elsewhere too
        for module in pair:
            del module.forward
    return []


@torch.no_grad()
def run_backbone(model: TNet, images: Tensor) -> list[Tensor]:
    """Return feature vectors and location maps of the backbone in evaluation mode."""
    with _switch_to_evaluation(model.features.body) as body, model.features.collect_maps() as maps:
        return [body(images), *maps]


def are_alike(a: Tensor, b: Tensor) -> bool:
    """Tell whether values agree up to rounding, beside what they differ by among themselves."""
    limit = 0.02 * a.std() + 1e-6 * a.abs().max()
    return a.shape == b.shape and bool(((a - b).abs() <= limit).all())


@contextmanager
def _switch_to_evaluation(body: nn.Module) -> Iterator[nn.Module]:
    modes = {module: module.training for module in body.modules()}
    try:
        yield body.eval()
    finally:
        for module, mode in modes.items():
            module.training = mode


@torch.no_grad()
def find_pairs(model: TNet) -> dict[Pair, torch.Size]:
    """Return convolutions of the backbone that feed a batch norm with fixed statistics, and their inputs' size.

    A module that runs more than once is left out, and so is a convolution whose own output the location module
    reads. The backbone is run in evaluation mode and gets back the modes it had.
    """
    body = model.features.body
    made_by: dict[
        int, tuple[Tensor, nn.Conv2d]
    ] = {}  # id of an output -> the output, kept so that its id stays its own
    runs: dict[nn.Module, int] = {}
    found: dict[nn.BatchNorm2d, nn.Conv2d] = {}
    sizes: dict[nn.Conv2d, torch.Size] = {}

    def after_conv(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(module, nn.Conv2d)
        if given:  # and not by name
            sizes[module] = given[0].shape[2:]
            made_by[id(output)] = (output, module)
        runs[module] = runs.get(module, 0) + 1

    def before_norm(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        assert isinstance(module, nn.BatchNorm2d)
        runs[module] = runs.get(module, 0) + 1
        if id(given[0]) in made_by:
            found[module] = made_by[id(given[0])][1]

    handles = []
    for module in body.modules():
        if _is_plain(module):
            handles.append(module.register_forward_hook(after_conv))
        elif isinstance(module, nn.BatchNorm2d) and module.track_running_stats:
            handles.append(module.register_forward_pre_hook(before_norm))
    try:
        with _switch_to_evaluation(body), model.features.collect_maps() as maps:
            body(make_example(model))
    finally:
        for handle in handles:
            handle.remove()
    convs = list(found.values())
    read = [made_by[id(tensor)][1] for tensor in maps if id(tensor) in made_by]
    once = {norm: conv for norm, conv in found.items() if runs[conv] == runs[norm] == 1 and convs.count(conv) == 1}
    return {(conv, norm): sizes[conv] for norm, conv in once.items() if conv not in read}


def _is_plain(module: nn.Module) -> bool:
    """Tell whether it convolves with its weights as they are, and zeros around the map."""
    if not isinstance(module, nn.Conv2d) or type(module) not in (nn.Conv2d, Conv2dSame):
        return False
    return module.padding_mode == "zeros" and not isinstance(module.padding, str)


def join(conv: nn.Conv2d, norm: nn.BatchNorm2d, size: torch.Size) -> None:
    """Let the convolution give what the batch norm gave, and the batch norm only activate."""
    assert norm.running_mean is not None and norm.running_var is not None
    weight, bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
    )
    conv.forward = Joined(conv, weight.detach(), bias.detach(), size)  # type: ignore[assignment, method-assign]
    norm.forward = partial(_activate, norm)  # type: ignore[method-assign]


class Joined:
    """Convolution and batch norm in one.

    TensorFlow's "same" padding at stride 2 pads one side more. Padding a large activation costs more
    than the convolution, so the kernel gets a row and a column of zeros instead, and the padding is even.
    """

    def __init__(self, conv: nn.Conv2d, weight: Tensor, bias: Tensor, size: torch.Size) -> None:
        channels_last = conv.weight.is_contiguous(memory_format=torch.channels_last)
        self.size, self.bias = size, bias  # of the input's map; an input of another size goes the plain way
        self.rest = (conv.stride, conv.padding, conv.dilation, conv.groups)
        self._plain = weight
        if isinstance(conv, Conv2dSame):
            triples = zip(size, conv.kernel_size, conv.stride, conv.dilation, strict=True)
            total = [get_same_padding(s, k, stride, dilation) for s, k, stride, dilation in triples]
            self.padding = tuple(t - t // 2 for t in total)
            if conv.dilation == (1, 1):
                weight = F.pad(weight, (total[1] % 2, 0, total[0] % 2, 0))
            elif any(t % 2 for t in total):
                self.size = torch.Size((0, 0))  # no input has this size: always the plain way
        else:
            assert not isinstance(conv.padding, str)
            self.padding = conv.padding
        self._same = isinstance(conv, Conv2dSame)
        self.weight = weight.contiguous(memory_format=torch.channels_last) if channels_last else weight.contiguous()

    def __call__(self, x: Tensor) -> Tensor:
        stride, padding, dilation, groups = self.rest
        if self._same and x.shape[2:] != self.size:
            return conv2d_same(x, self._plain, self.bias, stride, padding, dilation, groups)
        return F.conv2d(x, self.weight, self.bias, stride, self.padding, dilation, groups)


def _activate(norm: nn.BatchNorm2d, x: Tensor) -> Tensor:
    return norm.act(norm.drop(x)) if isinstance(norm, BatchNormAct2d) else x
