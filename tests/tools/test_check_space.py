"""`make space-check`: the app runs from its folder alone; a folder that lacks something is noticed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import check_space, make_space

pytestmark = pytest.mark.slow

HERE = str(sys.executable)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("space")
    make_space.assemble(out)
    return out


def command(folder: Path) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: this one may hold a browser already."""
    words = [HERE, "-m", "tools.check_space", str(folder), "--python", HERE]
    return subprocess.run(words, cwd=make_space.ROOT, capture_output=True, text=True, timeout=400, check=False)


@pytest.mark.browser
def test_the_app_lands_from_its_folder_alone_and_nothing_is_written_there(space: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in space.rglob("*")}
    said = command(space)
    assert said.returncode == 0, said.stderr
    found = re.search(
        r"answers after ([\d.]+) s.*finished after ([\d.]+) s, as seen by Chromium", said.stdout, re.DOTALL
    )
    assert found and 0 < float(found[1]) < float(found[2]), said.stdout
    assert re.search(r"Most memory: [\d.]+ GB", said.stdout)
    assert {path: path.stat().st_mtime_ns for path in space.rglob("*")} == before


def test_a_folder_that_lacks_a_module_fails_with_the_apps_own_words(tmp_path: Path) -> None:
    make_space.assemble(tmp_path)
    shutil.rmtree(tmp_path / "tnet_core")
    ended = command(tmp_path)
    assert ended.returncode == 1
    said = ended.stderr
    assert said.startswith("The app ended with code 1:") and "No module named 'tnet_core'" in said


def test_another_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_space.main([str(tmp_path), "--python", HERE]) == 2
    said = capsys.readouterr().err
    assert said == f"'{tmp_path}' is not a folder that make_space wrote; run `make space` first.\n"


def test_a_python_that_is_not_there_is_refused(space: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_space.main([str(space), "--python", "none/python"]) == 2
    assert capsys.readouterr().err == "'none/python' is no Python that can be run.\n"


def test_a_package_that_does_not_exist_for_the_space_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ValueError, match=r"^torch==0\.0\.0 has no wheel for Python 3\.12 on a Space: .*torch==0\.0\.0"):
        check_space.check_wheel("torch==0.0.0", "3.12")
