"""Arbitrary bytes in the files of a checkpoint or registry: `TNetError` or success, nothing else, and soon."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tnet_core as tn
from tests.support.checkpoints import CONFIG, NAMES, save_birds
from tnet_core.checkpoints import load_folder
from tnet_core.schemas.checkpoint import CheckpointConfig, read_config
from tnet_core.schemas.evaluation import read_evaluation
from tnet_core.schemas.registry import parse_registry

pytestmark = pytest.mark.slow

QUICK = settings(max_examples=150, deadline=20_000, suppress_health_check=[HealthCheck.too_slow])

VALID_CONFIG = json.dumps(CheckpointConfig.describe(CONFIG, NAMES, provenance={"seed": 1}).to_json()).encode()
VALID_REGISTRY = b"""schema: 1
checkpoints:
- id: birds
  title: Birds
  description: Small
  source: {folder: birds}
  files:
    config.json: {sha256: %b, size: 5}
    model.safetensors: {sha256: %b, size: 5}
  licence: {weights: MIT, data: CC0}
  citation: None
  numbers: none
""" % (b"a" * 64, b"b" * 64)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged(draw: st.DrawFn, valid: bytes) -> bytes:
    """A valid file with a few bytes replaced, removed or repeated."""
    data = bytearray(valid)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 12)))
        data[start:stop] = draw(st.binary(max_size=6)) * draw(st.sampled_from([1, 1, 1, 500]))
    return bytes(data)


def _survives(call: Callable[[], object]) -> None:
    """Success, or a sentence that can be printed anywhere."""
    message = "no problem"
    try:
        call()
    except tn.TNetError as error:
        message = str(error)
    assert message.encode("utf-8")


def _read(name: str, data: bytes, read: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        _survives(lambda: read(Path(folder)))


@QUICK
@given(st.binary(max_size=200) | damaged(VALID_CONFIG))
@example(VALID_CONFIG)
@example(b"[" * 1_000_000)
@example(b'{"a":' * 200_000)
@example(VALID_CONFIG.replace(b"0.5", b"1" + b"0" * 400))
def test_any_bytes_as_a_configuration(data: bytes) -> None:
    _read("config.json", data, read_config)


@QUICK
@given(st.sampled_from(sorted(CONFIG.to_dict())), JSON)
def test_any_value_in_any_field_of_a_model(name: str, value: Any) -> None:
    content = json.loads(VALID_CONFIG)
    content["model"][name] = value
    del content["preprocessing"], content["trained_budget"]
    _read("config.json", json.dumps(content).encode(), read_config)


@QUICK
@given(
    st.binary(max_size=200)
    | damaged(b'{"schema":1,"dataset":{"name":"a","split":"b","size":3},"budgets":[{"budget":[1],"top1":0.5}]}')
)
def test_any_bytes_as_an_evaluation(data: bytes) -> None:
    _read("evaluation.json", data, read_evaluation)


@QUICK
@given(st.binary(max_size=200) | damaged(VALID_REGISTRY))
@example(VALID_REGISTRY)
@example(b"[" * 200_000)
@example(b"- " * 100_000)
@example(b"a: &a [*a]")
@example(b"? " * 50_000)
@example(b"{" * 100_000)
@example(b"a: " + b"1:" * 100_000)
@example(b"k: v\n" * 50_000)
@example(b"[" + b"a," * 130_000)
@example(b"".join(b"k%d: v\n" % i for i in range(20_000)))
@example(b"'" + b"\n" * 200_000)
@example(b'"' + b"\\x" * 1000)
@example(b"%YAML " + b"9" * 5000 + b".1\n---\n")
@example(b"\xef\xbb\xbfcheckpoints: []")
def test_any_bytes_as_a_registry(data: bytes) -> None:
    _survives(lambda: parse_registry(data, Path("registry.yaml")))


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_birds(tmp_path_factory.mktemp("fuzz") / "birds")


@settings(parent=QUICK, max_examples=60)
@given(data=st.data())
def test_any_bytes_in_the_header_of_the_tensors(birds: Path, data: st.DataObject) -> None:
    file = birds / "model.safetensors"
    original = file.read_bytes()
    length = 8 + int.from_bytes(original[:8], "little")
    try:
        file.write_bytes(data.draw(damaged(original[:length])) + original[length:])
        _survives(lambda: load_folder(birds))
    finally:
        file.write_bytes(original)
