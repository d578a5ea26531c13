"""Cases of the parity data: what the official code computed with weights and images made by formula."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

import tnet_core as tn
from tests.support.parity import fill, image

DATA = Path(__file__).parents[1] / "data" / "parity"
CASES = {
    "imagenet": "imagenet-bagnet77",
    "fmow_l2": "fmow-b0",
    "fmow_l3": "fmow-b0-3l",
    "cub_b0_k3": "cub-b0",
    "cub_b0_k5": "cub-b0",
}


class Case:
    def __init__(self, name: str) -> None:
        manifest = json.loads((DATA / f"{name}.json").read_text())
        with np.load(DATA / f"{name}.npz") as arrays:
            self.expected = {key: arrays[key] for key in arrays.files}
        self.budget = tuple(manifest["config"]["locs_per_grid"])
        self.images = [image(manifest["images"]["size"], seed) for seed in manifest["images"]["seeds"]]
        self.checksums = manifest["images"]["crc32"]
        self.manifest = manifest
        config = replace(tn.preset(CASES[name]), dropout=0.0, drop_path=0.0)  # the arrays were made without
        self.model = tn.build(config)
        tn.official.assign(self.model, {n: fill(n, tuple(shape)) for n, shape, _ in manifest["variables"]})

    @property
    def levels(self) -> int:
        return len(self.budget) + 1


@lru_cache(maxsize=1)
def case(name: str) -> Case:
    """A case whose model is shared: leave it as it is, or make a `Case` of your own."""
    return Case(name)
