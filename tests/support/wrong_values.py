"""What no component sends, but anybody can."""

from __future__ import annotations

from typing import Any

WRONG_VALUES: tuple[Any, ...] = (
    None, True, -5, 10**400, float("nan"), "../../etc/passwd", "<script>", {"a": []}, ["x"] * 1000,
)  # fmt: skip
