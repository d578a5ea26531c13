"""The checkpoints of one test, as a page offers them."""

from __future__ import annotations

from pathlib import Path

from pages.server.model_cache import ModelCache
from tnet_core.checkpoints import Registry


def build_model_cache(*folders: Path | str) -> ModelCache:
    """Return a cache without a registry that offers the checkpoints of these folders, the last one first."""
    cache = ModelCache(Registry(), fallback="lite0-cub", device="cpu")
    for folder in folders:
        cache.add(str(folder), on_notice=lambda _: None)
    return cache
