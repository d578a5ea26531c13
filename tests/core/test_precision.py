"""bfloat16 in traces, replays and the command line; what a processor without it does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY, picture, tiny
from tnet_core.__main__ import main
from tnet_core.inference import conversion, engine
from tnet_core.inference.replay import ROUGH_TOLERANCE, find_tolerance, replay

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def use_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TNET_ENGINE", raising=False)


@pytest.fixture
def rough() -> tn.TNet:
    """A small model in bfloat16."""
    found = tn.optimised(tiny(), precision="bfloat16")
    if found.features.precision != "bfloat16":
        pytest.skip("this processor has no bfloat16")
    return found


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(picture(150, 200, seed=6)).save(path)
    return path


def test_a_bfloat16_trace_is_replayed_within_a_tenth_in_either_precision(rough: tn.TNet, photo: Path) -> None:
    trace = tn.Trace.from_json(tn.traverse(rough, photo, budget=(4,)).to_json())
    assert trace.precision == "bfloat16"
    for model in (rough, tiny()):
        again = replay(trace, model, photo)
        assert find_tolerance(trace, again) == ROUGH_TOLERANCE == 0.1
        assert [look.path for look in again.locations] == [look.path for look in trace.locations]


def test_other_weights_are_found_in_a_bfloat16_trace(rough: tn.TNet, photo: Path) -> None:
    trace = tn.traverse(rough, photo, budget=(4,))
    other = tn.build(TINY)
    other.load_state_dict(tiny().state_dict())
    other.classifier.linear.weight.data[3] += 0.5
    with pytest.raises(tn.TNetError, match=r"The replay failed: projections\["):
        replay(trace, tn.optimised(other, precision="bfloat16"), photo)


def test_the_command_looks_in_bfloat16_and_the_replay_states_its_tolerance(
    rough: tn.TNet, photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tn.save(rough, tmp_path / "model"), tmp_path / "trace.json"
    assert main([str(photo), "--checkpoint", str(folder), "--precision", "bfloat16", "--json", str(out)]) == 0
    assert "official sampling, bfloat16, image" in capsys.readouterr().out
    assert tn.Trace.from_json(out.read_text()).precision == "bfloat16"
    assert main(["replay", str(out), "--image", str(photo), "--checkpoint", str(folder)]) == 0
    assert "agree in bfloat16, within 0.1 of the largest of its kind" in capsys.readouterr().out


class WithoutBfloat16:
    """The engine's core on a processor that has float32 alone."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def get_property(self, device: str, name: str) -> Sequence[str]:
        assert (device, name) == ("CPU", "OPTIMIZATION_CAPABILITIES")
        return ["FP32", "INT8"]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)


def test_a_processor_without_bfloat16_runs_in_float32_and_says_so_once(
    photo: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    core = WithoutBfloat16(conversion.open_core())
    monkeypatch.setattr(conversion, "open_core", lambda: core)
    engine._reported.clear()
    with caplog.at_level(logging.WARNING):
        models = [tn.optimised(tiny(), precision="bfloat16") for _ in range(2)]
    assert [record.message for record in caplog.records] == ["This processor has no bfloat16: models run in float32."]
    images = torch.randn(2, 3, 64, 64)
    for model in models:
        assert model.features.precision == "float32" and tn.traverse(model, photo).precision == "float32"
        with torch.inference_mode():
            torch.testing.assert_close(model.features(images)[1], tiny().features(images)[1], rtol=1e-3, atol=1e-3)
