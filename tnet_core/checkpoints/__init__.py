"""Checkpoints: one safe format, a pinned registry, and the Hub.

Names are imported when they are first used, so that listing the registry needs no PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tnet_core.checkpoints.card import CheckpointCard, card_of
    from tnet_core.checkpoints.format import CheckpointNotice, load_folder, save
    from tnet_core.checkpoints.loading import load, load_entry
    from tnet_core.checkpoints.registry import Registry
    from tnet_core.schemas.evaluation import BudgetResult, Evaluation
    from tnet_core.schemas.registry import Entry, FileDigest, HubSource

_HOMES = {
    "tnet_core.checkpoints.card": ("CheckpointCard", "card_of"),
    "tnet_core.checkpoints.format": ("CheckpointNotice", "load_folder", "save"),
    "tnet_core.checkpoints.loading": ("load", "load_entry"),
    "tnet_core.checkpoints.registry": ("Registry",),
    "tnet_core.schemas.evaluation": ("BudgetResult", "Evaluation"),
    "tnet_core.schemas.registry": ("Entry", "FileDigest", "HubSource"),
}

__all__ = [
    "BudgetResult",
    "CheckpointCard",
    "CheckpointNotice",
    "Entry",
    "Evaluation",
    "FileDigest",
    "HubSource",
    "Registry",
    "card_of",
    "load",
    "load_entry",
    "load_folder",
    "save",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home."""
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(home), name)
            return value
    raise AttributeError(f"module '{__name__}' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
