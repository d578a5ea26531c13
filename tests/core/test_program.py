"""A backbone as a flat list of calls says what the backbone says, and can be stopped at the location map."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
import torch
from torch import Tensor, nn

import tnet_core as tn
from tests.core.test_folding import config_of
from tests.core.test_optimised import lived
from tnet_core.inference.optimise.fusing import Fused, Gate
from tnet_core.inference.optimise.optimised import optimised
from tnet_core.inference.optimise.program import NotFlatError, Program, recorded

pytestmark = pytest.mark.slow


def program_of(model: tn.TNet) -> Program:
    program = model.features.program
    assert program is not None
    return program


def names(program: Program) -> Counter[str]:
    return Counter(type(getattr(call.run, "__self__", call.run)).__name__ for call in (*program.head, *program.tail))


@pytest.mark.parametrize(
    "backbone",
    [
        "tf_efficientnet_b0",
        "tf_efficientnet_lite0",
        "resnet18",
        "mobilenetv3_small_050",
        "convnext_atto",
        "regnetx_002",
    ],
)
def test_it_says_what_the_backbone_says_for_batches_of_any_size(backbone: str) -> None:
    torch.manual_seed(0)
    made = optimised(lived(config_of(backbone, 64)))
    program = program_of(made)
    assert program.stops
    for count in (1, 2, 5):
        images = torch.randn(count, 3, 64, 64).contiguous(memory_format=torch.channels_last)
        with torch.inference_mode():
            with made.features.tapped() as maps:
                expected = made.features.body(images)
            found_map, carried = program.begin(images)
            found = program.finish(carried)
        scale = float(expected.std())
        assert found_map is not None
        torch.testing.assert_close(found_map, maps[0], rtol=1e-3, atol=1e-3 * float(maps[0].std()))
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3 * scale)


def test_batches_that_began_apart_may_end_together() -> None:
    torch.manual_seed(0)
    made = optimised(lived(config_of("tf_efficientnet_b0", 64)))
    program = program_of(made)
    parts = [torch.randn(n, 3, 64, 64).contiguous(memory_format=torch.channels_last) for n in (1, 3)]
    with torch.inference_mode():
        apart = torch.cat([program.finish(program.begin(part)[1]) for part in parts])
        together = program.finish(torch.cat([program.begin(part)[1] for part in parts]))
    torch.testing.assert_close(together, apart, rtol=1e-4, atol=1e-4 * float(apart.std()))


def test_shortcuts_and_squeeze_and_excitation_need_no_calls_of_their_own() -> None:
    found = names(program_of(optimised(lived(config_of("tf_efficientnet_b0", 64)))))
    # 16 blocks: 15 expand, all convolve and project, stem and head besides; pooling and flattening end it.
    assert found == {"Fused": 1 + 15 + 16 + 16 + 1, "Gate": 16, "AdaptiveAvgPool2d": 1, "Flatten": 1}


def test_a_gate_writes_into_nothing_that_is_needed_later() -> None:
    """Where the gated map is used again, the product must be a map of its own."""

    class Reused(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)

        def forward(self, x: Tensor) -> Tensor:
            x = self.norm(self.conv(x))
            gated = x * x.mean((2, 3), keepdim=True).sigmoid()
            return (gated + 2 * x).mean((2, 3))

    model = lived(config_of("resnet18", 64))
    model.features.body, model.features.tap = Reused().eval(), None
    images = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        expected = model.features.body(images)
        made = optimised(model)
        assert "Fused" in names(program_of(made))
        torch.testing.assert_close(made.features(images)[1], expected, rtol=1e-4, atol=1e-4)


def test_what_depends_on_the_number_of_images_is_left_as_it_is() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.activate = nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            return self.activate(x).mean((2, 3)) * x.shape[0]

    model = lived(config_of("resnet18", 64))
    model.features.body, model.features.tap = Counting(), None
    made = optimised(model)
    assert made.features.program is None
    images = torch.randn(3, 3, 64, 64)
    assert torch.equal(made.features(images)[1], 3 * images.relu().mean((2, 3)))


def test_what_a_list_of_calls_cannot_say_is_left_as_it_is() -> None:
    model = lived(config_of("densenet121", 64))  # joins lists of maps
    made = optimised(model)
    assert made.features.program is None and not made.glances
    images = torch.randn(2, 3, 128, 128)
    with torch.inference_mode():
        torch.testing.assert_close(made(images, 2), model(images, 2), rtol=1e-3, atol=1e-3)

    class Split(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            first, *_ = x.split(1, dim=1)
            return first.mean((2, 3))

    with pytest.raises(NotFlatError, match="several values"):
        recorded(Split(nn.Flatten()), torch.zeros(1, 3, 8, 8), list)


def test_it_can_be_made_inside_inference_mode() -> None:
    torch.manual_seed(0)
    model = lived(config_of("tf_efficientnet_lite0", 64))
    images = torch.randn(2, 3, 128, 128)
    with torch.inference_mode():
        made = optimised(model)
        assert program_of(made).stops
        torch.testing.assert_close(made(images, 2), model(images, 2), rtol=1e-3, atol=1e-3)


def test_recording_leaves_no_hooks_and_disturbs_no_other_thread() -> None:
    torch.manual_seed(0)
    model = lived(config_of("tf_efficientnet_lite0", 64))
    images, stop = torch.randn(1, 3, 64, 64), threading.Event()
    wrong: list[BaseException | Tensor] = []
    with torch.inference_mode():
        expected = model.features(images)[1]

    def look() -> None:
        try:
            with torch.inference_mode():
                while not stop.is_set():
                    found = model.features(images)[1]
                    if not torch.equal(found, expected):
                        wrong.append(found)
        except BaseException as error:  # told to the test
            wrong.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    made = [optimised(model) for _ in range(3)]
    stop.set()
    thread.join()
    assert not wrong
    for copy in made:
        assert any(isinstance(call.run, Fused) for call in program_of(copy).head)
        body = copy.features.body
        hooked = [name for name, m in body.named_modules() if m._forward_hooks or m._forward_pre_hooks]
        assert hooked == [copy.features.tap.block if copy.features.tap else None]


def test_other_sizes_go_through_the_list_too() -> None:
    torch.manual_seed(0)
    made = optimised(lived(config_of("tf_efficientnet_b0", 64)))
    assert any(isinstance(call.run, Gate) for call in program_of(made).head)
    images = torch.randn(2, 3, 96, 80)
    with torch.inference_mode():
        expected = made.features.body(images)
        found = program_of(made).finish(program_of(made).begin(images)[1])
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3 * float(expected.std()))
