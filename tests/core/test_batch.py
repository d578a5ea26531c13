"""Whole data sets: tables of looks, in shards, by several processes, killed and continued."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY_3L, picture, tiny
from tests.support.processes import ROOT, PythonProcess, run_python, run_ranks
from tnet_core.batch import __main__ as command
from tnet_core.batch.files import list_images, match_label
from tnet_core.batch.shards import RUN_FILE, Run, finish_run, open_run
from tnet_core.batch.tables import IMAGE_COLUMNS, LOOK_COLUMNS

COUNT = 23
LABELS = ("ash", "beech", "001.Sour_cherry", "elm")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("batch") / "model"
    model = tiny()
    before, model.class_names = model.class_names, ("ash", "beech", "sour cherry", "d", "e", "f", "g")
    tn.save(model, folder)
    model.class_names = before
    return folder


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photographs")
    for number in range(COUNT):
        folder = root / LABELS[number % len(LABELS)]
        folder.mkdir(exist_ok=True)
        Image.fromarray(picture(90, 70 + number, seed=number)).save(folder / f"{number:02}.png")
    (root / "ash" / "torn.jpg").write_bytes(b"\xff\xd8\xff nothing")
    (root / "ash" / "line\nbreak.png").write_bytes((root / "ash" / "00.png").read_bytes())
    longest = "n" * 251 + ".png"
    (root / "ash" / longest).write_bytes((root / "ash" / "00.png").read_bytes())
    (root / "notes.txt").write_text("no picture")
    return root


def read_rows(out: Path, table: str) -> list[dict[str, Any]]:
    """Return all rows of a table, sorted by image and look."""
    rows = [row for path in sorted((out / table).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    return sorted(rows, key=lambda row: (row["image"], row.get("look", 0)))


def run(*arguments: object) -> int:
    return command.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def whole(checkpoint: Path, photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of one process that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    arguments = ("-m", "tnet_core.batch", str(photographs), "--checkpoint", str(checkpoint), "--shard", "4")
    done = run_python(
        *arguments, "--out", str(folder / "looks.parquet"), cwd=ROOT, env=os.environ, folder=folder, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert f"holds {COUNT + 3} images and {3 * (COUNT + 2)} looks" in done.stdout
    assert "1 image could not be read" in done.stdout and "ash/torn.jpg: " in done.stdout
    return folder / "looks.parquet"


@pytest.mark.slow
def test_rows_are_the_numbers_of_each_image_s_trace(whole: Path, checkpoint: Path, photographs: Path) -> None:
    images, looks = read_rows(whole, "images"), read_rows(whole, "looks")
    names = [image.name for image in list_images(photographs).images]
    assert [row["file"] for row in images] == names and [row["image"] for row in images] == [*range(COUNT + 3)]
    assert "ash/line\nbreak.png" in names and len([row for row in images if row["error"]]) == 1
    model = tn.optimised(tn.load(checkpoint))
    for name in ("beech/01.png", "001.Sour_cherry/02.png", "elm/03.png"):
        trace = tn.traverse(model, photographs / name)
        row = next(row for row in images if row["file"] == name)
        rows = [each for each in looks if each["file"] == name]
        assert row["predicted"] == trace.class_name(trace.prediction) and row["looks"] == 3
        assert row["precision"] == trace.precision == "float32"
        assert (row["width"], row["height"]) == (trace.image.width, trace.image.height)
        assert [each["look"] for each in rows] == [0, 1, 2, 3]
        assert [each["cell"] for each in rows] == [None, *(look.index for look in trace.locations)]
        assert [(each["x0"], each["y1"]) for each in rows[1:]] == [(at.box[0], at.box[3]) for at in trace.locations]
        assert [each["weight"] for each in rows] == pytest.approx(trace.weights().tolist(), abs=1e-5)
        total = sum(each["contribution"] for each in rows) + trace.bias[trace.prediction]
        assert total == pytest.approx(trace.logits()[trace.prediction], abs=1e-3)
        assert [each["prediction"] for each in rows] == [int(trace.logits(k).argmax()) for k in range(4)]
        assert rows[-1]["probability"] == pytest.approx(row["probability"])
        if name.startswith("elm"):  # a folder that is no class of the checkpoint
            assert row["label"] == "elm" and row["true_class"] is row["correct"] is None
            assert all(each["true_contribution"] is None for each in rows)
        else:
            true = 1 if name.startswith("beech") else 2
            shares = trace.contributions(true).values.tolist()
            assert row["true_class"] == true and row["correct"] == (trace.prediction == true)
            assert [each["true_contribution"] for each in rows] == pytest.approx(shares, abs=1e-3)


@pytest.mark.slow
def test_two_processes_write_the_rows_of_one(whole: Path, checkpoint: Path, photographs: Path, tmp_path: Path) -> None:
    out = tmp_path / "two"
    arguments = ["-m", "tnet_core.batch", str(photographs), "--checkpoint", str(checkpoint), "--shard", "4"]
    both = run_ranks(*arguments, "--out", str(out), cwd=ROOT, env=os.environ, folder=tmp_path, timeout=300)
    assert [one.returncode for one in both] == [0, 0], both
    assert any("holds 26 images" in one.stdout for one in both)
    for table in ("images", "looks"):
        assert read_rows(out, table) == read_rows(whole, table)


@pytest.mark.slow
def test_a_run_killed_at_random_moments_goes_on_and_loses_or_repeats_no_row(
    whole: Path, checkpoint: Path, photographs: Path, tmp_path: Path
) -> None:
    out, draw = tmp_path / "killed", random.Random(os.getpid())
    arguments = ["-m", "tnet_core.batch", str(photographs), "--checkpoint", str(checkpoint), "--shard", "4"]
    stopped = []
    for number in range(3):
        process = PythonProcess(
            *arguments, "--out", str(out), cwd=ROOT, env=os.environ,
            output=tmp_path / f"{number}.out", errors=tmp_path / f"{number}.err",
        )  # fmt: skip
        until = number * 2 + 1  # files that are there before the moment is drawn
        while len([*out.glob("*/*.parquet")]) < until and process.poll() is None:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.05))
        process.kill()
        stopped.append(process.wait(60))
    assert -signal.SIGKILL in stopped
    (out / "looks" / ".0123456789abcdef.tmp").write_bytes(b"half")  # what a kill while writing leaves
    done = run_python(*arguments, "--out", str(out), cwd=ROOT, env=os.environ, folder=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    for table in ("images", "looks"):
        assert read_rows(out, table) == read_rows(whole, table)
    assert not [path for path in out.rglob("*") if path.name.endswith(".tmp")]


RUN = Run(0, "none", "model", "0", None, None, "learned", None, 4)


@pytest.mark.parametrize("name", ["notes.tmp", ".notes.tmp", ".0123456789abcdef.tmp.png", ".0123456789ABCDEF.tmp"])
def test_a_file_of_the_user_is_neither_taken_for_a_left_over_nor_deleted(tmp_path: Path, name: str) -> None:
    mine = tmp_path / "mine" / name
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(tn.TNetError, match="holds something else already"):
        open_run(mine.parent, RUN)
    assert [path.name for path in mine.parent.iterdir()] == [name]
    out = tmp_path / "out"
    open_run(out, RUN)
    places = [out / name, out / "images" / name, out / "looks" / name]
    for place in places:
        place.write_text("mine")
    left = out / "looks" / ".0123456789abcdef.tmp"  # what a kill while writing leaves
    left.write_text("half")
    finish_run(out, RUN)
    assert [place.read_text() for place in places] == ["mine"] * 3 and not left.exists()


def test_what_a_killed_process_left_is_no_reason_to_refuse_a_folder(tmp_path: Path) -> None:
    (tmp_path / ".0123456789abcdef.tmp").write_text("half")
    open_run(tmp_path, RUN)
    assert (tmp_path / RUN_FILE).is_file()


@pytest.mark.parametrize("moment", range(12))
def test_processes_of_one_run_may_start_at_the_same_time(
    tmp_path: Path, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process of the run opens it at each moment between two calls that this one makes to the file system."""
    out, calls, is_other = tmp_path / "out", 0, False

    def interrupt(method: Any) -> Any:
        def call(path: Path, *arguments: Any, **options: Any) -> Any:
            nonlocal calls, is_other
            if not is_other:
                if calls == moment:
                    is_other = True
                    open_run(out, RUN)
                    is_other = False
                calls += 1
            return method(path, *arguments, **options)

        return call

    for name in ("exists", "is_dir", "iterdir", "mkdir", "stat", "replace", "write_text", "unlink"):
        monkeypatch.setattr(Path, name, interrupt(getattr(Path, name)))
    open_run(out, RUN)
    assert calls > moment
    monkeypatch.undo()
    assert sorted(path.name for path in out.iterdir()) == ["images", "looks", RUN_FILE]


