"""What the parts of the page that belong to a checkpoint show, as properties of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tnet_core.checkpoints import CheckpointCard
from viz.common.fragments import UNTRAINED, complaints
from viz.explore.card import card
from viz.explore.gallery import invitation
from viz.explore.kinds import kind_of

Properties = dict[str, Any]


@dataclass(frozen=True)
class Furniture:
    """In the order of the page's components."""

    chooser: Properties
    card: Properties
    notice: Properties
    invitation: Properties
    more: Properties


def furniture(
    about: CheckpointCard,
    spec: str,
    choices: Sequence[tuple[str, str]],
    *,
    trained: bool,
    has_more: bool,
    sentences: Sequence[str] = (),
) -> Furniture:
    """`choices` are titles and specs, `sentences` what could not be used."""
    config = about.config
    assert config is not None, "a checkpoint that was opened has a configuration"
    return Furniture(
        {"choices": list(choices), "value": spec, "visible": trained or len(choices) > 1},
        {"value": card(about) if trained else ""},
        {"value": ("" if trained else UNTRAINED) + complaints(sentences)},
        {"value": invitation(kind_of(about), config.num_classes) if trained else ""},
        {"visible": has_more},
    )
