"""Models without weights: what tensors a configuration asks for, and an empty model to put them in."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tnet_core.checkpoints.files import reason
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import TNet


def expected_tensors(config: TNetConfig) -> dict[str, Tensor]:
    """Name -> tensor on the meta device (shape and type, no memory), whatever size the model has."""
    with torch.device("meta"):
        return dict(_construct(config).state_dict())


def empty_model(config: TNetConfig) -> TNet:
    """A model whose constants are set and whose parameters are not: every tensor must be assigned."""
    with _WithoutInitialisation():
        return _construct(config)


def _construct(config: TNetConfig) -> TNet:
    try:
        return TNet(config)
    except TNetError:
        raise
    except Exception as error:  # a backbone's own constructor meets values from a file; it may fail in any way
        raise TNetError(f"No model can be built from this configuration: {reason(error)}.") from None


class _WithoutInitialisation(TorchFunctionMode):
    """Leaves out random initialisation, which takes most of a constructor's time."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.uniform_, torch.Tensor.normal_):
            return args[0]
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))
