"""Files, folders and modules that Markdown files name in backticks are there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
# The changelog also names what earlier versions had, and the parts of a checkpoint's card are those of its run.
TEXTS = [name for name in TRACKED if name.endswith(".md") and not name.startswith(("CHANGELOG", "checkpoints/"))]
CODE = (".py", ".js", ".css", ".sh", ".ipynb")
PATH = re.compile(r"`([\w./-]+(?:\.(?:py|js|css|sh|ipynb|yaml|md|html|json|svg|csv|toml|txt)|/))`")
MODULE = re.compile(r"python -m ([a-z_][\w.]*\w)")
BASENAMES = {Path(name).name for name in TRACKED}


def find_missing(text: str, folder: Path) -> list[str]:
    """Return the paths and modules of a text that lead nowhere from the project's folder or from the text's own."""
    missing = []
    for name in PATH.findall(text):
        if "NAME" in name:  # a pattern
            continue
        first, slash, _ = name.partition("/")
        if slash and not any((place / name).exists() for place in (ROOT, folder)):
            # what a run or a checkpoint holds begins with no folder of the project
            missing += [name] if any((place / first).is_dir() for place in (ROOT, folder)) else []
        elif not slash and name.endswith(CODE) and name not in BASENAMES:
            missing.append(name)
    for module in MODULE.findall(text):
        path = ROOT / module.replace(".", "/")
        is_ours = (ROOT / module.partition(".")[0]).is_dir()
        if is_ours and not (path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()):
            missing.append(module)
    return missing


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_text_names_is_there(name: str) -> None:
    path = ROOT / name
    assert not find_missing(path.read_text(encoding="utf-8"), path.parent)


def test_a_path_that_leads_nowhere_is_found() -> None:
    text = (
        "`training/engine/none.py` `engine/none.py` `gone.js` `viz/none/` `python -m tools.none` `runs/x.json` `app.py`"
    )
    found = ["training/engine/none.py", "engine/none.py", "gone.js", "viz/none/", "tools.none"]
    assert find_missing(text, ROOT / "training") == found
