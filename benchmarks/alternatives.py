"""TNet against the network with the same backbone that sees the whole image at full resolution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial

import torch

import tnet_core as tn
from benchmarks.rounds import Run, in_turn, middle, ratio


@dataclass(frozen=True)
class Pair:
    tnet: str  # presets
    baseline: str
    budget: tuple[int, ...]
    side: int
    goals: dict[int, float]  # batch size -> times faster
    official: dict[int, float]  # the official code on two cores like these; indicative only


PAIRS = (
    Pair("fmow-b0", "fmow-en-b0-448", (2,), 448, {1: 1.3, 8: 2.5}, {1: 1.14, 8: 2.5}),
    Pair("fmow-b0-3l", "fmow-en-b0-896", (2, 1), 896, {1: 3.0, 8: 4.5}, {1: 2.8, 8: 4.3}),
)
# Milliseconds of the official code for one image on two cores like these; indicative only.
OFFICIAL = (("cub-b0", (5,), 105.0), ("fmow-b0-3l", (2, 1), 136.0))


@dataclass(frozen=True)
class Against:
    """One line of the table: milliseconds per image, and how many times faster TNet is."""

    tnet: str
    baseline: str
    looks: int
    batch: int
    plain: dict[str, float]  # milliseconds per image of models as they are built
    fast: dict[str, float]  # of optimised copies; "apart": the baseline, one image at a time
    times_plain: float  # both as built
    times: float  # optimised TNet against the baseline as built: what the app runs against what timm gives
    times_fast: float  # … against the optimised baseline, given the batch
    times_apart: float  # … against the optimised baseline in the better of two ways: batch, one image at a time
    goal: float
    official: float


def against(pair: Pair, batch: int, rounds: int) -> Against:
    tnet, baseline = (tn.build(tn.preset(name), device="cpu") for name in (pair.tnet, pair.baseline))
    fast = {"tnet": tn.optimised(tnet), "baseline": tn.optimised(baseline)}
    images = torch.rand((batch, 3, pair.side, pair.side), generator=torch.Generator().manual_seed(0)) * 2 - 1
    images = images.contiguous(memory_format=torch.channels_last)
    ways: dict[str, Run] = {
        "tnet": lambda: tnet(images, pair.budget),
        "baseline": lambda: in_one(baseline, images),
        "fast tnet": lambda: fast["tnet"](images, pair.budget),
        "fast baseline": lambda: in_one(fast["baseline"], images),
        "fast apart": lambda: [in_one(fast["baseline"], image) for image in images.split(1)],
    }
    with torch.inference_mode():
        seconds = in_turn(ways, rounds)
    each = {name: value / batch for name, value in middle(seconds).items()}
    better = min(("fast baseline", "fast apart"), key=lambda name: each[name])
    return Against(
        pair.tnet, pair.baseline, looks(pair.budget), batch,
        plain={name: each[name] for name in ("tnet", "baseline")},
        fast={name: each[f"fast {name}"] for name in ("tnet", "baseline", "apart")},
        times_plain=ratio(seconds, "baseline", "tnet"),
        times=ratio(seconds, "baseline", "fast tnet"),
        times_fast=ratio(seconds, "fast baseline", "fast tnet"),
        times_apart=ratio(seconds, better, "fast tnet"),
        goal=pair.goals[batch], official=pair.official[batch],
    )  # fmt: skip


def in_one(model: tn.TNet, images: torch.Tensor) -> torch.Tensor:
    """A baseline's logits in one call of its backbone: TNet's own portions are not lent to it."""
    return model.classifier(model.features(images)[1])


def looks(budget: tuple[int, ...]) -> int:
    """In all, below the thumbnail."""
    total, level = 0, 1
    for k in budget:
        level *= k
        total += level
    return total


def absolute(rounds: int) -> Iterator[dict[str, object]]:
    """One image, optimised, from decoded bytes to the trace, beside what the official code took."""
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
            "model": name, "looks": looks(budget), "forward_ms": each["forward"], "traversal_ms": each["traversal"],
            "official_ms": official, "times": official / each["forward"],
        }  # fmt: skip


def measured(rounds: int) -> dict[str, object]:
    return {
        "against": [asdict(against(pair, batch, rounds)) for pair in PAIRS for batch in (1, 8)],
        "absolute": list(absolute(rounds)),
    }