@pytest.mark.slow
def test_bad_input_is_one_sentence_and_changes_nothing(
    whole: Path, checkpoint: Path, photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "list.csv").write_text("name\na.png\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    before = {path: path.stat().st_mtime_ns for path in (*tmp_path.rglob("*"), *whole.rglob("*"))}
    free = tmp_path / "free"
    for source, out, *more in (
        (tmp_path / "none", free),
        (tmp_path / "no\nne", free),
        (tmp_path / ("x" * 300), free),
        (tmp_path / "empty", free),
        (tmp_path / "list.csv", free),
        (tmp_path / "bytes.txt", free),
        (photographs, tmp_path / "mine"),
        (photographs, tmp_path / "file"),
        (photographs, tmp_path / "none" / "below"),
        (photographs, tmp_path / ("x" * 300)),
        (photographs, "/proc/looks"),
        (photographs, free, "--shard", "0"),
        (photographs, free, "--budget", "many"),
        (photographs, free, "--budget", "99"),
        (photographs, free, "--policy", "none"),
        (photographs, whole, "--shard", "5"),
        (photographs / "ash", whole, "--shard", "4"),
        (photographs, whole, "--shard", "4", "--budget", "1"),
        (photographs, whole, "--shard", "4", "--precision", "bfloat16"),
        (photographs, free, "--fiftyone", tmp_path / "mine"),
        (photographs, free, "--fiftyone", tmp_path / "file"),
        (photographs, free, "--fiftyone", tmp_path / "none" / "below"),
        (photographs, free, "--fiftyone", free / "below"),
        (photographs, free, "--fiftyone", tmp_path / ("x" * 300)),
    ):
        assert run(source, "--out", out, "--checkpoint", checkpoint, *more) == 2, (source, out, more)
        said = capsys.readouterr()
        assert said.err.count("\n") == 1 and "Traceback" not in said.err and not said.out, said.err
    assert run(photographs, "--out", free, "--checkpoint", tmp_path / "none") == 2
    assert {path: path.stat().st_mtime_ns for path in (*tmp_path.rglob("*"), *whole.rglob("*"))} == before


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_the_run_goes_on_when_there_is_room(
    checkpoint: Path, photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "looks.parquet"
    arguments = (photographs, "--out", out, "--checkpoint", checkpoint, "--shard", "20")
    assert run(*arguments[:-1], "20", "--budget", "99") == 2
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))  # no file may grow beyond it
        code = run(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 2
    said = capsys.readouterr().err.splitlines()
    assert "Cannot write" in said[-1], said
    assert [path.name for path in out.rglob("*") if path.is_file()] == ["run.json"]
    assert run(*arguments) == 0
    assert len(read_rows(out, "images")) == COUNT + 3


@pytest.mark.slow
def test_a_complete_run_is_left_as_it_is(
    whole: Path, checkpoint: Path, photographs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()}
    assert run(photographs, "--out", whole, "--checkpoint", checkpoint, "--shard", "4") == 0
    said = capsys.readouterr()
    assert "26 of 26 images are there already" in said.err and "holds 26 images" in said.out
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_a_run_begun_before_precisions_were_recorded_goes_on_in_float32_alone(
    whole: Path, checkpoint: Path, photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "old"))
    manifest = json.loads((out / "run.json").read_text())
    assert manifest.pop("precision") == "float32"
    (out / "run.json").write_text(json.dumps(manifest))
    assert run(photographs, "--out", out, "--checkpoint", checkpoint, "--shard", "4") == 0
    assert "26 of 26 images are there already" in capsys.readouterr().err
    rough = (photographs, "--out", out, "--checkpoint", checkpoint, "--shard", "4", "--precision", "bfloat16")
    assert run(*rough) == 2
    assert "was begun with another precision (float32, now bfloat16)" in capsys.readouterr().err


