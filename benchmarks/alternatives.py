"""TNet against the network with the same backbone that sees the whole image at full resolution.

On the same engine in the same precision, as one would serve it otherwise (ONNX Runtime), and as timm gives it.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

import torch

import tnet_core as tn
from benchmarks.onnx_runtime import OnnxFeatures
from benchmarks.rounds import Run, in_turn, middle, spread


@dataclass(frozen=True)
class Pair:
    tnet: str  # presets
    baseline: str
    budget: tuple[int, ...]
    side: int
    goals: dict[int, float]  # batch size -> times faster than the baseline as timm gives it


PAIRS = (
    Pair("fmow-b0", "fmow-en-b0-448", (2,), 448, {1: 1.3, 8: 2.5}),
    Pair("fmow-b0-3l", "fmow-en-b0-896", (2, 1), 896, {1: 3.0, 8: 4.5}),
)
# Milliseconds of the official code for one image on two cores like these; indicative only.
OFFICIAL = (("cub-b0", (5,), 105.0), ("fmow-b0-3l", (2, 1), 136.0))
# Ways to run the baseline in float32 that a user would choose from, all with the engine's care or ONNX Runtime's.
FLOAT32_WAYS = ("same engine", "same engine, one by one", "ONNX Runtime")
PROCESSES = 3  # that share the turns of one comparison: times of one differ from those of the next by up to a fifth
Spread = tuple[float, float, float]  # median, least, largest
Seconds = dict[str, list[float]]  # of each way, a turn each


@dataclass(frozen=True)
class Against:
    """One line of the table: milliseconds per image, and how many times faster TNet is than the baseline."""

    tnet: str
    baseline: str
    looks: int
    batch: int
    ms: dict[str, float]  # of every way, TNet's too
    times: dict[str, Spread]  # of the baseline's ways; in the same precision, on the same engine but for "ONNX Runtime"
    goal: float

    @property
    def strictest(self) -> str:
        """Return the baseline's quickest way in float32."""
        return min(FLOAT32_WAYS, key=lambda way: self.times[way][0])


def time_ways(pair: Pair, batch: int, rounds: int) -> Seconds:
    """Time TNet and the baseline in every way, in turn."""
    tnet, baseline = (tn.build(tn.preset(name), device="cpu") for name in (pair.tnet, pair.baseline))
    fast, fast_baseline = tn.optimised(tnet), tn.optimised(baseline)
    rough, rough_baseline = (tn.optimised(model, precision="bfloat16") for model in (tnet, baseline))
    onnx = OnnxFeatures(baseline.features, pair.side, batch=batch)
    images = torch.rand((batch, 3, pair.side, pair.side), generator=torch.Generator().manual_seed(0)) * 2 - 1
    images = images.contiguous(memory_format=torch.channels_last)
    ways: dict[str, Run] = {
        "TNet": lambda: fast(images, pair.budget),
        "TNet, bfloat16": lambda: rough(images, pair.budget),
        "TNet, PyTorch": lambda: tnet(images, pair.budget),
        "same engine": lambda: classify(fast_baseline, images),
        "same engine, one by one": lambda: [classify(fast_baseline, image) for image in images.split(1)],
        "ONNX Runtime": lambda: baseline.classifier(onnx(images)[0]),
        "bfloat16": lambda: classify(rough_baseline, images),
        "as timm gives it": lambda: classify(baseline, images),
    }
    with torch.inference_mode():
        return in_turn(ways, rounds)


def against(pair: Pair, batch: int, seconds: Seconds) -> Against:
    """Compare what the turns of all ways took."""
    beside = dict.fromkeys((*FLOAT32_WAYS, "as timm gives it"), "TNet") | {"bfloat16": "TNet, bfloat16"}
    times = {way: spread(seconds, way, ours) for way, ours in beside.items()}
    times["both in PyTorch"] = spread(seconds, "as timm gives it", "TNet, PyTorch")
    return Against(
        pair.tnet, pair.baseline, count_looks(pair.budget), batch,
        {name: value / batch for name, value in middle(seconds).items()}, times, pair.goals[batch],
    )  # fmt: skip


def classify(model: tn.TNet, images: torch.Tensor) -> torch.Tensor:
    """Return a baseline's logits of images that have its base resolution."""
    return model.classifier(model.features(images)[1])


def count_looks(budget: tuple[int, ...]) -> int:
    """Return how many looks a budget takes in all, without the thumbnail."""
    total, level = 0, 1
    for k in budget:
        level *= k
        total += level
    return total


def absolute(rounds: int) -> Iterator[dict[str, object]]:
    """Time one image, optimised, from decoded bytes to the trace, beside what the official code took."""
    for name, budget, official in OFFICIAL:
        model = tn.optimised(tn.build(tn.preset(name), device="cpu"))
        side = model.config.input_size
        image = torch.randint(0, 256, (side, side, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
        source = tn.ImageSource.open(image.numpy())
        batch = torch.rand((1, 3, side, side)).contiguous(memory_format=torch.channels_last)
        ways: dict[str, Run] = {
            "forward": partial(model, batch, budget), "traversal": partial(tn.traverse, model, source, budget)
        }  # fmt: skip
        with torch.inference_mode():
            seconds = in_turn(ways, rounds)
        each = middle(seconds)
        yield {
            "model": name, "looks": count_looks(budget), "forward_ms": each["forward"],
            "traversal_ms": each["traversal"], "official_ms": official, "times": official / each["forward"],
        }  # fmt: skip


def time_in_processes(pair: Pair, batch: int, rounds: int) -> Seconds:
    """Return the turns of several processes, one after the other, each with its share of them."""
    seconds: Seconds = {}
    for _ in range(min(PROCESSES, rounds)):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            found = pool.submit(time_ways, pair, batch, -(-rounds // PROCESSES)).result()
        for way, turns in found.items():
            seconds.setdefault(way, []).extend(turns)
    return seconds


def measure(rounds: int) -> dict[str, object]:
    """Return all comparisons with the whole image, and times of one image."""
    compared = [
        against(pair, batch, time_in_processes(pair, batch, rounds)) for pair in PAIRS for batch in (1, 8)
    ]  # fmt: skip
    return {
        "processes": PROCESSES,
        "against": [asdict(found) | {"strictest": found.strictest} for found in compared],
        "absolute": list(absolute(rounds)),
    }
