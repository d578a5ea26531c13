"""The speeds in README and docs are those of the last whole run of `python -m benchmarks.run --write`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import run, tables
from benchmarks.machine import ROOT
from benchmarks.tables import describe_machine, replace_between, summary

pytestmark = pytest.mark.slow

PAGES = {"README.md": summary, "docs/speed.md": tables.tables}


def find_stale(root: Path) -> Iterator[str]:
    """Yield what does not agree with the last measurement."""
    result = json.loads((root / "benchmarks/measured.json").read_text(encoding="utf-8"))
    about = result["machine"]
    if "openvino" not in about["packages"]:
        yield "benchmarks/measured.json was measured without the engine"
    if result.keys() != {"machine", *run.SECTIONS}:
        yield f"benchmarks/measured.json has the sections {sorted(result)}, not those of benchmarks.run"
    if "date" not in about:
        yield "benchmarks/measured.json has no date"
        return
    for page, describe in PAGES.items():
        text = (root / page).read_text(encoding="utf-8")
        if replace_between(text, "speed", f"{describe_machine(about)}\n\n{describe(result)}") != text:
            yield f"the tables of {page} are not those of benchmarks/measured.json"


def test_published_speeds_are_those_that_were_measured_last() -> None:
    assert not list(find_stale(ROOT)), "measure anew: python -m benchmarks.run --write"


SPREAD = [1.2, 1.1, 1.3]
WAYS = ("same engine", "same engine, one by one", "ONNX Runtime", "bfloat16", "as timm gives it", "both in PyTorch")
FOUND: dict[str, dict[str, Any]] = {
    "alternatives": {
        "against": [{
            "tnet": "a", "baseline": "b", "looks": 2, "batch": 1, "goal": 1.3, "strictest": "ONNX Runtime",
            "ms": dict.fromkeys((*WAYS, "TNet", "TNet, bfloat16", "TNet, PyTorch"), 20.0),
            "times": dict.fromkeys(WAYS, SPREAD),
        }],
        "absolute": [{
            "model": "a", "looks": 5, "forward_ms": 1.0, "traversal_ms": 2.0, "official_ms": 3.0, "times": 3.0
        }],
    },
    "look": {"model": "a", "looks": 5, "step_ms": 1.0, "level_ms": 2.0, "traversal_ms": 3.0},
    "slider": {"looks": 25, "classes": 200, "ms": 0.3, "goal_ms": 2.0, "traversal_ms": 100.0, "times": 300.0},
    "curve": {"budgets": 6, "times": 4.8, "one_images_per_second": 20.0, "each_images_per_second": 4.1, "goal": 3.0},
    "growth_by_looks": {"looks": [1, 25], "ms": [17.0, 104.0], "start_ms": 13.3, "ms_per_look": 3.6, "strays": 0.04},
    "growth_by_side": {"looks": 5, "sides": [512, 8192], "pixels": 256.0, "ms": [31.6, 37.3], "growth": 1.18},
    "busy": {
        "looks": 5, "ms": 30.0, "beside_ms": 60.0, "together_ms": 90.0, "times_beside": 2.0, "times_together": 3.0
    },
    "cold_start": {
        "starts": 3, "first_page_seconds": 9.0, "first_traversal_seconds": 11.5, "page_seconds": 7.0,
        "traversal_seconds": 8.3,
    },
}  # fmt: skip


def test_what_a_whole_run_writes_is_not_stale_and_what_is_changed_by_hand_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*PAGES, "benchmarks/measured.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for module in (run, tables):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(run, "SECTIONS", {name: (lambda _, name=name: FOUND[name], 1) for name in run.SECTIONS})
    assert run.main(["--write"]) is None
    assert not list(find_stale(tmp_path))
    page = tmp_path / "docs/speed.md"
    page.write_text(page.read_text().replace("| 17 | 104 |", "| 17 | 100 |"))
    assert list(find_stale(tmp_path)) == ["the tables of docs/speed.md are not those of benchmarks/measured.json"]
    measured = tmp_path / "benchmarks/measured.json"
    measured.write_text(measured.read_text().replace('"openvino"', '"another"').replace('"busy"', '"idle"'))
    assert len(list(find_stale(tmp_path))) >= 2
