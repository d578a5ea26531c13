"""The app of a folder in a process of its own, in an environment like a Space's, and how long its landing takes."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.local_server import FINISHED, SWITCHES, find_chromium, find_free_port, is_answering
from tools.queue_client import QueueClient

START_SECONDS = 180.0
NOWHERE = "http://127.0.0.1:9"  # every proxy: nothing is fetched from elsewhere
LIKE_A_SPACE = {
    "SPACE_ID": "someone/tnet-explorer",
    "SPACE_HOST": "someone-tnet-explorer.hf.space",
    "SPACE_AUTHOR_NAME": "someone",
    "SPACE_REPO_NAME": "tnet-explorer",
    "CPU_CORES": "2",
    "MEMORY": "16Gi",
    "GRADIO_SERVER_NAME": "0.0.0.0",
    "GRADIO_NUM_PORTS": "1",
    "GRADIO_ALLOW_FLAGGING": "never",
    "PYTHONUNBUFFERED": "1",
}
# On a Space, a server at this port takes new code for the running app from whoever asks; not on this machine.
RELOAD_PORT = 7887


class RunError(ValueError):
    """The app did not do what it should; the message says what, with the app's own words."""


@dataclass(frozen=True)
class Measurement:
    """Seconds since the process was started, and its memory."""

    answers: float
    landing: float
    by: str  # who waited for the landing
    processor: float  # seconds of computing until then, which a busy machine does not stretch
    peak_bytes: int


def measure(folder: Path, python: Path, home: Path) -> Measurement:
    """Starts the app of this folder alone and waits until its landing traversal is on the page."""
    with open_browser() as page, run_app(folder, python, home) as app:
        answered = time.monotonic() - app.started
        by = "Chromium" if page is not None else "the queue"
        if page is not None:
            page.goto(app.address)
            page.wait_for_selector(FINISHED)
        else:
            visitor = QueueClient(app.address)
            visitor.happens("load")
            visitor.close()
        landed = time.monotonic() - app.started
        if "Traceback" in app.read_log():
            raise RunError(f"The app reported an error:\n{app.read_log()}")
        return Measurement(
            answered, landed, by, read_processor_seconds(app.process.pid), read_peak_memory(app.process.pid)
        )


@dataclass(frozen=True)
class RunningApp:
    """The app in its process."""

    process: subprocess.Popen[bytes]
    address: str
    log: Path
    started: float  # time.monotonic()

    def read_log(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


@contextmanager
def run_app(folder: Path, python: Path, home: Path) -> Iterator[RunningApp]:
    """Yield the running app once it answers. Nothing is inherited from this environment."""
    port = find_free_port()
    kept = hold_port(RELOAD_PORT)
    log = home / "log.txt"
    variables = build_environment(python, home, port)
    started = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen([python, "app.py"], cwd=folder, env=variables, stdout=output, stderr=output)
    app = RunningApp(process, f"http://127.0.0.1:{port}", log, started)
    try:
        while not is_answering(app.address):
            if process.poll() is not None:
                raise RunError(f"The app ended with code {process.returncode}:\n{app.read_log()}")
            if time.monotonic() - started > START_SECONDS:
                raise RunError(f"The app did not answer within {START_SECONDS:.0f} s:\n{app.read_log()}")
            time.sleep(0.1)
        yield app
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        kept.close()


def build_environment(python: Path, home: Path, port: int) -> dict[str, str]:
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
    here = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
    path = {"PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    own = {"TMPDIR": str(home), "GRADIO_SERVER_PORT": str(port)}
    # By this name Gradio knows a Space, and then it needs the package `spaces`.
    named = {"SYSTEM": "spaces"} if has_package(python, "spaces") else {}
    return LIKE_A_SPACE | proxies | here | path | own | named


def has_package(python: Path, name: str) -> bool:
    test = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{name}') is None)"
    return subprocess.run([python, "-c", test], check=False).returncode == 0


def hold_port(port: int) -> socket.socket:
    """Holds a port without listening, so that nothing else can; another's stays what it is."""
    holder = socket.socket()
    with suppress(OSError):
        holder.bind(("0.0.0.0", port))
    return holder


@contextmanager
def open_browser() -> Iterator[Any]:
    """Yield a page of a real Chromium, or None where there is none."""
    executable = find_chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        executable = None
    if executable is None:
        yield None
        return
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=list(SWITCHES))
        page = opened.new_page()
        page.set_default_timeout(1000 * START_SECONDS)
        yield page
        opened.close()


def read_processor_seconds(process: int) -> float:
    """Computing time of all threads of the process so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_peak_memory(process: int) -> int:
    """Return the most memory the process held at once, in bytes; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
