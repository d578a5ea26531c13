"""Which pictures a checkpoint is made for."""

from __future__ import annotations

import re

from tnet_core.checkpoints import CheckpointCard

# First word found wins; a checkpoint that says nothing takes any photograph.
_WORDS = (("photo", r"imagenet"), ("needles", r"needle"), ("bird", r"\bcub\b|cub-?200|bird"))


def kind_of(card: CheckpointCard) -> str:
    """'photo', 'bird' or 'needles', from what the checkpoint is called and was trained on."""
    told = [card.source, card.provenance.get("recipe"), card.provenance.get("dataset"), card.title]
    if card.evaluation is not None:
        told.append(card.evaluation.dataset)
    for text in told:
        for kind, word in _WORDS:
            if isinstance(text, str) and re.search(word, text.lower()):
                return kind
    return "photo"