@pytest.mark.slow
def test_the_precision_of_looks_stands_in_manifest_and_table(
    checkpoint: Path, photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TNET_ENGINE", raising=False)
    model = tn.optimised(tn.load(checkpoint), precision="bfloat16")
    out = tmp_path / "rough"
    assert run(photographs / "beech", "--out", out, "--checkpoint", checkpoint, "--precision", "bfloat16") == 0
    assert json.loads((out / "run.json").read_text())["precision"] == "bfloat16"
    assert {row["precision"] for row in read_rows(out, "images")} == {model.features.precision}


@pytest.mark.slow
def test_looks_inside_looks_name_the_look_they_lie_in(photographs: Path, tmp_path: Path) -> None:
    tn.save(tiny(TINY_3L), tmp_path / "model")
    (tmp_path / "list.txt").write_text(f"{photographs}/beech/01.png\nnone.png\n")
    assert run(tmp_path / "list.txt", "--out", tmp_path / "o", "--checkpoint", tmp_path / "model") == 0
    looks = read_rows(tmp_path / "o", "looks")
    trace = tn.traverse(tiny(TINY_3L), photographs / "beech" / "01.png")
    assert [row["parent"] for row in looks[1:]] == [
        0 if look.parent is None else look.parent + 1 for look in trace.locations
    ]
    assert {row["level"] for row in looks} == {1, 2, 3}
    assert [bool(row["error"]) for row in read_rows(tmp_path / "o", "images")] == [False, True]
    assert json.loads((tmp_path / "o" / "run.json").read_text())["images"] == 2


def test_lists_and_folders_name_images_and_classes(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text('file,label\n"a\nb.png",ash\nc.png,\n')
    assert [(image.name, image.label) for image in list_images(tmp_path / "list.csv").images] == [
        ("a\nb.png", "ash"),
        ("c.png", None),
    ]
    (tmp_path / "list.txt").write_text("a b.png\r\n\nc.png\n")
    assert [image.name for image in list_images(tmp_path / "list.txt").images] == ["a b.png", "c.png"]
    names = ("Black-footed Albatross", "ash", "Ash ")
    assert match_label("001.Black_footed_Albatross", names) == 0
    assert match_label("ash", names) == 1
    assert match_label("ASH", names) is None and match_label("elm", names) is None and match_label(None, names) is None


def test_without_pyarrow_one_sentence_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert run(tmp_path, "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert "pip install '.[batch]' in the clone" in said and said.count("\n") == 1
    for file in ("docs/data_sets.md", "docs/command_line.md"):
        assert "pip install '.[batch]'" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_documentation_s_questions_are_answered(
    whole: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "data_sets.md").read_text(encoding="utf-8")
    for name in (*IMAGE_COLUMNS, *LOOK_COLUMNS):
        assert re.search(rf"\b{name}\b", text.partition("## Interrupted")[0]), name
    monkeypatch.chdir(whole.parent)
    answers: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, answers)
    rows = read_rows(whole, "looks")
    last = {row["image"]: row["prediction"] for row in read_rows(whole, "images")}
    beech = [row for row in rows if row["file"].startswith("beech/") and row["look"] == 1]
    assert answers["decided"]["beech"] == sum(row["prediction"] == last[row["image"]] for row in beech) / len(beech)
    against = [row["true_contribution"] < 0 for row in rows if row["look"] > 0 and row["true_contribution"] is not None]
    wasted = answers["wasted"]
    assert round(float((wasted["mean"] * wasted["size"]).sum())) == sum(against) and wasted["size"].sum() == len(
        against
    )
    said = {(row["file"], row["look"]): row["predicted"] for row in rows}
    assert set(answers["changed"].index) == {
        file for file, look in said if look == 3 and said[file, 2] != said[file, 3]
    }
    # The same answers from DuckDB.
    queries = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    shares, cells, files = (duckdb.sql(query).fetchall() for query in queries)
    assert dict(shares) == pytest.approx(answers["decided"].to_dict())
    assert {(level, cell): (mean, size) for level, cell, mean, size in cells} == {
        place: (pytest.approx(row["mean"]), row["size"]) for place, row in wasted.iterrows()
    }
    assert {file: (before, after) for file, before, after in files} == {
        file: (row[2], row[3]) for file, row in answers["changed"].iterrows()
    }
