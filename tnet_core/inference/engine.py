"""`optimised(model)`: a copy of a model for inference, with the same numbers sooner.

On a CPU, location maps and feature vectors of its crops come from OpenVINO; what OpenVINO cannot convert, or a machine
without it, runs as plain PyTorch and says so once. On CUDA PyTorch runs, from recorded graphs on request.
"""

from __future__ import annotations

import copy
import ctypes
import logging
import os
import threading
import weakref
from typing import Any

import torch
from torch import Tensor

from tnet_core.building import check_model
from tnet_core.errors import TNetError
from tnet_core.inference.conversion import (
    PRECISIONS,
    compile_model,
    has_foreign_core,
    import_openvino,
    refuse_fork,
)
from tnet_core.inference.cuda_graphs import copy_with_graphs
from tnet_core.inference.engine_cache import is_kept, make_key, open_converted
from tnet_core.modeling.config import Precision, TNetConfig
from tnet_core.modeling.features import FeatureExtractionModule
from tnet_core.modeling.tnet import TNet

# Of the crops that are run at once: larger batches take more memory and are no faster per crop.
MAX_BATCH_PIXELS = 4 * 224 * 224

_log = logging.getLogger("tnet_core")
_reported: set[str] = set()  # sentences that were said once
_engines: weakref.WeakSet[Engine] = weakref.WeakSet()
_alive: weakref.WeakSet[Compiled] = weakref.WeakSet()


def optimised(model: TNet, *, precision: Precision = "float32", graphs: bool = False) -> TNet:
    """Return a copy for inference on the same device; the model stays as it is.

    In float32 logits agree within 1e-3; bfloat16 is faster on CPUs that have it and less exact. The copy keeps its own
    weights: change, move or train the original, and make a new copy. `graphs` replays a CUDA backbone
    (`tnet_core.inference.cuda_graphs`): for one traversal at a time.
    """
    check_model(model)
    if model.training:
        raise TNetError("The model is in training mode; call model.eval() before making an optimised copy of it.")
    if precision not in PRECISIONS:
        raise TNetError(f"The precision must be one of {', '.join(PRECISIONS)}, not {precision!r:.40}.")
    made = copy.deepcopy(model).eval().requires_grad_(False)
    if graphs:
        return copy_with_graphs(made)
    if model.device.type != "cpu":
        if precision != "float32":
            raise TNetError(f"The precision {precision} is an option of models on a CPU; this one is on CUDA.")
        return made
    made.features = EngineFeatures(made.features, Engine(model.config, precision))
    made.features.prepare()
    return made


