"""What a file that leaves the page says about its origin."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version
from typing import Any

from tnet_core import Trace, __version__
from tnet_core.checkpoints import CheckpointCard
from tnet_core.checkpoints.card import describe
from tnet_core.checkpoints.files import TENSOR_FILE
from tnet_core.trace.json import VERSION
from viz.explore.checkpoint import format_licence

_PACKAGES = ("torch", "timm", "numpy", "gradio")


def build_evidence(trace: Trace, about: CheckpointCard) -> dict[str, Any]:
    """Return which weights and which picture, and with what it was computed.

    The sha256 of a large picture may be missing: it is taken when a file with it is asked for.
    """
    weights = about.files.get(TENSOR_FILE)
    return {
        "title": about.title,
        "source": trace.source,
        "origin": about.origin,
        "model": describe(trace.config),
        "sha256": None if weights is None else weights.sha256,
        "licence": format_licence(about),
        "image": {"sha256": trace.image.known_sha256, "hashed": trace.image.hashed},
        "sampling": _describe_sampling(trace),
        "versions": _format_versions(),
        "weights": _format_weights_option(trace, about),
    }


def _describe_sampling(trace: Trace) -> str:
    """Return the mode, and what it means where it is not that of training."""
    if trace.sampling == trace.config.sampling == "official":
        return trace.sampling
    frame = "the picture's own pixels" if trace.sampling == "native" else "the network's own frame"
    own = "" if trace.sampling == trace.config.sampling else f"; trained and measured with {trace.config.sampling}"
    deeper = (
        f"; {trace.levels} levels, trained with {trace.config.levels}" if trace.levels != trace.config.levels else ""
    )
    return f"{trace.sampling}: looks cut from {frame}{own}{deeper}"


def _format_weights_option(trace: Trace, about: CheckpointCard) -> str:
    """Return what the command that replays a trace must be told, where the trace itself does not name its weights."""
    if about.verified or about.commit:
        return ""
    never_loaded = not about.provenance and about.source == "untrained"
    return f"--preset {trace.config.name}" if never_loaded and trace.config.name else "--checkpoint FOLDER"


@cache
def _format_versions() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"TNet Explorer {__version__}, Python {platform.python_version()}, {packages}; trace format {VERSION}"
