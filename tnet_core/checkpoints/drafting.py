"""Registry entries written by the machine, ready to be pasted into a registry file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from tnet_core.checkpoints.card import CheckpointCard, describe
from tnet_core.checkpoints.digests import digest
from tnet_core.schemas.files import FORMAT_FILES
from tnet_core.schemas.registry import SCHEMA, FileDigest, parse_registry

UNKNOWN = "not stated"


def hash_files(folder: Path) -> dict[str, FileDigest]:
    """Hash the checkpoint files of a folder, without trusting any memory."""
    return {name: digest(folder / name, remembered=False) for name in FORMAT_FILES if (folder / name).is_file()}


def draft(
    card: CheckpointCard,
    source: Mapping[str, str],
    files: Mapping[str, FileDigest],
    registry: Path,
    given: Mapping[str, str | None],
) -> str:
    """Return a registry file with one entry; `given` overrides what the checkpoint tells about itself.

    `registry` is where the text will be stored: a source folder is relative to it.
    """
    chosen = {key: value for key, value in given.items() if value is not None}
    identity = chosen.get("id") or make_id(card.source)
    entry = {
        "id": identity,
        "title": chosen.get("title") or identity,
        "description": chosen.get("description") or _describe_model(card),
        "source": dict(source),
        "files": {name: {"sha256": file.sha256, "size": file.size} for name, file in files.items()},
        "licence": {
            "weights": chosen.get("licence") or read_provenance(card, "licence"),
            "data": chosen.get("data_licence") or read_provenance(card, "data_licence"),
        },
        "citation": chosen.get("citation") or read_provenance(card, "citation"),
        "numbers": chosen.get("numbers") or _describe_evaluation(card),
    }
    text = yaml.safe_dump({"schema": SCHEMA, "checkpoints": [entry]}, sort_keys=False, allow_unicode=True, width=110)
    parse_registry(text.encode("utf-8"), registry)  # what is printed can be read
    return text


def read_provenance(card: CheckpointCard, key: str) -> str:
    """Return what the provenance says under a key, on one line, or that it says nothing."""
    value = card.provenance.get(key)
    if not isinstance(value, str):
        return UNKNOWN
    line = " ".join("".join(c if c.isprintable() else " " for c in value).split())
    return line[:300] or UNKNOWN


def make_id(text: str) -> str:
    """Return a registry id made from a folder's or repository's name."""
    name = text.partition("@")[0].rpartition("/")[2].rpartition(":")[2]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("._-")[:64].strip("._-") or "checkpoint"


def _describe_model(card: CheckpointCard) -> str:
    return describe(card.config)[:300] if card.config is not None else "A TNet checkpoint"


def _describe_evaluation(card: CheckpointCard) -> str:
    if card.evaluation is None:
        return "not evaluated"
    return f"evaluation.json, measured on {card.evaluation.where}"
