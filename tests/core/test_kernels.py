"""Crops gathered from bytes are the crops of the CPU's way; which way is taken, and how things travel."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.kernels import CPU, PADDED, ROOT, noise, of_cpu, on, same, some_regions
from tests.support.models import TINY
from tests.support.processes import run_python
from tnet_core.imageio.source import ArraySource, ImageSource
from tnet_core.inference.cuda_graphs import FixedShapes, copy_with_graphs
from tnet_core.modeling.config import Sampling
from tnet_core.modeling.tnet import LookOutput
from tnet_core.sampling import reader
from tnet_core.sampling.crop_taps import cut_tiles, make_native_taps, make_official_taps
from tnet_core.sampling.frame import Region, Sampler
from tnet_core.sampling.gather import gather_by_torch, gather_crops
from tnet_core.sampling.reader import DeviceReader, HostReader, choose_reader, fetch, pack_bytes, send, unpack_bytes

SIZES = [(150, 150), (96, 200), (333, 500), (37, 61), (1, 1), (2, 700)]


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("base", [64, 75])
def test_official_crops_gathered_from_bytes_are_those_of_the_cpu(height: int, width: int, base: int) -> None:
    """Padding at the borders and beyond the parent included."""
    pixels = noise(height, width)
    sampler = Sampler(ImageSource.open(pixels), replace(PADDED, base_resolution=base))
    regions = some_regions(sampler)
    expected = of_cpu(sampler, regions)
    found = gather_by_torch(torch.from_numpy(pixels), on(make_official_taps(sampler, regions)))
    assert found.shape == (6, 3, base, base) and found.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    buffer, taps = cut_tiles(sampler, regions)
    np.testing.assert_allclose(gather_by_torch(torch.from_numpy(buffer), on(taps)), expected, atol=2e-6)
    assert buffer.size == 3 * sum(sampler.read(region)[1] for region in regions)


def test_pixels_that_are_only_copied_stay_exactly_what_they_are() -> None:
    pixels = noise(448, 448)
    sampler = Sampler(ImageSource.open(pixels), tn.preset("lite0-cub"))
    regions = [sampler.cell(sampler.whole(), index) for index in (0, 7, 24)]
    taps = make_official_taps(sampler, regions)
    assert taps.rows.shape == taps.cols.shape == (3, 1, 160)
    np.testing.assert_array_equal(gather_by_torch(torch.from_numpy(pixels), on(taps)), of_cpu(sampler, regions))


def test_crops_of_several_images_come_from_their_own() -> None:
    pictures = np.stack([noise(90, 70, seed) for seed in range(3)])
    samplers = [Sampler(ImageSource.open(picture), PADDED) for picture in pictures]
    regions = [samplers[0].cell(samplers[0].whole(), index) for index in (3, 3, 24)]
    taps = make_official_taps(samplers[0], regions, owners=[2, 0, 1])
    expected = [of_cpu(samplers[owner], [region])[0] for owner, region in zip([2, 0, 1], regions, strict=True)]
    np.testing.assert_allclose(gather_by_torch(torch.from_numpy(pictures), on(taps)), expected, atol=2e-6)


# Side by side: shrinking by a whole number (2 is a case of its own), by another, growing, one axis as it is.
NATIVE = [(128, 128), (192, 256), (301, 187), (96, 96), (64, 64), (64, 100), (128, 64), (20, 30), (33, 64), (1, 1)]


@pytest.mark.parametrize(("height", "width"), NATIVE)
def test_native_crops_gathered_from_bytes_are_those_of_opencv_bit_for_bit(height: int, width: int) -> None:
    pixels = noise(height + 5, width + 3)
    sampler = Sampler(ImageSource.open(pixels), TINY, "native")
    regions = [Region(y, x, height, width, (y, x, y + height, x + width)) for y, x in ((0, 0), (5, 3), (2, 1))]
    taps = make_native_taps(sampler, regions)
    assert taps is not None
    np.testing.assert_array_equal(gather_by_torch(torch.from_numpy(pixels), on(taps)), of_cpu(sampler, regions))


def test_native_crops_that_are_rounded_twice_are_left_to_the_cpu() -> None:
    sampler = Sampler(ImageSource.open(noise(20, 300)), TINY, "native")
    assert make_native_taps(sampler, [sampler.whole()]) is None
    like = torch.zeros(1)
    views = DeviceReader(sampler, like).read([sampler.whole()], [(0, 0, 0)])
    np.testing.assert_array_equal(views.images, of_cpu(sampler, [sampler.whole()]))


# Traversals ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def needles() -> tn.TNet:
    """Trained, small, three levels: what it says depends on what it sees."""
    return tn.load("tnet-needles", device="cpu")


@pytest.mark.parametrize("sampling", ["official", "native"])
@pytest.mark.parametrize("resident", [True, False])
def test_a_traversal_by_gathered_crops_is_the_same(
    needles: tn.TNet, sampling: Sampling, resident: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = ROOT / "examples" / "needles-1.webp"
    expected = tn.traverse(needles, image, sampling=sampling)
    other = tn.traverse(needles, 255 - tn.ImageSource.open(image).array, sampling=sampling)  # type: ignore[attr-defined]
    assert abs(other.logits() - expected.logits()).max() > 0.1  # so that wrong crops would show
    monkeypatch.setenv("TNET_KERNELS", "on")
    if not resident:
        monkeypatch.setattr(reader, "LARGEST_RESIDENT", 0)
    calls = []
    monkeypatch.setattr(reader, "gather_crops", lambda *given: calls.append(1) or gather_crops(*given))
    traversal = tn.Traversal(needles, image, sampling=sampling)
    found = traversal.run()
    assert len(calls) == (3 if resident or sampling == "official" else 0)  # once a level
    same(found, expected)
    for ours, theirs in zip(found.crops, expected.crops, strict=True):
        assert abs(ours.astype(int) - theirs).max() <= 1


def test_stepping_and_steering_work_by_gathered_crops_too(needles: tn.TNet, monkeypatch: pytest.MonkeyPatch) -> None:
    image = ROOT / "examples" / "needles-2.webp"
    traces = []
    for way in ("off", "on"):
        monkeypatch.setenv("TNET_KERNELS", way)
        traversal = tn.Traversal(needles, image, budget=(2, 1))
        while traversal.step() is not None:
            pass
        taken = {look.index for look in traversal.trace().locations if look.level == 2}
        traversal.attend(2, min(set(range(9)) - taken))
        traces.append(traversal.trace())
    same(traces[1], traces[0])


# Which way is taken ----------------------------------------------------------------------------


def test_the_way_is_chosen_by_the_device_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, like = Sampler(ImageSource.open(noise(30, 40)), TINY), torch.zeros(1)
    monkeypatch.delenv("TNET_KERNELS", raising=False)
    assert type(choose_reader(sampler, like)) is HostReader
    monkeypatch.setenv("TNET_KERNELS", "on")
    chosen = choose_reader(sampler, like)
    assert isinstance(chosen, DeviceReader) and chosen.is_resident
    monkeypatch.setenv("TNET_KERNELS", "off")
    assert type(choose_reader(sampler, like)) is HostReader
    monkeypatch.setenv("TNET_KERNELS", "perhaps")
    with pytest.raises(tn.TNetError, match="TNET_KERNELS is 'perhaps', but must be auto, on or off"):
        choose_reader(sampler, like)


class Elsewhere(ImageSource):
    """Pixels that are in no array, as far as anybody can see."""

    def __init__(self, array: np.ndarray) -> None:
        self._held = ArraySource(array)
        self.width, self.height = self._held.width, self._held.height
        self.sha256, self.hashed = self._held.sha256, self._held.hashed

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self._held.gather(rows, cols)

    def resized(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> np.ndarray:
        return self._held.resized(box, size)


def test_only_small_images_in_memory_are_copied_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    like = torch.zeros(1)
    assert DeviceReader(Sampler(ImageSource.open(noise(30, 40)), TINY), like).is_resident
    assert not DeviceReader(Sampler(Elsewhere(noise(30, 40)), TINY), like).is_resident
    monkeypatch.setattr(reader, "LARGEST_RESIDENT", 30 * 40 * 3 - 1)
    assert not DeviceReader(Sampler(ImageSource.open(noise(30, 40)), TINY), like).is_resident


@pytest.mark.slow
def test_without_triton_everything_works_and_torch_gathers(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['triton'] = None\n"
        "import numpy as np, tnet_core as tn\n"
        "from tnet_core.sampling import gather\n"
        "used = []; plain = gather.gather_by_torch; gather.gather_by_torch = lambda *a: used.append(1) or plain(*a)\n"
        "trace = tn.traverse(tn.load('tnet-needles'), 'examples/needles-1.webp')\n"
        "print(used, trace.prediction, trace.logits().max())"
    )
    environment = os.environ | {"TNET_KERNELS": "on", "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = run_python("-c", script, cwd=ROOT, env=environment, folder=tmp_path, timeout=240)
    assert done.returncode == 0, done.stderr
    expected = tn.traverse(tn.load("tnet-needles", device="cpu"), ROOT / "examples" / "needles-1.webp")
    used, prediction, largest = done.stdout.rsplit(maxsplit=2)
    assert used == "[1, 1, 1]" and int(prediction) == expected.prediction
    assert float(largest) == pytest.approx(expected.logits().max(), abs=1e-3)


# Moving and fixed shapes -----------------------------------------------------------------------


def some_arrays() -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    floats = generator.random((3, 7), dtype=np.float32)
    return [noise(5, 3), floats, np.arange(3, dtype=np.int64), floats.T, np.zeros((0, 4), np.float32), np.ones(1, bool)]


def test_arrays_survive_being_packed_into_one_copy() -> None:
    for array, tensor in zip(some_arrays(), send(some_arrays(), CPU), strict=True):
        assert tensor.shape == array.shape and tensor.numpy().dtype == array.dtype
        np.testing.assert_array_equal(tensor, array)
    sent = send(some_arrays(), CPU)
    assert len({tensor.untyped_storage().data_ptr() for tensor in sent}) == 1  # one buffer


def test_tensors_survive_being_packed_into_one_copy() -> None:
    tensors = [torch.from_numpy(array) for array in some_arrays()] + [torch.rand(2, 3, 4).permute(2, 0, 1)]
    packed, ends = pack_bytes(tensors)
    assert packed.dtype == torch.uint8 and packed.ndim == 1
    for array, tensor in zip(unpack_bytes(packed.numpy(), tensors, ends), tensors, strict=True):
        np.testing.assert_array_equal(array, tensor.numpy())
    assert [array.shape for array in fetch(tensors)] == [tensor.shape for tensor in tensors]


def test_batches_of_fixed_size_say_what_batches_of_any_size_say(needles: tn.TNet) -> None:
    recorded = []

    def record(look: object, images: torch.Tensor, positions: torch.Tensor) -> object:
        """What a CUDA graph does: always the same tensors, in and out."""
        recorded.append(images.shape[0])
        out = needles.look(images, positions)

        def replay() -> LookOutput:
            again = needles.look(images, positions)
            assert out.map is not None and again.map is not None
            for kept, new in ((out.map, again.map), (out.vector, again.vector), (out.feature, again.feature)):
                kept.copy_(new)
            return out

        return replay

    fixed = FixedShapes(needles.look, (4, 1), record)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(0)
    kept = []
    with torch.inference_mode():
        for count in (3, 1, 4, 2, 6, 3):
            images = torch.rand((count, 3, 48, 48), generator=generator) * 2 - 1
            positions = torch.randint(0, 5, (count, 3), generator=generator)
            kept.append((fixed(images, positions), needles.look(images, positions)))
    for found, expected in kept:  # afterwards: no result is overwritten by a later call
        for ours, theirs in (
            (found.map, expected.map),
            (found.vector, expected.vector),
            (found.feature, expected.feature),
        ):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)
    assert recorded == [4, 1]


def test_graphs_are_refused_where_there_are_none(needles: tn.TNet) -> None:
    with pytest.raises(tn.TNetError, match="evaluation mode on a CUDA device"):
        copy_with_graphs(needles)
