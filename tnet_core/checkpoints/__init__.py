"""Checkpoints: one safe format, a pinned registry, and the Hub."""

from tnet_core.checkpoints.card import CheckpointCard, card_of
from tnet_core.checkpoints.digests import FileDigest
from tnet_core.checkpoints.entry import Entry, HubSource
from tnet_core.checkpoints.evaluation import BudgetResult, Evaluation
from tnet_core.checkpoints.format import CheckpointNotice, load_folder, save
from tnet_core.checkpoints.loading import load, load_entry
from tnet_core.checkpoints.registry import Registry

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
