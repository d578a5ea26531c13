"""The benchmark of picture sizes, on the smallest pictures it makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tnet_core as tn
from benchmarks import sizes
from benchmarks.pictures import list_pictures, write_picture

pytestmark = pytest.mark.slow


def test_it_measures_and_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--sides", "1024", "3072", "--kinds", "pyramid", "--checkpoints", "tnet-needles", "--repeats", "1"]
    assert sizes.main([*asked, "--folder", str(tmp_path), "--json", str(tmp_path / "a.json")]) is None
    printed = capsys.readouterr().out
    result = json.loads((tmp_path / "a.json").read_text())
    small, large = result["rows"]
    assert sizes.table(result["rows"]) in printed
    assert (small["side"], large["side"], large["looks"]) == (1024, 3072, 6)
    assert small["growth"] == {"first_seconds": 1, "again_seconds": 1, "peak_bytes": 1}
    assert large["growth"]["peak_bytes"] == pytest.approx(large["peak_bytes"] / small["peak_bytes"])
    assert large["growth"]["first_seconds"] == pytest.approx(large["first_seconds"] / small["first_seconds"])
    assert large["hash_seconds"] > 0  # taken on its own, after both traversals
    assert large["again_seconds"] > 0 and large["peak_bytes"] > 100 << 20
    trace = tn.traverse(tn.load("tnet-needles"), tmp_path / "pyramid-3072.tif", budget=(3, 1), sampling="native")
    assert large["cells"] == [list(look.path) for look in trace.locations]
    assert large["pixels_read"] == trace.cost().pixels_read
    assert result["machine"]["packages"]["pyvips"]


def test_pictures_of_all_sizes_show_the_same(tmp_path: Path) -> None:
    thumbnails = []
    for kind, side in (("pyramid", 1024), ("tiled", 3072), ("jpeg", 2048)):
        source = tn.ImageSource.open(write_picture(tmp_path, kind, side))
        assert (source.width, source.height) == (side, side)
        thumbnails.append(source.resized((0, 0, side, side), (64, 64)).astype(int))
    for other in thumbnails[1:]:
        assert abs(other - thumbnails[0]).mean() < 3
    assert list(list_pictures(["jpeg", "tiled"], [32768, 1024])) == [("jpeg", 1024), ("tiled", 1024), ("tiled", 32768)]
    with pytest.raises(tn.TNetError, match="multiples of 1024"):
        list(list_pictures(["tiled"], [1000]))
