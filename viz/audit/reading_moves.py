"""The equivariance section of an `evaluation.json`: do first looks follow content that is moved?"""

from __future__ import annotations

from typing import Any

from viz.audit.model import Moved
from viz.common.evaluation import Estimate, read_estimate, read_mapping, read_text

_MOST = 20  # ways to move


def read_moves(found: dict[str, Any]) -> tuple[Moved, ...]:
    """All ways together first, then each; nothing where no score is."""
    listed = [("all of them", found), *read_mapping(found, "transforms").items()][: _MOST + 1]
    moves = [_moved(name, entry) for name, entry in listed]
    return tuple(move for move in moves if move is not None)


def _moved(name: str, entry: Any) -> Moved | None:
    values = entry if isinstance(entry, dict) else {}
    score = _stated(values, "score")
    if score is None:
        return None
    first, images = read_mapping(values, "first_look"), values.get("images")
    whole = name == "all of them"  # its text explains the section
    return Moved(
        about=name if whole else read_text(values.get("about")) or read_text(name.replace("_", " ")),
        images=images if type(images) is int and 0 <= images <= 10**9 else None,
        score=score,
        followed=_stated(first, "followed"),
        stayed=_stated(first, "stayed"),
    )


def _stated(values: dict[str, Any], key: str) -> Estimate | None:
    return read_estimate(values.get(key), values.get(f"{key}_interval"))
