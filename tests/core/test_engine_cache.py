"""Converted models are kept, checked, bounded and shared between processes; nothing else is written or sent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import tnet_core as tn
from tests.support.models import config_of, lived
from tests.support.processes import run_python
from tnet_core.inference import conversion, engine, engine_cache
from tnet_core.inference.conversion import MODEL_FILE, WEIGHTS_FILE
from tnet_core.inference.engine_cache import make_key, open_converted

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model() -> tn.TNet:
    return lived(config_of("resnet18", 64))


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path | None]:
    """An empty cache, and a stand-in for the conversion that writes two files; the folders it was given."""
    made: list[Path | None] = []

    def convert(config: object, features: object, precision: str, folder: Path | None) -> Path | bytes:
        made.append(folder)
        if folder is None:
            return b"model"
        (folder / MODEL_FILE).write_bytes(b"model")
        (folder / WEIGHTS_FILE).write_bytes(bytes(1000))
        return folder / MODEL_FILE

    monkeypatch.setenv("TNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(conversion, "convert", convert)
    return made


def read(model: tn.TNet, key: str) -> bytes:
    with open_converted(key, model.config, model.features, "float32") as found:
        return found if isinstance(found, bytes) else found.read_bytes() + (found.parent / WEIGHTS_FILE).read_bytes()


def test_a_model_is_converted_once(model: tn.TNet, conversions: list[Path | None], tmp_path: Path) -> None:
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
    tap = other.features.tap
    assert tap is not None
    other.features.tap = replace(tap, rows=tuple(row + 1 for row in tap.rows))  # another map for the location module
    keys.add(make_key(other.config, other.features, "float32"))
    monkeypatch.setattr(conversion, "VERSION", 0)
    keys.add(make_key(model.config, model.features, "float32"))
    monkeypatch.setattr(engine_cache, "version", lambda _: "0")
    keys.add(make_key(model.config, model.features, "float32"))
    assert len(keys) == 7


def test_a_damaged_model_is_converted_again(model: tn.TNet, conversions: list[Path | None], tmp_path: Path) -> None:
    whole = read(model, "a")
    weights = tmp_path / "cache/engine/a" / WEIGHTS_FILE
    weights.write_bytes(b"x" * 1000)
    assert read(model, "a") == whole
    weights.unlink()
    assert read(model, "a") == whole
    assert len(conversions) == 3


def test_where_nothing_can_be_written_models_are_converted_each_time_and_stay_in_memory(
    model: tn.TNet, conversions: list[Path | None], tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert read(model, "a") == read(model, "a") == b"model"
    assert conversions == [None, None]


@pytest.mark.parametrize("obstacle", [pytest.param("file", marks=pytest.mark.long), "full disk"])  # the same way out
def test_a_model_that_cannot_be_written_runs_on_the_engine_all_the_same(obstacle: str, tmp_path: Path) -> None:
    """Both what the converter writes and what this process writes fails; files over 10 kB cannot be written."""
    if obstacle == "file":
        (tmp_path / "cache").write_text("a file where the folder should be")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))\n"
    done = run_on_engine(COMPARE if obstacle == "file" else limit + COMPARE, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "('float32', 1) True\n"
    assert not list(tmp_path.glob("cache/engine/*"))


def test_the_models_not_used_for_longest_are_removed(
    model: tn.TNet, conversions: list[Path | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_cache, "MAX_CACHE_BYTES", 4000)
    folder = tmp_path / "cache/engine"
    for age, key in enumerate("abc"):
        read(model, key)
        os.utime(folder / key, (1000 + age, 1000 + age))
    read(model, "a")  # used again, so b is the oldest
    read(model, "d")
    assert sorted(path.name for path in folder.iterdir()) == ["a", "c", "d"]


def test_what_killed_processes_left_is_removed_and_what_others_write_is_not(
    model: tn.TNet, conversions: list[Path | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_cache, "MAX_CACHE_BYTES", 4000)
    folder = tmp_path / "cache/engine"
    for name, age in ((".new-left", 4000), (".new-written", 60)):
        (folder / name).mkdir(parents=True)
        (folder / name / WEIGHTS_FILE).write_bytes(bytes(10_000))
        os.utime(folder / name, (time.time() - age,) * 2)
    for key in "ab":
        read(model, key)
    assert sorted(path.name for path in folder.iterdir()) == [".new-written", "a", "b"]


def test_two_processes_may_convert_the_same_model_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = [one.result() for one in [pool.submit(run_on_engine, COMPARE, tmp_path) for _ in range(2)]]
    assert [(done.returncode, done.stdout) for done in both] == [(0, "('float32', 1) True\n")] * 2
    assert len(list((tmp_path / "cache/engine").iterdir())) == 1


def test_a_model_that_another_process_removes_before_it_is_read_is_converted_again(
    model: tn.TNet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TNET_ENGINE", raising=False)
    monkeypatch.setenv("TNET_CACHE", str(tmp_path))
    tn.optimised(model)
    compile_model, read = engine.compile_model, []

    def remove_and_compile(converted: Path, precision: str) -> object:
        read.append(converted)
        if len(read) == 1:
            shutil.rmtree(converted.parent)
        return compile_model(converted, precision)

    monkeypatch.setattr(engine, "compile_model", remove_and_compile)
    fast = tn.optimised(model)
    assert fast.features.engine.open(fast.features).model is not None and len(read) == 2
    assert [path.name for path in (tmp_path / "engine").iterdir()] == [read[1].parent.name]


COMPARE = """
import torch
import tnet_core as tn
from tests.support.models import config_of, lived
torch.manual_seed(0)
model = lived(config_of("resnet18", 64))
fast, images = tn.optimised(model), torch.randn(3, 3, 64, 64)
compiled = fast.features.engine.open(fast.features).model
with torch.inference_mode():
    same = torch.allclose(fast.features(images)[1], model.features(images)[1], rtol=1e-3, atol=1e-3)
print((fast.features.precision, compiled.get_property("INFERENCE_NUM_THREADS")), same)
"""


def run_on_engine(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process with one thread whose cache is the folder's `cache`."""
    environment = {name: value for name, value in os.environ.items() if name != "TNET_ENGINE"}
    environment |= {"TNET_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    return run_python("-c", code, cwd=ROOT, env=environment, folder=folder, timeout=240)


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
