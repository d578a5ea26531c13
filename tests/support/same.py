"""Results that were computed twice, by other threads or another way of adding up."""

from __future__ import annotations

from typing import Any

import pytest


def assert_same(found: Any, expected: Any, where: str) -> None:
    """JSON values, numbers up to their last digits."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), where
        for key in expected:
            assert_same(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for index, value in enumerate(expected):
            assert_same(found[index], value, f"{where}[{index}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=2e-5), where
    else:
        assert found == expected, where
