"""Makes the README's pictures from the running app: docs/explore.png, docs/explore-dark.png and docs/explore.gif.

Usage: python -m tools.screenshots [--out FOLDER]

Starts the app on a free port, drives it in headless Chromium (set CHROMIUM to its path where it is not found) and
stops it again.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tnet_core.command import run_command
from tnet_core.errors import TNetError
from tools.local_server import FINISHED, SWITCHES, find_chromium, find_free_port, is_answering

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 120
STEPS = 5  # looks shown in the moving picture
STILL_LOOKS = 2  # and in the others
WIDTH = 900  # pixels of the moving picture


@contextmanager
def run_app() -> Iterator[str]:
    """Address of the app."""
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, "app.py", "--port", str(port)], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not is_answering(address):
            if process.poll() is not None or time.monotonic() > deadline:
                raise TNetError("The app did not start; try `python app.py` to see why.")
            time.sleep(0.3)
        yield address
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def open_browser() -> Iterator[Page]:
    executable = find_chromium()
    if executable is None:
        raise TNetError("Pictures are taken with Chromium: install it, or set CHROMIUM to its path.")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=list(SWITCHES))
        page = opened.new_page(viewport={"width": 1440, "height": 1000})
        page.set_default_timeout(60_000)
        yield page
        opened.close()


def visit(page: Page, address: str, theme: str) -> None:
    page.goto(f"{address}/?__theme={theme}")
    page.wait_for_selector(FINISHED)
    page.keyboard.press(str(STILL_LOOKS))  # ends the story that the page plays on arrival
    page.wait_for_timeout(1200)  # bars arrive at their length


def take_frames(page: Page) -> list[Image.Image]:
    """Return pictures of the board after 0, 1, … looks."""
    taken = []
    board = page.locator(".tn-board")
    for looks in range(STEPS + 1):
        page.keyboard.press(str(looks))
        page.wait_for_timeout(400)
        shot = Image.open(io.BytesIO(board.screenshot())).convert("RGB")
        taken.append(shot)
    height = max(shot.height for shot in taken)
    evened = []
    for shot in taken:  # a longer ledger makes a taller board
        canvas = Image.new("RGB", (shot.width, height), "white")
        canvas.paste(shot)
        evened.append(canvas.resize((WIDTH, round(height * WIDTH / shot.width)), Image.Resampling.LANCZOS))
    return evened


def make_pictures(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    still, dark, moving = (folder / name for name in ("explore.png", "explore-dark.png", "explore.gif"))
    with run_app() as address, open_browser() as page:
        visit(page, address, "light")
        _take_picture(page, still)
        first, *others = (frame.quantize(255) for frame in take_frames(page))
        first.save(moving, save_all=True, append_images=others, duration=[1800, *[1100] * (STEPS - 1), 2600], loop=0)
        visit(page, address, "dark")
        _take_picture(page, dark)
    return [still, dark, moving]


def _take_picture(page: Page, file: Path) -> None:
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.resize((1152, round(shot.height * 1152 / shot.width)), Image.Resampling.LANCZOS).save(file, optimize=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the README's pictures from the running app.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder to write to (default: docs)")
    given = parser.parse_args()

    def run() -> None:
        for file in make_pictures(given.out):
            print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")

    return run_command(run)


if __name__ == "__main__":
    raise SystemExit(main())
