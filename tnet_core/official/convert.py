"""Turn an official TensorFlow checkpoint into one of our models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from tnet_core.building import build
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.presets import preset, presets
from tnet_core.modeling.tnet import TNet
from tnet_core.official.bundle import Bundle, TensorEntry, open_bundle
from tnet_core.official.names import assign, official_variables

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT = "/.OPTIMIZER_SLOT/"
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# Counters and optimiser state by their first name. Optimisers save themselves under "optimizer/…"; depending on the
# TensorFlow version their step counter is "iter", "Adam/iter", "iteration" or "Adam/iteration".
_BOOKKEEPING = re.compile(
    r"(save_counter|iter|iterations?|global_step|(optimizer|Adam|AdamW|SGD|RMSprop)(_?\d+)?)(/.*)?", re.DOTALL
)


def find_official_name(key: str) -> str | None:
    """Return the variable name behind a bundle key; None for bookkeeping, which no model contains.

    A key that no official model writes is returned as it is, so that it shows up as not fitting.
    """
    if key == _OBJECT_GRAPH or _SLOT in key:
        return None
    path = key.removesuffix(_VALUE)
    name = re.sub(r"\.([.S])", lambda match: "." if match[1] == "." else "/", path)
    if _BOOKKEEPING.fullmatch(name):
        return None
    return name if path != key and "/" not in path else key


def convert(path: str | Path, config: TNetConfig, *, progress: bool = False) -> TNet:
    """Build a model in eval mode on the CPU with the weights of an official checkpoint.

    Strict both ways: every variable of the model must be there, and nothing of the checkpoint's model may be
    left over; optimiser state and counters are skipped.
    """
    bundle = open_bundle(path)
    entries = list_model_entries(bundle)
    model = build(config, device="cpu")
    variables = _read(bundle, entries, progress)
    try:
        assign(model, variables)
    except TNetError as error:
        fitting = [f"'{name}'" for name in find_fitting_presets({name: e.shape for name, e in entries.items()})]
        advice = f"fits the preset {' or '.join(fitting)}" if fitting else "fits no preset"
        chosen = f", not '{config.name}'" if fitting and config.name else ""
        problem = str(error).removesuffix(".")
        raise TNetError(f"{problem}; the checkpoint '{bundle.name}' {advice}{chosen}.") from None
    model.source = f"official TensorFlow checkpoint {bundle.name}"
    return model


def list_model_entries(bundle: Bundle) -> dict[str, TensorEntry]:
    """Return the entries of a bundle that belong to its model, by official name."""
    found: dict[str, TensorEntry] = {}
    for entry in bundle.entries.values():
        name = find_official_name(entry.key)
        if name is None:
            continue
        if name in found:
            raise TNetError(f"The checkpoint '{bundle.name}' holds the variable {name!r:.200} twice.")
        found[name] = entry
    if not found:
        raise TNetError(f"The checkpoint '{bundle.name}' holds no model, only counters and optimiser state.")
    return found


def list_official_presets() -> list[str]:
    """Return the presets that exist in the official implementation."""
    return [
        name
        for name in presets()
        if preset(name).backbone == "bagnet77" or preset(name).backbone.startswith("tf_efficientnet_b")
    ]


def find_fitting_presets(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Return the presets whose official variables are exactly these."""
    bias = shapes.get("feature_extraction/logits_layer/linear/bias", ())
    fitting = []
    for name in list_official_presets():
        config = preset(name)
        # Cheap facts first: building a model takes time, even without memory for its weights.
        if (config.num_classes,) != bias or config.is_baseline != ("baseline_var" not in shapes):
            continue
        if list_official_shapes(config) == shapes:
            fitting.append(name)
    return fitting


def list_official_shapes(config: TNetConfig) -> dict[str, tuple[int, ...]]:
    """Return official variable names and shapes of a configuration; allocates no weights."""
    with torch.device("meta"):
        model = TNet(config)
    state = model.state_dict()
    return {v.name: v.official_shape(tuple(state[v.key].shape)) for v in official_variables(model)}


def _read(bundle: Bundle, entries: Mapping[str, TensorEntry], progress: bool) -> dict[str, np.ndarray]:
    variables = {}
    total = sum(entry.size for entry in entries.values())
    # None: no bar where the output is not a terminal
    hidden = None if progress else True
    with tqdm(total=total, desc="Reading", unit="B", unit_scale=True, disable=hidden) as bar:
        for name, entry in entries.items():
            if entry.dtype is None or entry.dtype.kind != "f":
                raise TNetError(
                    f"The variable {name!r:.200} of the checkpoint '{bundle.name}' does not hold floating-point "
                    "numbers, so it is no weight of a model."
                )
            variables[name] = bundle.read(entry.key)
            bar.update(entry.size)
    return variables
