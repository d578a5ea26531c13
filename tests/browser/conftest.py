"""The real app in a subprocess, and a real Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect, sync_playwright

import tnet_core as tn
from pages.explore.service import Explorer
from pages.server.model_cache import ModelCache
from pages.site import build_head, build_site, build_theme
from tests.support.processes import PythonProcess
from tests.support.served_page import launched
from tools.local_server import FINISHED, SWITCHES, find_chromium, find_free_port, is_answering
from viz.examples import draw_picture

ROOT = Path(__file__).parents[2]
START_SECONDS = 90
CAMERA = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")  # shows a test picture, allowed
Arrive = Callable[[Page], object]
expect.set_options(timeout=30_000)  # a busy machine opens a checkpoint in seconds, not at once


def copy_of_the_project(folder: Path, registry: str = "schema: 1\ncheckpoints: []\n") -> Path:
    """The app in a folder of its own, with this registry."""
    for name in ("pages", "viz", "tnet_core", "training", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("app.py", "startup.py"):
        shutil.copy(ROOT / name, folder)
    (folder / "checkpoints.yaml").write_text(registry, encoding="utf-8")
    return folder


@contextmanager
def running(folder: Path, log: Path, **environment: str) -> Iterator[str]:
    """Address of the app of a folder, which cannot reach the network: all its proxies lead nowhere."""
    port = find_free_port()
    nowhere = "http://127.0.0.1:9"
    sealed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere)
    sealed |= {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "TNET_REGISTRY": ""}
    arguments = ("app.py", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu")
    app = PythonProcess(*arguments, cwd=folder, env=os.environ | sealed | environment, output=log, errors=log)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + START_SECONDS
        while not is_answering(address):
            if app.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"The app did not start:\n{log.read_text()}")
            time.sleep(0.2)
        yield address
        errors = log.read_text()
        assert "Traceback" not in errors, errors
    finally:
        app.terminate()
        app.wait(20)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app without any checkpoint."""
    folder = tmp_path_factory.mktemp("bare")
    with running(copy_of_the_project(folder), folder / "log.txt") as address:
        yield address


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app as it is shipped."""
    with running(ROOT, tmp_path_factory.mktemp("shipped") / "log.txt") as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[BrowserContext]:
    executable = find_chromium()
    if executable is None:
        pytest.fail("The browser tests need Chromium: `apt-get install chromium`, or set CHROMIUM to its path.")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=[*SWITCHES, *CAMERA])
        # One for all pages: they share the cache of scripts. Nothing plays by itself; landing/ looks at that.
        context = opened.new_context(reduced_motion="reduce")
        context.set_default_timeout(30_000)
        yield context
        opened.close()


@pytest.fixture
def requests() -> list[Request]:
    """Everything the pages of one test asked for."""
    return []


@pytest.fixture
def arrive() -> Arrive:
    """What a visitor of the landing page waits for; tests of a tab say how to get there."""
    return lambda page: page.wait_for_selector(FINISHED)


@pytest.fixture
def visit(
    server: str, browser: BrowserContext, requests: list[Request], arrive: Arrive
) -> Iterator[Callable[..., Page]]:
    """Opens a page of `server`, which a test may put in the place of the app, and arrives there."""
    with visitor(server, browser, requests, arrive) as open_page:
        yield open_page


@contextmanager
def visitor(
    server: str,
    browser: BrowserContext,
    requests: list[Request],
    arrive: Arrive = lambda page: page.wait_for_selector(FINISHED),
) -> Iterator[Callable[..., Page]]:
    """Opens pages, by default the landing one with its finished traversal. No request may leave this machine."""
    opened: list[Page] = []

    def open_page(width: int = 1440, height: int = 900, theme: str = "light", arrive: Arrive = arrive) -> Page:
        page = browser.new_page()
        opened.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.on("request", lambda request: requests.append(request))
        page.goto(f"{server}/?__theme={theme}")
        arrive(page)
        return page

    yield open_page
    for page in opened:
        page.close()
    assert not {request.url for request in requests if leaves(request.url)}


def leaves(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1"


@pytest.fixture(scope="session")
def model() -> tn.TNet:
    return tn.build(tn.preset("lite0-cub"), seed=0, device="cpu")


@pytest.fixture(scope="session")
def reference(model: tn.TNet) -> tn.Trace:
    """What the landing page must show."""
    return tn.traverse(model, draw_picture(0), budget=(25,))


@pytest.fixture(scope="session")
def birds_first() -> Iterator[str]:
    """The whole page with the bundled checkpoints, birds first, in this process."""
    cache = ModelCache(tn.checkpoints.Registry.load(), fallback="lite0-cub", device="cpu")
    cache.add("tnet-lite0-cub", on_notice=lambda _: None)
    with launched(build_site(Explorer(cache)).queue(), theme=build_theme(), head=build_head()) as address:
        yield address
