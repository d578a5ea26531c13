"""Which pixels looks are cut from: what the page says about it, and what can be chosen for a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnet_core import TNetConfig, Trace
from tnet_core.budget import MAX_LEVELS, extend_budget
from tnet_core.sampling.frame import Frame

Choice = tuple[str, str]  # what the page asks for, and what it is called


def build_sampling_payload(trace: Trace, budget: Sequence[int] = (), max_looks: int = 0) -> dict[str, Any] | None:
    """Return what the page says and offers about sampling, nothing for a model that takes no looks.

    `sampling` and `levels` are what a link says; None is as in training.
    `budget` is what the page opens with, which may be less than training's rule because it has room for `max_looks`.
    """
    config, image = trace.config, trace.image
    if config.is_baseline:
        return None
    larger = max(image.width, image.height) > config.input_size
    depth = Frame(image.width, image.height, config, "native").depth(MAX_LEVELS)
    native = trace.sampling == "native"
    return {
        "sampling": None if trace.sampling == config.sampling else trace.sampling,
        "levels": "auto" if trace.levels > config.levels else None,
        "frames": _list_frames(config) if larger else [],
        "frame": trace.sampling,
        "depths": _list_depths(config, depth) if larger and native and depth > config.levels else [],
        "sentence": _describe_sampling(trace, budget, max_looks)
        if larger or native
        else f"{explain_no_choice(config).capitalize()}.",
        "caption": "looks cut from its own pixels" if native else "",
    }


def explain_no_choice(config: TNetConfig) -> str:
    """Say why looks are cut as in training, as a part of a sentence."""
    if config.is_baseline:
        return "this model sees the whole picture once and takes no looks"
    frame = _format_frame(config)
    return f"this picture has no more pixels than the network's own frame ({frame}), so looks are cut from that"


def explain_other_sampling(trace: Trace) -> str:
    """Return what other tabs say when Explore's looks are not cut as in training, and theirs are; else nothing."""
    config = trace.config
    if (trace.sampling, trace.levels) == (config.sampling, config.levels):
        return ""
    frame = "the network's own frame" if config.sampling == "official" else f"{config.levels} levels"
    return (
        f"Explore looks at the picture's own pixels; this tab looks as in training, at {frame} ({config.sampling} "
        "sampling), so its numbers are others."
    )


def _format_frame(config: TNetConfig) -> str:
    return f"{config.input_size} × {config.input_size} px"


def _list_frames(config: TNetConfig) -> list[Choice]:
    """List the frames to choose from; a network that was trained on pictures' own pixels has no frame of its own."""
    if config.sampling == "native":
        return []
    return [("official", f"the network's own frame, {_format_frame(config)}"), ("native", "the picture's own pixels")]


def _list_depths(config: TNetConfig, depth: int) -> list[Choice]:
    return [("trained", f"{config.levels}, as in training"), ("auto", f"{depth}, as deep as the picture goes")]


def _describe_sampling(trace: Trace, budget: Sequence[int], max_looks: int) -> str:
    config, image = trace.config, trace.image
    if trace.sampling == "official":
        return (
            f"As in training: the picture's {image.width} × {image.height} px are shrunk to {_format_frame(config)} "
            "before anything is cut, so that no look shows finer detail."
        )
    told = (
        f"Each look is cut from the {image.width} × {image.height} px of the file and shrunk once, to the "
        f"{config.base_resolution} × {config.base_resolution} px that the network sees."
    )
    if config.sampling == "official":
        told += (
            " Training, and every accuracy told about this checkpoint, used its own frame (official sampling): no "
            "accuracy was measured for looks like these."
        )
    return told + _describe_depth(trace, budget, max_looks)


def _describe_depth(trace: Trace, budget: Sequence[int], max_looks: int) -> str:
    """Say what more levels mean, and where they take fewer looks than they would in training."""
    config, levels = trace.config, trace.levels
    if levels <= config.levels:
        return ""
    told = f" Looks go on inside looks until one has no more pixels than the network sees, {levels} levels in all."
    if not budget or tuple(budget) == extend_budget(config, config.budget, levels):
        return told
    written = " × ".join(map(str, budget))
    return f"{told} Deep ones take fewer looks than training would ({written}): a page has room for {max_looks}."
