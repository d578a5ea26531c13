"""Below which surety a picture is unlike what a checkpoint knows."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

import tnet_core as tn
from tests.support.checkpoints import save_birds
from tests.training.data_files import class_folders
from training.data.folders import open_folder
from training.evaluate import main as evaluate
from training.familiar import choose_threshold, cross_fit, main


def test_the_threshold_leaves_a_twentieth_below_it() -> None:
    surety = np.arange(1000) / 1000
    crc = np.array([zlib.crc32(str(n).encode()) for n in range(1000)], dtype=np.uint32)
    assert choose_threshold(surety) == pytest.approx(0.05, abs=1e-3)
    assert 0.03 < cross_fit(surety, crc) < 0.07


@pytest.mark.slow
def test_the_field_is_measured_with_what_a_traversal_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    birds, own = save_birds(tmp_path / "birds"), class_folders(tmp_path / "own", ("wren", "robin"), images=4)
    others = class_folders(tmp_path / "others", ("boat",), images=3)
    assert main([str(birds), str(own)]) == 2 and "is not what" in capsys.readouterr().err  # evaluated elsewhere
    assert evaluate([str(birds), str(own), "--budget", "2", "--policies", "learned", "--resamples", "10", "--workers",
                     "0", "--no-timing", "--no-equivariance", "--device", "cpu"]) == 0  # fmt: skip
    before = json.loads((birds / "evaluation.json").read_text())
    assert main([str(birds), str(others)]) == 2
    assert "is not what" in capsys.readouterr().err
    assert main([str(birds), str(own), "--others", f"Boats={others}"]) == 0
    content = json.loads((birds / "evaluation.json").read_text())
    found = content.pop("familiar")
    assert content == before
    model, data = tn.load(str(birds), device="cpu"), open_folder(own)
    surety = [tn.traverse(model, data[n].image, model.config.budget).probabilities().max() for n in range(8)]
    assert found["threshold"] == round(float(np.quantile(surety, 0.05)), 3) and found["images"] == 8
    strange = open_folder(others)
    below = [
        tn.traverse(model, strange[n].image, model.config.budget).probabilities().max() < found["threshold"]
        for n in range(3)
    ]
    assert found["others"] == [{"name": "Boats", "images": 3, "below": round(float(np.mean(below)), 6)}]
