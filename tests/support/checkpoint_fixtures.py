"""Fixtures around a small checkpoint; test modules name this file in `pytest_plugins`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.support.checkpoints import save_birds
from tests.support.hub import LocalHub


@pytest.fixture
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing reads or writes the caches, registries or tokens of whoever runs the tests."""
    for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_ENDPOINT", "TNET_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")  # for processes that are started
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)


@pytest.fixture(scope="session")
def _birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_birds(tmp_path_factory.mktemp("checkpoint") / "garden-birds")


@pytest.fixture
def checkpoint(_birds: Path, tmp_path: Path, own_caches: None) -> Path:
    """A folder of its own, to be damaged at will."""
    return Path(shutil.copytree(_birds, tmp_path / "garden-birds"))


@pytest.fixture
def hub(own_caches: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """A Hub on loopback that this process, and the processes it starts, talk to."""
    with LocalHub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        yield running
