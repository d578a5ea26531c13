"""The complete accuracy curve in one evaluation against an evaluation per budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tnet_core as tn
from benchmarks.looks import CHECKPOINT
from benchmarks.machine import ROOT
from benchmarks.rounds import Run, in_turn, middle, ratio
from training.data.sample import Sample
from training.evaluation.plan import Options, make_plan
from training.evaluation.run import collect

MAX_LOOKS = 5
_NO_BOX = np.zeros((0, 4), np.float32)


class RepeatedPhotographs:
    """The example photographs as a data set: read and decoded each time. Their labels do not matter here."""

    name, split = "examples", "examples"

    def __init__(self, model: tn.TNet, repeats: int) -> None:
        self.class_names = model.class_names
        self._paths: list[Path] = sorted((ROOT / "examples").glob("*.jpg")) * repeats
        self.labels = [index % len(self.class_names) for index in range(len(self._paths))]

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> Sample:
        source = tn.ImageSource.open(self._paths[index])
        pixels = source.resized((0, 0, source.width, source.height), (source.width, source.height))
        return Sample(pixels, self.labels[index], f"{index:04d}", _NO_BOX)


def curve(rounds: int, repeats: int = 1) -> dict[str, Any]:
    """Measure the images a second of both ways."""
    model = tn.optimised(tn.load(CHECKPOINT, device="cpu"))
    dataset = RepeatedPhotographs(model, repeats)

    def evaluation(most: int) -> Any:
        options = Options(budget=most, policies=("learned",), equivariance=False, timing=False, workers=0)
        return collect(model, dataset, make_plan(model.config, options), options).results

    ways: dict[str, Run] = {
        "one": lambda: evaluation(MAX_LOOKS),
        "each": lambda: [evaluation(k) for k in range(MAX_LOOKS + 1)],
    }
    found, alone = evaluation(MAX_LOOKS)["top1/learned"], evaluation(2)["top1/learned"]
    assert np.array_equal(found[:, :3], alone)  # the same answers, or there is nothing to compare
    seconds = in_turn(ways, rounds)
    each = middle(seconds)
    return {
        "model": CHECKPOINT, "images": len(dataset), "budgets": MAX_LOOKS + 1, "times": ratio(seconds, "each", "one"),
        "one_images_per_second": len(dataset) / each["one"] * 1e3,
        "each_images_per_second": len(dataset) / each["each"] * 1e3, "goal": 3.0,
    }  # fmt: skip
