"""The command line, run as a user runs it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY_3L, picture, tiny
from tests.support.processes import run_python
from tnet_core import command
from tnet_core.__main__ import PRECISIONS, main
from tnet_core.checkpoints.digests import cache_folder
from tnet_core.inference import conversion

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tn.save(tiny(), tmp_path_factory.mktemp("checkpoint") / "tiny", class_names=list("abcdefg"))


@pytest.fixture(scope="module")
def photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("image") / "photo.png"
    Image.fromarray(picture(seed=6)).save(path)
    return path


def test_it_prints_the_looks_and_the_top_classes(folder: Path, photo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(photo), "--checkpoint", str(folder), "--budget", "4", "--top", "3"]) == 0
    printed = capsys.readouterr().out.splitlines()
    trace = tn.traverse(tn.load(folder), photo, budget=(4,))
    weights, shares = trace.weights(), trace.contributions(trace.prediction)
    rows = [line for line in printed if line.startswith("    ") and line.split()[0].isdigit()]
    assert len(rows) == 4
    for i, (row, look) in enumerate(zip(rows, trace.locations, strict=True)):
        fields = row.split()
        assert fields[:5] == [str(i + 1), "2", "–", str(look.index), f"({look.index // 3},{look.index % 3})"]
        assert [float(side) for side in fields[5:9]] == pytest.approx(look.box, abs=6e-4)
        assert float(fields[9]) == pytest.approx(look.lift, abs=6e-3)
        assert float(fields[10]) == pytest.approx(weights[i + 1], abs=6e-4)
        assert float(fields[11]) == pytest.approx(shares.values[i + 1], abs=6e-5)
    best = sorted(range(7), key=lambda cls: -trace.logits()[cls])[:3]
    start = next(i for i, line in enumerate(printed) if line.startswith("class ")) + 1
    assert [line.split()[0] for line in printed[start : start + 3]] == ["abcdefg"[cls] for cls in best]
    assert f"{100 * trace.probabilities()[best[0]]:.2f}%" in printed[start]


def test_it_writes_a_trace_that_can_be_read_back(folder: Path, photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    assert main([str(photo), "--checkpoint", str(folder), "--budget", "2", "--json", str(out)]) == 0
    trace = tn.Trace.from_json(out.read_text())
    assert len(trace.locations) == 2 and trace.class_names == tuple("abcdefg")
    trace.attach(tn.load(folder), photo)


@pytest.mark.slow
def test_three_levels_and_policies(photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = str(tn.save(tiny(TINY_3L), tmp_path / "deep"))
    assert main([str(photo), "--checkpoint", deep, "--budget", "2,1", "--policy", "raster"]) == 0
    printed = capsys.readouterr().out
    assert "4 looks" in printed
    level_3 = [line.split()[:3] for line in printed.splitlines() if line.split()[1:2] == ["3"]]
    assert level_3 == [["3", "3", "1"], ["4", "3", "2"]]  # each tells the look it is inside of
    assert main([str(photo), "--checkpoint", deep, "--budget", "2", "--levels", "2", "--policy", "3,7"]) == 0
    assert "3 (1,0)" in capsys.readouterr().out


@pytest.mark.slow
def test_untrained_presets_say_so(photo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(photo), "--preset", "lite0-cub", "--budget", "1", "--sampling", "native"]) == 0
    captured = capsys.readouterr()
    assert "random weights" in captured.err and "native sampling" in captured.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.png"], "no file"),
        (["PHOTO", "--budget", "x"], "whole numbers separated by commas"),
        (["PHOTO", "--budget", "10"], "9 cells"),
        (["PHOTO", "--policy", "best"], "no policy 'best'"),
        (["PHOTO", "--device", "cuda"], "no device 'cuda'"),
        (["PHOTO", "--device", "meta"], "cpu or cuda"),
        (["PHOTO", "--device", "abacus"], "no device 'abacus'"),
        (["PHOTO", "--json", "no/such/folder/t.json"], "There is no folder"),
    ],
)
def test_bad_arguments_give_one_sentence_and_a_failing_exit(
    folder: Path, photo: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(photo) if a == "PHOTO" else a for a in arguments]
    assert main([*arguments, "--checkpoint", str(folder)]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error and error.startswith("error: ") and "\n" not in error


def test_unknown_checkpoints_and_presets(photo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(photo), "--checkpoint", "no-such-model"]) == 2
    assert "no-such-model" in capsys.readouterr().err
    assert main([str(photo), "--preset", "cub-b9"]) == 2
    assert "no preset 'cub-b9'" in capsys.readouterr().err


@pytest.mark.slow
def test_it_runs_as_a_module(tmp_path: Path) -> None:
    result = run_python("-m", "tnet_core", "--help", cwd=ROOT, env=os.environ, folder=tmp_path, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "--checkpoint" in result.stdout and "--budget" in result.stdout


def test_mistakes_are_answered_before_pytorch_is_imported(photo: Path, tmp_path: Path) -> None:
    """One Python for all of them: what the first imports, the next ones would find."""
    missing = str(tmp_path / "none.png")
    commands: list[tuple[list[str], str]] = [
        ([], "the following arguments are required: image"),
        ([str(photo), "--precision", "float8"], "invalid choice: 'float8'"),
        (["replay", missing], "the following arguments are required: --image"),
        ([missing], f"error: There is no file '{missing}'"),
        ([__file__], "not an image"),
        ([str(photo), "--budget", "x"], "whole numbers separated by commas"),
        ([str(photo), "--levels", "x"], "whole number or 'auto'"),
        ([str(photo), "--stop-rule", "x"], "A stopping rule is LEAST,MOST,THRESHOLD"),
        ([str(photo), "--json", str(tmp_path)], "There is a file or folder"),
        (["replay", missing, "--image", str(photo)], "none.png' cannot be read"),
        (["replay", __file__, "--image", missing], f"There is no file '{missing}'"),
    ]
    code = """import contextlib, io, json, sys
