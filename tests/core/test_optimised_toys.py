"""Backbones that no list of calls was made for: an optimised copy says the same, or is left as it is."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from timm.layers import StdConv2d
from torch import Tensor, nn

import tnet_core as tn
from tests.core.test_folding import config_of
from tests.core.test_optimised import lived
from tnet_core.inference.optimise.fusing import Gate
from tnet_core.inference.optimise.optimised import optimised

pytestmark = pytest.mark.slow


class Toy(nn.Module):
    """Convolution and batch norm, something, convolution and batch norm, a vector."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = self.made()
        self.norm, self.second, self.last = nn.BatchNorm2d(8), nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8)
        self.squeeze, self.excite = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)
        for norm in (self.norm, self.last):
            assert norm.running_mean is not None and norm.running_var is not None
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)

    def made(self) -> nn.Module:
        return nn.Conv2d(3, 8, 3, padding=1, bias=False)

    def between(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.second(self.between(self.norm(self.first(x))))).mean((2, 3))


class SqueezedLate(Toy):
    def between(self, x: Tensor) -> Tensor:
        return x * self.excite(F.silu(self.squeeze(x.mean((2, 3), keepdim=True)))).sigmoid()


class SqueezedWithOptions(Toy):
    def between(self, x: Tensor) -> Tensor:
        inside = F.gelu(self.squeeze(x.mean((2, 3), keepdim=True)), approximate="tanh")
        return x * self.excite(inside).sigmoid()


class SqueezedOverMaps(Toy):
    def between(self, x: Tensor) -> Tensor:
        return x * nn.Softmax2d()(self.excite(F.silu(self.squeeze(x.mean((2, 3), keepdim=True)))))


class UsedTwice(Toy):
    def forward(self, x: Tensor) -> Tensor:
        raw = self.first(x)
        return self.last(self.second(self.norm(raw) + raw)).mean((2, 3))


class Standardised(Toy):
    def made(self) -> nn.Module:
        return StdConv2d(3, 8, 3, padding=1, bias=False)


class Mirrored(Toy):
    def made(self) -> nn.Module:
        return nn.Conv2d(3, 8, 3, padding=1, bias=False, padding_mode="reflect")


class SameByName(Toy):
    def made(self) -> nn.Module:
        return nn.Conv2d(3, 8, 3, padding="same", bias=False)


class Clipped(Toy):
    def between(self, x: Tensor) -> Tensor:
        x = x.clone()
        x[x > 6] = 6
        return x


class Scaled(Toy):
    def between(self, x: Tensor) -> Tensor:
        return x / 10 if x.abs().max() > 12 else x


class Divided(Toy):
    def between(self, x: Tensor) -> Tensor:
        return x / max(12.0, x.abs().max().item())


class ByName(Toy):
    def between(self, x: Tensor) -> Tensor:
        return self.second(input=x)


class OfAParameter(Toy):
    def __init__(self) -> None:
        super().__init__()
        self.learned = nn.Parameter(torch.randn(1, 8, 1, 1))

    def between(self, x: Tensor) -> Tensor:
        return x + self.second(self.learned)


class Unused(Toy):
    def forward(self, x: Tensor) -> Tensor:
        vector = super().forward(x)
        self.norm(self.first(x))
        return vector


class Transposed(Toy):
    def between(self, x: Tensor) -> Tensor:
        return x.mT.contiguous()


def put_in(body: nn.Module) -> tn.TNet:
    """A model around the toy, without a location map."""
    model = lived(config_of("resnet18", 64))
    model.features.body, model.features.tap = body.eval(), None
    return model


TOYS = [
    SqueezedLate, SqueezedWithOptions, SqueezedOverMaps, UsedTwice, Standardised, Mirrored, SameByName, Clipped, Scaled,
    Divided, ByName, OfAParameter, Unused, Transposed,
]  # fmt: skip


@pytest.mark.parametrize("toy", TOYS)
def test_an_optimised_copy_says_the_same_or_is_left_as_it_is(toy: type[Toy]) -> None:
    model = put_in(toy())
    made = optimised(model)
    for scale in (1, 30):
        images = scale * torch.randn(3, 3, 64, 64, generator=torch.Generator().manual_seed(1))
        with torch.inference_mode():
            expected, found = model.features(images)[1], made.features(images)[1]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * float(expected.std()))


@pytest.mark.parametrize("toy", [Clipped, Scaled, Divided])
def test_what_depends_on_values_is_no_list_of_calls(toy: type[Toy]) -> None:
    assert optimised(put_in(toy())).features.program is None


def test_a_gate_may_be_the_last_but_one() -> None:
    program = optimised(put_in(SqueezedLate())).features.program
    assert program is not None and any(isinstance(call.run, Gate) for call in program.head)


def test_other_precisions_are_folded_at_least() -> None:
    model = lived(config_of("resnet18", 64)).double()
    images = torch.randn(2, 3, 128, 128, dtype=torch.float64)
    with torch.inference_mode():
        torch.testing.assert_close(optimised(model)(images, 2), model(images, 2), rtol=1e-6, atol=1e-6)


class Waiting(Toy):
    """What a look waits with is made by a convolution, read beside the map, and gated only after it."""

    def __init__(self) -> None:
        super().__init__()
        self.tap = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        made = self.norm(self.first(x))
        self.tap(made)
        return self.last(self.second(SqueezedLate.between(self, made))).mean((2, 3))


def test_a_look_that_waits_may_be_completed_twice() -> None:
    from tnet_core.modeling.features import _tap
    from tnet_core.modeling.location_map import LocationMap

    body, model = Waiting(), lived(config_of("resnet18", 64))
    chosen = LocationMap("tap", (0, 30, 60), 8)
    body.tap.register_forward_hook(lambda *given: _tap(chosen, *given))
    model.features.body, model.features.tap = body.eval(), chosen
    model.features.rows = torch.tensor(chosen.rows)
    program = optimised(model).features.program
    assert program is not None and program.stops
    images = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        _, carried = program.begin(images)
        first, second = program.finish(carried), program.finish(carried)
    assert torch.equal(first, second)
