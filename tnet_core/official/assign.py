"""Put official variables into one of our models, strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from tnet_core.official.names import official_variables


def assign(model: TNet, variables: Mapping[str, np.ndarray]) -> None:
    """Set all weights from {official name: array in official layout}.

    Strict both ways: nothing may be missing, left over or of another shape, and nothing is changed
    unless everything fits.
    """
    wanted = official_variables(model)
    state = model.state_dict()
    problems = []
    names = {variable.name for variable in wanted}
    problems += _listed("missing", [v.name for v in wanted if v.name not in variables])
    problems += _listed("not part of this model", [str(name) for name in variables if name not in names])
    shapes, kinds = [], []
    converted: dict[str, torch.Tensor] = {}
    for variable in wanted:
        if variable.name not in variables:
            continue
        value = np.asarray(variables[variable.name])
        expected = variable.official_shape(tuple(state[variable.key].shape))
        if value.shape != expected:
            shapes.append(f"{variable.name} {value.shape} instead of {expected}")
            continue
        with np.errstate(over="ignore"):  # too large for float32: not finite, reported below
            ours = np.ascontiguousarray(variable.to_ours(value), np.float32) if value.dtype.kind in "fiu" else None
        if ours is None or not np.isfinite(ours).all():
            kinds.append(variable.name)
            continue
        converted[variable.key] = torch.from_numpy(ours.reshape(state[variable.key].shape))
    problems += _listed("of the wrong shape", shapes)
    problems += _listed("without finite real numbers", kinds)
    if problems:
        raise TNetError("These official variables do not fit the model: " + "; ".join(problems) + ".")
    with torch.no_grad():
        for key, tensor in converted.items():
            state[key].copy_(tensor)


def _listed(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(names[:5])
    return [f"{len(names)} {what} ({shown}{', …' if len(names) > 5 else ''})"]