class EngineFeatures(FeatureExtractionModule):
    """A feature extraction module whose crops the engine processes; its weights and their names stay as they were."""

    engine: Engine

    def __init__(self, features: FeatureExtractionModule, engine: Engine) -> None:
        self.__dict__ = features.__dict__ | {"engine": engine}

    def prepare(self) -> None:
        """Convert and compile now rather than with the first crops."""
        self.engine.open(self)

    @property
    def precision(self) -> Precision:  # type: ignore[override]
        """What the compiled model says that it computes in."""
        return self.engine.open(self).precision

    def forward(self, images: Tensor) -> tuple[Tensor | None, Tensor]:
        """(B, 3, b, b) in [-1, 1] -> F (B, c, n, n) or None for baselines, V (B, D)."""
        side = self.engine.config.base_resolution
        learns = self.training or (torch.is_grad_enabled() and images.requires_grad)
        if learns or images.device.type != "cpu" or images.shape[2:] != (side, side) or len(images) == 0:
            return super().forward(images)
        compiled = self.engine.open(self)
        run = super().forward if compiled.model is None else compiled.run
        parts = [run(part) for part in images.split(choose_part(len(images), MAX_BATCH_PIXELS // (side * side)))]
        maps = [location_map for location_map, _ in parts if location_map is not None]
        return _join(maps) if maps else None, _join([vector for _, vector in parts])


def choose_part(count: int, most: int) -> int:
    """Return how many of some crops are run at once: so many that all parts have one size, but for a last single crop.

    The engine prepares a batch of another size than the one before anew. Where that asks for small parts, `most` are.
    """
    most = max(1, most)  # never none: the engine writes outside its memory for no crops
    return next((size for size in range(most, most // 2, -1) if count % size < 2), most)


class Engine:
    """What compiles a backbone, once in each process: nothing compiled is copied, pickled or taken across a fork.

    A fork of a process in which the engine ran does without it.
    """

    def __init__(self, config: TNetConfig, precision: Precision) -> None:
        self.config, self._asked = config, precision
        self._lock = threading.Lock()
        self._compiled: Compiled | None = None
        _engines.add(self)

    def __reduce__(self) -> tuple[type[Engine], tuple[TNetConfig, Precision]]:
        return Engine, (self.config, self._asked)

    def open(self, features: FeatureExtractionModule) -> Compiled:
        """Return what this process compiled; compile it first where there is nothing yet."""
        compiled = self._compiled
        if compiled is None or compiled.process != os.getpid():
            with self._lock:
                if self._compiled is compiled:
                    self._compiled = self._compile(features)
            assert self._compiled is not None
            compiled = self._compiled
        return compiled

    def renew_lock(self) -> None:
        """Make a lock for a fork: another thread may have held the one before."""
        self._lock = threading.Lock()

    def _compile(self, features: FeatureExtractionModule) -> Compiled:
        try:
            refuse_fork()  # asked first: hashing and converting take long
            if os.environ.get("TNET_ENGINE") == "torch":
                return Compiled(None)
            import_openvino()
            if features.mean.dtype != torch.float32:
                raise TNetError("its weights are not in float32")
            compiled = self._load(features)
        except ImportError:
            _report("OpenVINO is not installed: models run as plain PyTorch, slower and with the same numbers.")
        except (TNetError, OSError, RuntimeError) as error:
            name, why = self.config.backbone, str(error).partition("\n")[0]
            _report(f"'{name}' runs as plain PyTorch, slower and with the same numbers: {why}.")
            if has_foreign_core():
                torch.set_num_threads(1)  # those of PyTorch stayed behind as well: waiting for them would never end
        else:
            if compiled.precision != self._asked:
                _report(f"This processor has no {self._asked}: models run in {compiled.precision}.")
            return compiled
        return Compiled(None)

    def _load(self, features: FeatureExtractionModule) -> Compiled:
        """Compile the model that is kept, or convert it first."""
        key = make_key(self.config, features, self._asked)
        try:
            with open_converted(key, self.config, features, self._asked) as converted:
                return Compiled(compile_model(converted, self._asked))
        except (OSError, RuntimeError):
            if is_kept(key):
                raise
        # Another process made room in the cache before the model was read.
        with open_converted(key, self.config, features, self._asked) as converted:
            return Compiled(compile_model(converted, self._asked))


class Compiled:
    """A model ready to run in this process; without one, PyTorch runs."""

    def __init__(self, models: tuple[Any, Any] | None) -> None:
        self.model: Any | None  # for several crops; the other one is for single crops
        alone, self.model = models or (None, None)
        self.process = os.getpid()
        self.precision: Precision = "float32"
        if self.model is not None:
            found = self.model.get_property("INFERENCE_PRECISION_HINT").to_string()
            names = {short: name for name, short in PRECISIONS.items()}
            if found not in names:
                raise TNetError(f"the engine computes in {found}, which is none of {', '.join(PRECISIONS)}")
            self.precision = names[found]
        # Each with its idle infer requests, which serve one thread at a time.
        self._alone: tuple[Any, list[Any]] = alone, []
        self._several: tuple[Any, list[Any]] = self.model, []
        _alive.add(self)

    def run(self, images: Tensor) -> tuple[Tensor | None, Tensor]:
        """(B, 3, b, b) -> F (B, c, n, n) or None, V (B, D)."""
        model, idle = self._alone if len(images) == 1 else self._several
        assert model is not None
        try:
            request = idle.pop()
        except IndexError:
            request = model.create_infer_request()
        given = images.float().contiguous().numpy()
        # Copied in and out: a pooled request that shares memory keeps pointing at it after its owner is gone.
        outputs = request.infer([given], share_inputs=False, share_outputs=False)
        vector, *maps = (torch.from_numpy(values) for values in outputs.values())
        idle.append(request)
        return maps[0] if maps else None, vector


def _prepare_fork() -> None:
    """Keep what was compiled before a fork for ever: destroying it would wait for threads that are not there."""
    for engine in list(_engines):
        engine.renew_lock()
    for compiled in list(_alive):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(compiled))


os.register_at_fork(after_in_child=_prepare_fork)


def _join(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _report(sentence: str) -> None:
    if sentence not in _reported:
        _reported.add(sentence)
        _log.warning(sentence)
