"""CONTRIBUTING.md names files, markers and commands that are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_file_it_names_is_there() -> None:
    named = [name for name in re.findall(r"`([\w./]+\.(?:py|yaml|md|sh))`", TEXT) if "NAME" not in name]
    assert len(named) > 10
    assert not [name for name in named if not (ROOT / name).is_file()]


def test_every_folder_it_names_is_there() -> None:
    named = [name for name in re.findall(r"`([\w./]+)/`", TEXT) if "NAME" not in name]
    assert named
    assert not [name for name in named if not (ROOT / name).is_dir()]


def test_its_markers_are_those_that_are_registered() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    registered = [marker.partition(":")[0] for marker in settings["markers"]]
    rows = TEXT.partition("| marker | meaning |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)) == sorted(registered)


def test_its_commands_are_those_of_the_makefile() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([\w-]+)(?=[`\s\"])", TEXT))
    assert {"quick", "test", "test-long", "format"} <= named
    assert named <= targets
