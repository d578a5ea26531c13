"""The folder of uploads: it belongs to this process alone, and old files vanish from it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def open_upload_folder(keep_seconds: float, every_seconds: float) -> Iterator[Path]:
    """Make a folder that is Gradio's folder for uploads inside this context, and keep it free of old files.

    Gradio itself forgets files of uploads that were cut off.
    """
    folder = Path(tempfile.mkdtemp(prefix="tnet-explorer-"))
    before = os.environ.get("GRADIO_TEMP_DIR")
    os.environ["GRADIO_TEMP_DIR"] = str(folder)
    over = threading.Event()

    def sweep() -> None:
        while not over.wait(every_seconds):
            remove_old_files(folder, keep_seconds)

    def end(number: int, _: object) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    threading.Thread(target=sweep, daemon=True).start()
    former = signal.signal(signal.SIGTERM, end)  # how hosts end a process: no `finally` runs then
    try:
        yield folder
    finally:
        over.set()
        signal.signal(signal.SIGTERM, former)
        if before is None:
            del os.environ["GRADIO_TEMP_DIR"]
        else:
            os.environ["GRADIO_TEMP_DIR"] = before
        shutil.rmtree(folder, ignore_errors=True)


def remove_old_files(folder: Path, keep_seconds: float) -> None:
    """Remove files that were not written to for so long, and folders that are empty as long."""
    oldest = time.time() - keep_seconds
    for path in sorted(folder.rglob("*"), reverse=True):  # what lies in a folder before the folder
        with suppress(OSError):  # somebody else was faster, or something came into the folder
            if path.lstat().st_mtime < oldest:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
