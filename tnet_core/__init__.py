"""TNet ("Hard-Attention for Scalable Image Classification", NeurIPS 2021) in PyTorch.

import tnet_core as tn

model = tn.build(tn.preset("cub-b0"))            # or tn.load("folder")
trace = tn.traverse(model, "bird.jpg", budget=(5,))
trace.locations, trace.logits(k=3), trace.contributions(trace.prediction)

The public names are in `tnet_core/api.py`. They, and PyTorch with them, are imported when the first of them is used, so
that a command's help appears at once.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tnet_core.api import *  # noqa: F403

if sys.argv[:1] == ["-m"]:  # a command of this package, not an import: PyTorch's threads read this when it is imported
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__version__ = "0.2.0"  # the only place; the package takes it from here, CITATION.cff and CHANGELOG.md are held to it


def __getattr__(name: str) -> Any:
    """Return a module of the package, or a public name; the first such name that is used imports all of them."""
    if not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    api = importlib.import_module("tnet_core.api") if not name.startswith("_") or name == "__all__" else None
    if api is None or name not in ("__all__", *api.__all__):
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    globals().update({each: getattr(api, each) for each in ("__all__", *api.__all__)})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *importlib.import_module("tnet_core.api").__all__})
