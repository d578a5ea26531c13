"""Cards of checkpoints with their evaluations; no model is opened for them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tnet_core.checkpoints import CheckpointCard, Registry
from tnet_core.checkpoints.loading import entry_card
from tnet_core.schemas.evaluation import parse_evaluation, read_evaluation


def bundled() -> list[CheckpointCard]:
    """Of the shipped checkpoints."""
    return [entry_card(entry, on_notice=print) for entry in Registry.load()]


def agreeing() -> CheckpointCard:
    """A card whose numbers count agreement with the backbone, as `training.adapt` writes them without labels."""
    (about,) = [about for about in bundled() if about.source == "tnet-lite0-imagenet"]
    assert about.evaluation is not None
    raw = about.evaluation.raw
    named = {**raw["dataset"], "name": "photographs", "split": "held-out, agreement with the backbone's own prediction"}
    return replace(about, source="agreeing", evaluation=parse_evaluation({**raw, "dataset": named, "agreement": {}}))


def card(folder: Path, content: dict[str, Any], **fields: Any) -> CheckpointCard:
    """The card of a checkpoint with this evaluation."""
    (folder / "evaluation.json").write_text(json.dumps(content), encoding="utf-8")
    return CheckpointCard(**{"source": "birds", "origin": "here", "evaluation": read_evaluation(folder)} | fields)
