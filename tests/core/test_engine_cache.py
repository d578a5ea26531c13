"""Converted models are kept, checked, bounded and shared between processes; nothing else is written or sent."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tnet_core as tn
from tests.support.models import config_of, lived
from tnet_core.inference import conversion, engine_cache
from tnet_core.inference.conversion import MODEL_FILE, WEIGHTS_FILE
from tnet_core.inference.engine_cache import make_key, open_folder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model() -> tn.TNet:
    return lived(config_of("resnet18", 64))


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """An empty cache, and a stand-in for the conversion that writes two files; the folders it was given."""
    made: list[Path] = []

    def convert(config: object, features: object, precision: str, folder: Path) -> None:
        made.append(folder)
        (folder / MODEL_FILE).write_bytes(b"model")
        (folder / WEIGHTS_FILE).write_bytes(bytes(1000))

    monkeypatch.setenv("TNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(conversion, "convert", convert)
    return made


def read(model: tn.TNet, key: str) -> bytes:
    with open_folder(key, model.config, model.features, "float32") as folder:
        return (folder / MODEL_FILE).read_bytes() + (folder / WEIGHTS_FILE).read_bytes()


def test_a_model_is_converted_once(model: tn.TNet, conversions: list[Path], tmp_path: Path) -> None:
    assert read(model, "a") == read(model, "a") == b"model" + bytes(1000)
    assert len(conversions) == 1
    assert [path.name for path in (tmp_path / "cache/engine").iterdir()] == ["a"]


def test_a_key_depends_on_weights_configuration_precision_and_versions(
    model: tn.TNet, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {make_key(model.config, model.features, precision) for precision in ("float32", "bfloat16")}
    other = lived(config_of("resnet18", 64))
    assert make_key(other.config, other.features, "float32") in keys  # the same weights
    other.features.body.conv1.weight.data[0, 0, 0, 0] += 1e-3
    keys.add(make_key(other.config, other.features, "float32"))
    keys.add(make_key(config_of("resnet18", 96), model.features, "float32"))
    monkeypatch.setattr(conversion, "VERSION", 0)
    keys.add(make_key(model.config, model.features, "float32"))
    monkeypatch.setattr(engine_cache, "version", lambda _: "0")
    keys.add(make_key(model.config, model.features, "float32"))
    assert len(keys) == 6


def test_a_damaged_model_is_converted_again(model: tn.TNet, conversions: list[Path], tmp_path: Path) -> None:
    whole = read(model, "a")
    weights = tmp_path / "cache/engine/a" / WEIGHTS_FILE
    weights.write_bytes(b"x" * 1000)
    assert read(model, "a") == whole
    weights.unlink()
    assert read(model, "a") == whole
    assert len(conversions) == 3


def test_where_nothing_can_be_written_models_are_converted_each_time(
    model: tn.TNet, conversions: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert read(model, "a") == read(model, "a")
    assert len(conversions) == 2 and not any(folder.exists() for folder in conversions)


def test_the_models_not_used_for_longest_are_removed(
    model: tn.TNet, conversions: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_cache, "MAX_BYTES", 4000)
    folder = tmp_path / "cache/engine"
    for age, key in enumerate("abc"):
        read(model, key)
        os.utime(folder / key, (1000 + age, 1000 + age))
    read(model, "a")  # used again, so b is the oldest
    read(model, "d")
    assert sorted(path.name for path in folder.iterdir()) == ["a", "c", "d"]


def test_two_may_convert_the_same_model_at_once(model: tn.TNet, conversions: list[Path], tmp_path: Path) -> None:
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(read(model, "a"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and set(found) == {b"model" + bytes(1000)}
    assert [path.name for path in (tmp_path / "cache/engine").iterdir()] == ["a"]


WATCH = """
import os, sys
def watch(event, values):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        with open(os.environ["WATCHED"], "a") as file:
            file.write(f"{event} {values}\\n")
sys.addaudithook(watch)
"""
SCRIPT = """
import torch, tnet_core as tn
fast = tn.optimised(tn.build(tn.preset("lite0-cub"), device="cpu"))
assert fast.features.engine.open(fast.features).model is not None
with torch.inference_mode():
    fast(torch.zeros(1, 3, fast.config.input_size, fast.config.input_size))
"""


def test_the_engine_opens_no_connection_and_writes_nothing_into_the_home_folder(tmp_path: Path) -> None:
    """Both this process and the one that converts are watched; importing OpenVINO as it comes would do both."""
    watching, home = tmp_path / "watching", tmp_path / "home"
    watching.mkdir()
    home.mkdir()
    (watching / "sitecustomize.py").write_text(WATCH)
    environment = {name: value for name, value in os.environ.items() if name != "TNET_ENGINE"} | {
        "HOME": str(home), "TNET_CACHE": str(tmp_path / "cache"), "WATCHED": str(tmp_path / "events.txt"),
        "PYTHONPATH": os.pathsep.join([str(watching), str(ROOT)]),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "events.txt").exists()
    assert not list(home.rglob("*"))
    assert len(list((tmp_path / "cache/engine").iterdir())) == 1
