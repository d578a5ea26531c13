"""Uploads vanish: after a while, at the end, and when the process is told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pages.server.uploads import open_upload_folder, remove_old_files


def test_old_files_and_empty_folders_go_and_new_ones_stay(tmp_path: Path) -> None:
    for name in ("old/deep/a.png", "mixed/old.png", "mixed/new.png", "loose-old", "loose-new"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
        if "old" in name:
            os.utime(file, (0, 0))
    for folder in ("old/deep", "old", "mixed"):
        os.utime(tmp_path / folder, (0, 0))
    remove_old_files(tmp_path, 60)
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["loose-new", "mixed/new.png"]
    later = time.time() - 120
    for path in tmp_path.rglob("*"):
        os.utime(path, (later, later))
    remove_old_files(tmp_path, 60)
    remove_old_files(tmp_path, -1)  # a folder that a removal touched is old again later
    assert not any(tmp_path.iterdir())


def test_the_folder_is_gradios_inside_and_gone_afterwards() -> None:
    from gradio.utils import get_upload_folder

    outside = get_upload_folder()
    with open_upload_folder(60, 60) as folder:
        assert get_upload_folder() == str(folder) and folder.is_dir()
        (folder / "x").write_text("x")
    assert not folder.exists() and get_upload_folder() == outside


def test_files_are_removed_while_the_folder_is_in_use() -> None:
    with open_upload_folder(0.05, 0.05) as folder:
        (folder / "cut off").write_text("x")
        deadline = time.monotonic() + 20
        while any(folder.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(folder.iterdir())


@pytest.mark.slow
def test_a_process_that_is_told_to_stop_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import time\nfrom pages.server.uploads import open_upload_folder\n"
        "with open_upload_folder(60, 60) as folder:\n    print(folder, flush=True)\n    time.sleep(60)"
    )
    variables = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=variables) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.is_dir() and folder.parent == tmp_path
        process.terminate()
        assert process.wait(20) == -signal.SIGTERM
    assert not any(tmp_path.iterdir())
