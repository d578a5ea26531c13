"""How long a large picture takes on the page: from choosing its file to its looks, and from a look to its pixels.

Usage: python -m tools.large_pictures [--side 16384] [--rounds 1] [--folder FOLDER]

Writes generated pictures (a pyramidal TIFF, a tiled one, a JPEG), starts the app on a free port, opens each by its path
and as an upload in headless Chromium, and zooms into its first look. Whatever else the machine does adds to the times.
After each, the memory of the app's process: what it has written itself, and pages of files that are mapped into it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.pictures import list_pictures, write_picture
from tnet_core.command import run_command
from tools.screenshots import open_browser, run_app, visit
from tools.server_memory import find_listener, read_shares

KINDS = ["pyramid", "tiled", "jpeg"]
ROW = "{:<8} {:<7} {:>6} {:>9} {:>8} {:>7} {:>8} {:>10}"


def time_opening(page: Page, address: str, file: Path, how: str, side: int) -> tuple[float, float | None, float]:
    """Return seconds until the looks are shown, until the page says what it does, and from a click to native pixels."""
    visit(page, address, "light")
    start, told = time.perf_counter(), None
    if how == "path":
        page.get_by_label("Open a file on this computer").fill(str(file))
        page.keyboard.press("Enter")
    else:
        page.set_input_files("#explore-pick input[type=file]", file)
    while f"{side} × {side} px" not in (page.text_content("figcaption") or ""):
        if told is None and f"Reading {side} × {side} pixels" in page.inner_text("body"):
            told = time.perf_counter() - start
        page.wait_for_timeout(50)
    shown = time.perf_counter() - start
    page.click(".tn-look [data-zoom='1']")
    clicked = time.perf_counter()
    page.wait_for_selector(".tn-zoom[data-complete=true]")
    return shown, told, time.perf_counter() - clicked


def measure_sizes(folder: Path, side: int, rounds: int) -> Iterator[str]:
    yield ROW.format("file", "by", "MB", "shown s", "told s", "zoom s", "own MB", "mapped MB")
    with run_app() as address, open_browser() as page:
        process = find_listener(address)
        assert process is not None
        visit(page, address, "light")
        yield ROW.format("none", "", "", "", "", "", *_format_memory(process))
        for number, (kind, length) in enumerate(list(list_pictures(KINDS, [side])) * rounds):
            picture = write_picture(folder, kind, length)
            for how in ("path", "upload"):
                # Another file each time: nothing is known about it yet.
                copy = Path(shutil.copy(picture, folder / f"{how}-{os.getpid()}{picture.suffix}"))
                with copy.open("ab") as file:
                    file.write(f"{how} {number}".encode())  # behind its end, where no reader looks
                shown, told, zoom = time_opening(page, address, copy, how, length)
                copy.unlink()
                said = "" if told is None else f"{told:.1f}"
                times = f"{shown:.1f}", said, f"{zoom:.1f}"
                yield ROW.format(kind, how, f"{picture.stat().st_size / 1e6:.0f}", *times, *_format_memory(process))


def _format_memory(process: int) -> tuple[str, str]:
    held = read_shares(process)
    return f"{held.own / 1e6:.0f}", f"{held.mapped / 1e6:.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure large pictures on the page.")
    parser.add_argument("--side", type=int, default=16384, help="pixels (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="how often each is opened, as another file every time")
    parser.add_argument("--folder", type=Path, help="where the pictures are kept (default: a temporary one)")
    given = parser.parse_args()

    def run() -> None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = given.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            for line in measure_sizes(folder, given.side, given.rounds):
                print(line, flush=True)

    return run_command(run)


if __name__ == "__main__":
    raise SystemExit(main())
