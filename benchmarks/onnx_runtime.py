"""A feature extraction module in ONNX Runtime, to compare with the engine that the project uses."""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
import warnings
from pathlib import Path

import onnxruntime  # type: ignore[import-untyped]
import torch
from torch import Tensor

from tnet_core.inference.conversion import TensorOutputs
from tnet_core.modeling.features import FeatureExtractionModule


class OnnxFeatures:
    """Calls of a session: images (B, 3, b, b) -> vector, and location map where there is one.

    Its threads do not spin, like those of the other engines: they would take the cores of what is measured next.
    """

    def __init__(self, features: FeatureExtractionModule, side: int, *, batch: int | None = None) -> None:
        """`batch` fixes the size of batches; None leaves it free."""
        module = TensorOutputs(features).eval()
        shapes = ({0: torch.export.Dim("batch")},) if batch is None else None
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        quiet = contextlib.redirect_stdout(io.StringIO())
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), quiet, torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                module, (torch.zeros(batch or 2, 3, side, side),), input_names=["images"], dynamic_shapes=shapes,
                verbose=False,
            )  # fmt: skip
            assert program is not None
            program.save(path := str(Path(folder, "features.onnx")))
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = torch.get_num_threads()
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def __call__(self, images: Tensor) -> list[Tensor]:
        found = self._session.run(None, {"images": images.contiguous().numpy()})
        return [torch.from_numpy(values) for values in found]
