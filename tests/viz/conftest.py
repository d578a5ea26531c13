"""One traversal for all figures: every cell of a small grid, some contributions of either sign."""

from __future__ import annotations

import pytest

import tnet_core as tn
from tests.support.models import picture, tiny


@pytest.fixture(scope="session")
def trace() -> tn.Trace:
    return tn.traverse(tiny(), picture(90, 120, seed=3), budget=(9,))
