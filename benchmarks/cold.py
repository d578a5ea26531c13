"""From `python app.py` to the first traversal that somebody gets."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import httpx
from gradio_client import Client, handle_file  # type: ignore[import-untyped]

from benchmarks.machine import ROOT
from benchmarks.pictures import PHOTOGRAPH
from tnet_core.errors import TNetError
from tools.local_server import find_free_port

CHECKPOINT = "tnet-lite0-pets"  # the one that opens with the page
_PATIENCE = 180.0  # seconds


def cold_start(rounds: int) -> dict[str, Any]:
    """Measure medians over pairs of starts.

    The first of a pair has to convert its model, the second finds it kept. Files are in the system's cache after the
    first.
    """
    pairs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="tnet-cold-") as cache:
            pairs.append((_start(cache), _start(cache)))
    first, second = (
        [statistics.median(found) for found in zip(*starts, strict=True)] for starts in zip(*pairs, strict=True)
    )
    return {
        "starts": rounds,
        "first_page_seconds": first[0],
        "first_traversal_seconds": first[1],
        "page_seconds": second[0],
        "traversal_seconds": second[1],
    }


def _start(cache: str) -> tuple[float, float]:
    """Return the seconds until the page is served, and until the checkpoint that opens with it took its first looks.

    Programs that name no checkpoint mean another one, which would be converted after it.
    """
    port = find_free_port()
    began = time.perf_counter()
    app = subprocess.Popen(
        [sys.executable, "app.py", "--port", str(port)],
        cwd=ROOT, env={**os.environ, "TNET_CACHE": cache}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}/"
        while not _answers(address):
            if app.poll() is not None or time.perf_counter() - began > _PATIENCE:
                raise TNetError("The app did not start.")
            time.sleep(0.05)
        served = time.perf_counter() - began
        client = Client(address, verbose=False)
        client.predict(handle_file(str(PHOTOGRAPH)), checkpoint=CHECKPOINT, api_name="/traverse")
        return served, time.perf_counter() - began
    finally:
        app.terminate()
        app.wait(20)


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, timeout=5, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
