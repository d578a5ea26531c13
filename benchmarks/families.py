"""Families of timm's CNNs through `tn.optimised`: a traversal on the engine beside one in plain PyTorch.

python -m benchmarks.families [FAMILY …] [--write]

Weights are random, batch norms have seen a few pictures. The same cells have to be looked at, and logits may differ by
1e-3; the command ends with 1 where they do not. What is converted is not kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm
from tqdm import tqdm

import tnet_core as tn
from benchmarks.machine import machine
from benchmarks.tables import markdown, write_tables
from tnet_core.command import run_command
from tnet_core.errors import TNetError
from tnet_core.inference.engine import EngineFeatures

FAMILIES = (
    "resnet18", "resnet50d", "resnext50_32x4d", "wide_resnet50_2", "seresnet50", "ecaresnet26t", "skresnet18",
    "resnest14d", "res2net50_26w_4s", "regnetx_002", "regnety_002", "densenet121", "vgg11_bn", "inception_v3",
    "xception41", "dpn68", "dla34", "hrnet_w18_small", "vovnet39a", "cspresnet50", "cspdarknet53", "darknet53",
    "efficientnet_b0", "tf_efficientnet_b0", "tf_efficientnet_lite0", "tf_efficientnetv2_b0", "mixnet_s", "mnasnet_100",
    "mobilenetv2_100", "mobilenetv3_small_100", "mobilenetv4_conv_small", "lcnet_050", "ghostnet_100", "fbnetc_100",
    "rexnet_100", "repvgg_a0", "convnext_atto", "nf_resnet50", "gernet_s", "hardcorenas_a",
)  # fmt: skip
TOLERANCE = 1e-3  # of a logit


class Outcome(NamedTuple):
    """The result of trying one family of CNNs."""

    family: str
    runs_on: str  # "OpenVINO", "PyTorch", or why the family is refused
    same_cells: bool = True
    difference: float = 0.0  # the largest of a logit
    logit: float = 0.0  # the largest

    @property
    def is_right(self) -> bool:
        return self.same_cells and self.difference <= TOLERANCE


def compare_family(name: str) -> Outcome:
    """Traverse a picture with an optimised copy and with the model itself."""
    config = tn.TNetConfig(backbone=name, num_classes=5, input_size=256, base_resolution=128, grid=3,
                           cell_fraction=0.5, budget=(4,))  # fmt: skip
    try:
        model = tn.build(config, device="cpu")
    except TNetError as error:
        return Outcome(name, f"refused: {error}")
    spread_values(model)
    fast = tn.optimised(model)
    assert isinstance(fast.features, EngineFeatures)
    runs_on = "PyTorch" if fast.features.engine.open(fast.features).model is None else "OpenVINO"
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8).repeat(32, 0).repeat(32, 1)
    plain, found = tn.traverse(model, image), tn.traverse(fast, image)
    cells = [[look.path for look in trace.locations] for trace in (plain, found)]
    expected = plain.logits()
    difference = float(np.abs(found.logits() - expected).max())
    return Outcome(name, runs_on, cells[0] == cells[1], difference, float(np.abs(expected).max()))


def spread_values(model: tn.TNet) -> None:
    """Let batch norms see noise and draw the classifier, else what a picture says fades from layer to layer."""
    draw = torch.Generator().manual_seed(0)
    side = model.config.base_resolution
    norms = [module for module in model.features.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        norm.train()
        norm.momentum = 1.0
    with torch.no_grad():
        model.features.body(torch.randn((8, 3, side, side), generator=draw))
        for values in (model.classifier.linear.weight, model.classifier.linear.bias):
            values.copy_(0.4 * torch.randn(values.shape, generator=draw))
    model.eval()


@contextmanager
def use_empty_cache() -> Iterator[None]:
    """Keep converted models in a folder that goes afterwards: forty of them would push out those that are used."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"TNET_CACHE": folder}):
        yield


def make_table(outcomes: Sequence[Outcome]) -> str:
    """Return a line per family as Markdown."""
    rows = [
        (one.family, one.runs_on, "–", "–", "–") if one.runs_on.startswith("refused") else
        (one.family, one.runs_on, "the same" if one.same_cells else "others", f"{one.difference:.1e}",
         f"{one.logit:.1f}")
        for one in outcomes
    ]  # fmt: skip
    return markdown(("family", "runs on", "cells", "largest difference of a logit", "largest logit"), rows)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; 1 where a family computes something else on the engine."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.families", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="timm's names (default: forty families)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/speed.md")
    options = parser.parse_args(argv)
    if options.write and options.families:
        raise TNetError("The table is written from one whole run: name no families.")
    if os.environ.get("TNET_ENGINE") == "torch":
        raise TNetError("TNET_ENGINE is torch, so nothing would run on the engine; unset it.")
    warnings.simplefilter("ignore")
    with use_empty_cache():
        names = tqdm(options.families or FAMILIES, unit="family", leave=False)
        outcomes = [compare_family(name) for name in names]
    print(table := make_table(outcomes))
    if options.write:
        on_engine = sum(one.runs_on == "OpenVINO" for one in outcomes)
        about = (
            f"Measured {machine()['date']}, random weights, crops of 128 px, four looks: {on_engine} of "
            f"{len(outcomes)} families run on OpenVINO. Logits may differ by {TOLERANCE:g}."
        )
        write_tables("docs/speed.md", "families", about, table)
    return 0 if all(one.is_right for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(run_command(main))
