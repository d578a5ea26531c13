"""A backbone converted for OpenVINO, in a process of its own: a model on which the engine crashes or hangs is
reported in one sentence and takes nothing down.

The parent sends configuration and weights through a pipe; the child builds the backbone from them, converts it, runs
it and compares it with PyTorch, and leaves the converted model in a folder, or sends it back where none can be written.
No pickle passes between them.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from tnet_core.errors import TNetError
from tnet_core.inference.converter import take_converter
from tnet_core.modeling.config import Precision, TNetConfig
from tnet_core.modeling.features import FeatureExtractionModule, describe_modules

VERSION = 1  # part of the cache's key: raise it when the same weights are converted in another way
MAX_SECONDS = 300.0
MODEL_FILE, WEIGHTS_FILE = "model.xml", "model.bin"
PRECISIONS: dict[Precision, str] = {"float32": "f32", "bfloat16": "bf16"}  # as OpenVINO names them
MAX_THREADS = 8  # a crop is too small for more: they would wait for one another
# How far the engine may be from PyTorch on average (root mean square), in standard deviations of the values.
_TOLERANCE = {"float32": 0.005, "bfloat16": 0.5}

_IN_MEMORY = b"\0"  # what an answer begins with that is a model and no sentence

_cores: dict[int, Any] = {}  # by process, and never more than one
_lock = threading.Lock()


def import_openvino() -> ModuleType:
    """Return the engine's package; ImportError where it is not installed.

    Importing it would write a file into the home folder and call a server of its maker. Where the package that does so
    cannot be imported, it does neither.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


def open_core() -> Any:
    """Return this process's one core of the engine, which is never destroyed.

    A core gives the thread that makes it another stack for signals and, when destroyed, gives back the one before.
    With several cores that may be one whose memory is gone, and the next signal ends the process. A fork has none and
    gets none: the engine would hand its work to threads that stayed behind.
    """
    refuse_fork()
    with _lock:
        if _cores.get(os.getpid()) is None:
            _cores[os.getpid()] = None  # a fork that is made meanwhile has half of a core
            _cores[os.getpid()] = core = import_openvino().Core()
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(core))  # also when Python ends
        return _cores[os.getpid()]


def has_foreign_core() -> bool:
    """Say whether this process is a fork of one that made a core."""
    return bool(_cores.keys() - {os.getpid()})


def refuse_fork() -> None:
    """Raise a TNetError in a fork of a process that made a core."""
    if has_foreign_core():
        raise TNetError("this process is a fork of one in which the engine ran")


