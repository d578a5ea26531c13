"""The model card of an adapted checkpoint: what its numbers mean, and every policy beside the learned one."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from tnet_core.checkpoints.card import CheckpointCard, card_of
from tnet_core.checkpoints.format import load_folder
from training import bundle

_SHOWN = ("learned", "random", "centre", "mean", "oracle")


def write_card(folder: Path, title: str) -> None:
    card = card_of(load_folder(folder, device="cpu"))
    bundle.write_card(folder, card, title, notes(card))


def notes(card: CheckpointCard) -> str:
    parts = [_how(card)]
    raw = card.evaluation.raw if card.evaluation is not None else {}
    if "agreement" in raw:
        parts += [_meaning(raw), _policies(raw)]
    return "\n".join(parts)


def _how(card: CheckpointCard) -> str:
    told = card.provenance
    counts = told.get("images", {})
    return "## How it was made\n\n" + _filled(
        f"{told.get('base_model', '')} Backbone and classifier were not trained further. The location module (where to "
        "look), the weighting module (how looks count; a plain average at the start) and the positional module (zero "
        f"at the start) learned from the features of all cells of {counts.get('learned_from', 'some')} photographs "
        f"towards {told.get('target', 'a target')}, with `python -m training.adapt` (the command is under Provenance)."
    )


def _meaning(raw: dict[str, Any]) -> str:
    side, temperature = raw["agreement"]["full_resolution"], raw["agreement"]["temperature"]
    return "## What the numbers mean\n\n" + _filled(
        "No labels were used. An image counts as right when the looks agree with the prediction that the same backbone "
        f"makes for the whole image at {side} px; log-likelihood is that of this prediction's whole distribution over "
        f"classes, at temperature {temperature:g}. The images were held out from this adaptation, but **the pretrained "
        "backbone may know them**: read differences between policies and between numbers of looks, not an accuracy. "
        "About a photograph it says at best what the pretrained classifier says."
    )


def _filled(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n"


def _policies(raw: dict[str, Any]) -> str:
    agreement, measured = raw["agreement"], raw["policies"]
    counts = [row["budget"][0] for row in raw["budgets"]]
    parts = ["## Where to look: policies at equal budget\n"]
    top1 = {name: measured[name]["top1"] for name in _SHOWN if "top1" in measured.get(name, {})}
    soft = {name: agreement["policies"][name]["log_likelihood"] for name in _SHOWN}
    tables = (("Agreement in percent", top1, 100, 1), ("Mean log-likelihood", soft, 1, 3))
    for title, columns, factor, digits in tables:
        parts += [f"{title}, by looks:\n", f"| looks | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
        for at, looks in enumerate(counts):
            cells = [f"{factor * values[at]:.{digits}f}" for values in columns.values()]
            parts.append(f"| {looks} | {' | '.join(cells)} |")
        parts.append("")
    parts += ["Paired differences with 95 % intervals of a bootstrap over images:\n"]
    parts += ["| | " + " | ".join(f"{k} look{'' if k == 1 else 's'}" for k in _few(counts)) + " |"]
    parts += ["|---" * (len(_few(counts)) + 1) + "|"]
    for title, found, factor, digits in (
        ("points of agreement", raw["comparisons"], 100, 1),
        ("log-likelihood", agreement["comparisons"], 1, 3),
    ):
        for name, values in found.items():
            cells = [_difference(values, counts.index(k), factor, digits) for k in _few(counts)]
            parts.append(f"| {name.replace('-', ' − ')}, {title} | {' | '.join(cells)} |")
    return "\n".join(parts) + "\n"


def _few(counts: list[int]) -> list[int]:
    return [k for k in (1, 2, 3, 5) if k in counts]


def _difference(values: dict[str, Any], at: int, factor: int, digits: int) -> str:
    low, high = values["interval"][at]
    return f"{factor * values['difference'][at]:+.{digits}f} [{factor * low:+.{digits}f}, {factor * high:+.{digits}f}]"
