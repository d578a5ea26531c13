"""Write a checkpoint as two ONNX graphs: `tnet export CHECKPOINT OUT`, or `python -m tnet_core.export`.

| file | inputs | outputs |
|---|---|---|
| `look.onnx` | crops (B, 3, b, b) in [-1, 1], positions (B, 3) int64 | location_logits (B, n * n), features (B, D) |
| `decide.onnx` | features (B, N, D), thumbnail first | weights (B, N), logits (B, classes) |

B and N are free. What a traversal needs beside them is in the metadata of both: class names, preprocessing and the
grid, each as JSON. `docs/onnx_traversal.py` runs one without PyTorch. Baselines, which take no looks, have no
location_logits.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import logging
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tnet_core.checkpoints import load
from tnet_core.command import name_program, run_command
from tnet_core.errors import TNetError, reason
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.files import check_new_folder, temporary_folder

LOOK_FILE, DECIDE_FILE = "look.onnx", "decide.onnx"


class Look(nn.Module):
    """Crops and their positions -> location logits (unless a baseline) and features."""

    def __init__(self, model: TNet) -> None:
        super().__init__()
        self.model = model

    def forward(self, crops: Tensor, positions: Tensor) -> tuple[Tensor, ...]:
        seen = self.model.look(crops, positions)
        return (seen.feature,) if self.model.location is None else (self.model.locate(seen), seen.feature)


class Decide(nn.Module):
    """Features of an image's thumbnail and looks -> their weights and the joint logits."""

    def __init__(self, model: TNet) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        # Equal weights as a softmax of zeros: their number is not known when the graph is written.
        equal = torch.zeros_like(features[:, :, 0]).softmax(1)
        weights = equal if self.model.weighting is None else self.model.weighting(features)
        return weights, self.model.classifier((weights.unsqueeze(2) * features).sum(1))


def check_exporter() -> None:
    """Refuse where the packages that write ONNX graphs are not installed."""
    missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise TNetError(
            f"ONNX export needs {' and '.join(missing)}: pip install '.[onnx]' in the clone, or pip install onnx "
            "onnxscript."
        )


def export_model(model: TNet, out: Path) -> Path:
    """Write both graphs of a model on the CPU into a new folder and return it; nothing stays where that fails."""
    check_exporter()
    check_new_folder(out)
    base, width = model.config.base_resolution, model.classifier.linear.in_features
    outputs = ["features"] if model.location is None else ["location_logits", "features"]
    batch, looks = torch.export.Dim("batch"), torch.export.Dim("looks")
    crops, positions = torch.zeros(2, 3, base, base), torch.zeros(2, 3, dtype=torch.long)
    with torch.no_grad():
        model.look(crops, positions)  # fills what the model keeps, which must not be made of the exporter's tensors
    with temporary_folder(out) as temporary:
        _write(
            Look(model), (crops, positions), temporary / LOOK_FILE, ["crops", "positions"], outputs,
            ({0: batch}, {0: batch}), describe_model(model),
        )  # fmt: skip
        _write(
            Decide(model), (torch.zeros(2, 3, width),), temporary / DECIDE_FILE, ["features"], ["weights", "logits"],
            ({0: batch, 1: looks},), describe_model(model),
        )  # fmt: skip
        temporary.rename(out)
    return out


def describe_model(model: TNet) -> dict[str, str]:
    """Return what a traversal needs beside the graphs, as texts for their metadata."""
    config = model.config
    preprocessing = {
        "sampling": config.sampling,
        "input_size": config.input_size,
        "base_resolution": config.base_resolution,
        "interpolation": "bilinear, half-pixel centres, no antialiasing",
        "range": [-1, 1],  # any other normalisation is part of the graph
        "padding": 0,
    }
    grid = {
        "n": config.grid,
        "cell_fraction": config.cell_fraction,
        "levels": config.levels,
        "budget": list(config.budget),
    }
    values: dict[str, Any] = {
        "source": model.source,
        "class_names": list(model.class_names),
        "preprocessing": preprocessing,
        "grid": grid,
        "temperature": 1.0 if model.calibration is None else model.calibration.temperature,
    }
    return {key: json.dumps(value) for key, value in values.items()}


def _write(
    module: nn.Module,
    inputs: tuple[Tensor, ...],
    path: Path,
    names: list[str],
    outputs: list[str],
    shapes: tuple[dict[int, Any], ...],
    metadata: dict[str, str],
) -> None:
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")  # about the exporter's own affairs
        try:
            program = torch.onnx.export(
                module.eval(), inputs, input_names=names, output_names=outputs, dynamic_shapes=shapes, verbose=False
            )
        except Exception as error:  # the exporter has many ways to say that it cannot
            raise TNetError(f"This model cannot be written as ONNX: {reason(error)}.") from None
    assert program is not None
    program.model.metadata_props.update(metadata)
    program.save(str(path))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=name_program("tnet_core.export"),
        description="Write a checkpoint as two ONNX graphs, look.onnx and decide.onnx, with class names, preprocessing "
        "and grid in their metadata. docs/onnx_traversal.py shows how to use them.",
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="registry id, folder or hf:owner/name")
    parser.add_argument("out", metavar="OUT", type=Path, help="folder to make")
    parser.add_argument("--registry", metavar="FILE", help="a further registry of checkpoints")
    return run_command(lambda: _run(parser.parse_args(arguments)))


def _run(options: argparse.Namespace) -> None:
    check_exporter()
    check_new_folder(options.out)  # both before the long work
    model = load(options.checkpoint, registry=options.registry, device="cpu")
    folder = export_model(model, options.out)
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in sorted(folder.iterdir()))
    print(f"Wrote '{folder}': {sizes}.")


if __name__ == "__main__":
    sys.exit(main())