def _renew_lock() -> None:
    """Give a fork its own lock: another thread may have held it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def compile_model(converted: Any, precision: Precision) -> tuple[Any, Any]:
    """Return a model ready to run on this machine's CPU, twice: for crops that come alone, and for batches.

    It is given by its file, as bytes or as the engine's own object. One for both would be prepared anew for every batch
    of another size than the one before, which is every batch of a traversal: a tenth of the time.
    """
    core = open_core()
    # Some processors without bfloat16 imitate it, which is slower than float32.
    has_it = precision == "float32" or "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    options = {
        # Said always, else the engine takes bfloat16 where the processor has it.
        "INFERENCE_PRECISION_HINT": PRECISIONS[precision if has_it else "float32"],
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": min(torch.get_num_threads(), MAX_THREADS),
        "ENABLE_CPU_PINNING": False,  # two processes would be pinned to the same cores
    }
    if isinstance(converted, bytes):
        return core.import_model(converted, "CPU", options), core.import_model(converted, "CPU", options)
    model = core.read_model(converted) if isinstance(converted, Path) else converted
    return core.compile_model(model, "CPU", options), core.compile_model(model, "CPU", options)


def describe_backbone(features: FeatureExtractionModule) -> str:
    """Return which layers there are, and which map the location module reads."""
    return f"{features.tap} {describe_modules(features.body)}"


def make_request(
    config: TNetConfig, features: FeatureExtractionModule, precision: Precision, folder: Path | None
) -> bytes:
    """Return what a converter is sent: weights as safetensors, and the rest in their header."""
    described = {
        "config": config.to_dict(),
        "backbone": describe_backbone(features),
        "precision": precision,
        "folder": None if folder is None else str(folder),
    }
    tensors = {name: tensor.detach().contiguous() for name, tensor in features.state_dict().items()}
    return bytes(save(tensors, {"request": json.dumps(described)}))


def convert(
    config: TNetConfig, features: FeatureExtractionModule, precision: Precision, folder: Path | None
) -> Path | bytes:
    """Convert a backbone and return its file in the folder, or itself where there is no folder or no room in it.

    A TNetError says why it cannot be converted.
    """
    child = take_converter()
    try:
        request = make_request(config, features, precision, folder)
        # Its length comes first: where a fork holds the pipe too, closing it here does not end what the child reads.
        found, _ = child.communicate(len(request).to_bytes(8, "little") + request, timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        raise TNetError(f"the conversion took more than {MAX_SECONDS:.0f} seconds") from None
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:
        raise TNetError(f"the conversion failed with {type(error).__name__}") from None
    finally:
        child.kill()
        child.wait()
    if child.returncode != 0:
        raise TNetError(f"the conversion ended with code {child.returncode}")
    if found.startswith(_IN_MEMORY):
        return found.removeprefix(_IN_MEMORY)
    if problem := found.decode(errors="replace").strip():
        raise TNetError(problem)
    if folder is None:
        raise TNetError("the conversion sent no model")
    return folder / MODEL_FILE


class TensorOutputs(nn.Module):
    """Feature vectors, and location maps where there are any; the engine knows no None."""

    def __init__(self, features: FeatureExtractionModule) -> None:
        super().__init__()
        self.features = features

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        location_map, vector = self.features(images)
        return (vector,) if location_map is None else (vector, location_map)


@torch.no_grad()
def answer(request: bytes) -> bytes:
    """Do what the parent asks for; return what is wrong, nothing, or the model itself if no folder could hold it."""
    size = int.from_bytes(request[:8], "little")  # of safetensors' header
    described = json.loads(json.loads(request[8 : 8 + size])["__metadata__"]["request"])
    config, precision = TNetConfig.from_dict(described["config"]), described["precision"]
    features = FeatureExtractionModule(config).eval()
    if describe_backbone(features) != described["backbone"]:
        return b"its backbone is not the one that its configuration names"
    features.load_state_dict(load(request))
    model, side = TensorOutputs(features), config.base_resolution
    ov = import_openvino()
    traced = torch.jit.trace(model, torch.zeros(2, 3, side, side), check_trace=False, strict=False)
    converted = ov.convert_model(traced, input=[-1, 3, side, side])
    file = _save(converted, described["folder"])
    alone, several = compile_model(file or converted, precision)
    for count, compiled in ((1, alone), (3, several)):  # others than it was traced with
        images = torch.randn((count, 3, side, side), generator=torch.Generator().manual_seed(count))
        for expected, found in zip(model(images), compiled([images.numpy()]).values(), strict=True):
            if not _are_alike(expected, torch.from_numpy(found), _TOLERANCE[precision]):
                return b"its numbers differ from those of PyTorch"
    return b"" if file else _IN_MEMORY + _export(several)


def _save(converted: Any, folder: str | None) -> Path | None:
    """Write a model's two files and return the first; None where there is no folder or no room in it."""
    if folder is None:
        return None
    file = Path(folder, MODEL_FILE)
    try:
        import_openvino().save_model(converted, file, compress_to_fp16=False)
    except RuntimeError:  # of C++'s streams, without a reason
        return None
    return file


def _export(compiled: Any) -> bytes:
    stream = io.BytesIO()
    compiled.export_model(stream)
    return stream.getvalue()


def _are_alike(a: Tensor, b: Tensor, tolerance: float) -> bool:
    return a.shape == b.shape and bool((a - b).square().mean().sqrt() <= tolerance * a.std() + 1e-6 * a.abs().max())


def main() -> int:
    """Answer one request; what libraries print does not get into the answer."""
    warnings.simplefilter("ignore")
    request = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), "little"))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if request:  # nothing: the parent did not need this process
        try:
            output.write(answer(request))
        except Exception as error:  # whatever a backbone or the engine raises is a reason not to use the engine
            output.write(f"the engine cannot take it ({type(error).__name__})".encode())
    output.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