from tnet_core import command
for arguments in json.loads(sys.argv[1]):
    name = ["look"] if arguments[:1] != ["replay"] else []
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            code = command.main([*name, *arguments])
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, said.getvalue(), "torch" in sys.modules]))"""
    given = json.dumps([arguments for arguments, _ in commands])
    done = subprocess.run(
        [sys.executable, "-c", code, given], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for (status, said, is_imported), (arguments, message) in zip(answers, commands, strict=True):
        assert status == 2 and message in said, (arguments, said)
        assert not is_imported, arguments


def test_the_precisions_offered_are_those_that_the_engine_knows() -> None:
    assert tuple(conversion.PRECISIONS) == PRECISIONS


ENDS = [
    (["-m", "tnet_core.command", "--help"], "usage: tnet"),
    (["-m", "tnet_core.checkpoints", "show", "tnet-lite0-cub"], "source "),
    (["-m", "training.train", "--help"], "usage: python -m training.train"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "beginning"), ENDS)
def test_a_terminal_without_a_letter_a_closed_pipe_and_a_full_disk_have_no_traceback(
    command: list[str], beginning: str
) -> None:
    def run(**options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=120, **options
        )  # fmt: skip

    ascii_only = run(stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (ascii_only.returncode, ascii_only.stderr) == (0, "") and ascii_only.stdout.startswith(beginning)
    reading, writing = os.pipe()
    os.close(reading)
    closed = run(stdout=writing)
    os.close(writing)
    assert closed.stderr == ""
    with open("/dev/full", "w") as full:
        refused = run(stdout=full)
    assert refused.stderr in ("", "Cannot write the output: No space left on device.\n")


@pytest.mark.slow
def test_ctrl_c_is_one_word(photo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tnet_core.inference.traversal.traverse", interrupt)
    assert command.main(["look", str(photo), "--preset", "cub-b0"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "Interrupted."


def test_what_the_system_refuses_is_one_sentence_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/some/file")

    assert command.run_command(refuse) == 2
    assert capsys.readouterr().err == "Cannot use '/some/file': Read-only file system.\n"


@pytest.mark.parametrize(
    "error",
    [MemoryError("Unable to allocate 102. TiB"), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")],
)
def test_too_little_memory_is_one_sentence(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    def fill() -> None:
        raise error

    assert command.run_command(fill) == 2
    assert capsys.readouterr().err.startswith("The command cannot go on: there is not enough memory")


def test_an_error_of_the_program_itself_is_not_hidden() -> None:
    def fail() -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        command.run_command(fail)


def test_a_home_that_nobody_has_is_a_folder_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tn.TNetError, match="'~nobody-of-that-name/x'"):
        tn.load("~nobody-of-that-name/x")

    def refuse(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", refuse)
    for variable in ("TNET_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert not cache_folder().parent.is_dir()
