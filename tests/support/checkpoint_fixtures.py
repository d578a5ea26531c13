"""Fixtures around a small checkpoint; test modules name this file in `pytest_plugins`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants

from tests.support.hub import LocalHub
from tests.support.models import TINY, tiny
from tnet_core.checkpoints import save
from tnet_core.checkpoints.drafting import digests_of

CONFIG = replace(TINY, num_classes=3)
NAMES = ("wren", "robin", "great tit")
EVALUATION = {
    "schema": 1,
    "dataset": {"name": "Garden birds", "split": "test", "size": 120},
    "budgets": [
        {"budget": [0], "top1": 0.61, "top5": 0.95, "flops": 1.1e7},
        {"budget": [1], "top1": 0.7, "top5": 0.97, "flops": 2.2e7},
        {"budget": [3], "top1": 0.69, "flops": 4.4e7},
    ],
}


@pytest.fixture(scope="session")
def _saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint") / "garden-birds"
    provenance = {"recipe": "birds.yaml", "dataset": "Garden birds", "seed": 3, "licence": "Apache-2.0"}
    save(tiny(CONFIG), folder, class_names=NAMES, provenance=provenance)
    (folder / "evaluation.json").write_text(json.dumps(EVALUATION))
    return folder


@pytest.fixture
def checkpoint(_saved: Path, tmp_path: Path) -> Path:
    """A folder of its own, to be damaged at will."""
    return Path(shutil.copytree(_saved, tmp_path / "garden-birds"))


@pytest.fixture(autouse=True)
def _own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the caches, registries or tokens of whoever runs it."""
    for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_ENDPOINT", "TNET_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """A Hub on loopback that this process, and the processes it starts, talk to."""
    with LocalHub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
        yield running


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def entry_fields(folder: Path, **changes: object) -> dict[str, object]:
    """The fields of a registry entry for a folder that lies beside the registry."""
    files = {name: {"sha256": found.sha256, "size": found.size} for name, found in digests_of(folder).items()}
    return {
        "id": "birds",
        "title": "Birds of the garden",
        "description": "A small model",
        "source": {"folder": folder.name},
        "files": files,
        "licence": {"weights": "Apache-2.0", "data": "CC-BY-4.0"},
        "citation": "Nobody yet",
        "numbers": "evaluation.json",
    } | changes


def write_registry(path: Path, *entries: dict[str, object]) -> Path:
    path.write_text(yaml.safe_dump({"schema": 1, "checkpoints": list(entries)}, sort_keys=False), encoding="utf-8")
    return path
