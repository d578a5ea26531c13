"""Counts how often a file is read whole to be hashed."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tnet_core.imageio import info


class Hashing:
    """The files that were hashed, in their order; `slowly` gives another thread time to ask too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: list[str] = []
        self.slowly = 0.0
        digest = info.hashlib.file_digest

        def counting(file: Any, name: str) -> Any:
            self.files.append(file.name)
            time.sleep(self.slowly)
            return digest(file, name)

        monkeypatch.setattr(info.hashlib, "file_digest", counting)


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> Hashing:
    return Hashing(monkeypatch)
