"""The route of the page's modules: what it answers, and that nothing else can be read through it."""

from __future__ import annotations

import gzip
from pathlib import Path

import gradio as gr
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from pages.server.middleware import middleware_options
from viz.web.modules import build_address, build_sent_modules, build_version

ENTRY = f"/{build_address('main.js')}"


@pytest.fixture(scope="module")
def client() -> TestClient:
    with gr.Blocks() as demo:
        gr.HTML("")
    return TestClient(gr.routes.App.create_app(demo, app_kwargs=middleware_options(1000)))


def test_a_module_is_served_as_javascript_that_may_be_kept_for_ever(client: TestClient) -> None:
    answer = client.get(ENTRY)
    assert answer.status_code == 200 and answer.text == build_sent_modules()["main.js"]
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"] and answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-encoding"] == "gzip"
    plain = client.get(ENTRY, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.text == answer.text
    assert len(gzip.compress(plain.content)) < len(plain.content) / 2


def test_what_is_known_is_not_sent_again(client: TestClient) -> None:
    known = {"If-None-Match": client.get(ENTRY).headers["etag"]}
    again = client.get(ENTRY, headers=known)
    assert again.status_code == 304 and again.content == b""
    head = client.head(ENTRY)
    assert head.status_code == 200 and head.content == b""


@pytest.mark.parametrize("name", sorted(build_sent_modules()))
def test_every_module_has_an_address(client: TestClient, name: str) -> None:
    assert client.get(f"/{build_address(name)}").text == build_sent_modules()[name]


@pytest.mark.parametrize(
    "path",
    [
        "/web",
        "/web/",
        f"/web/{build_version()}",
        f"/web/{build_version()}/",
        "/web/main.js",
        "/web/000000000000/main.js",
        f"{ENTRY}/",
        f"{ENTRY}%00",
        f"/web/{build_version()}/modules.py",
        f"/web/{build_version()}/../../app.py",
        f"/web/{build_version()}/%2e%2e/%2e%2e/app.py",
        f"/web/{build_version()}/..%2f..%2fapp.py",
        f"/web/{build_version()}/audit/..%5c..%5cmodules.py",
        f"/web/{build_version()}//etc/passwd",
        f"/web/{build_version()}/audit//audit.js",
        f"/web/{build_version()}/{Path(__file__).resolve()}",
        f"/web/{build_version()}/CORE/ENTRY.JS",
    ],
)
def test_nothing_else_can_be_read(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404 and answer.json() == {"detail": "There is nothing here."}


def test_modules_are_only_read(client: TestClient) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, ENTRY).status_code == 404


def test_the_route_works_below_the_address_of_another_app() -> None:
    with gr.Blocks() as demo:
        gr.HTML("")
    outer = gr.mount_gradio_app(FastAPI(), demo, path="/demo", app_kwargs=middleware_options(1000))
    client = TestClient(outer)
    assert client.get("/demo/").status_code == 200
    assert client.get(f"/demo{ENTRY}").text == build_sent_modules()["main.js"]
    assert client.get(ENTRY).status_code == 404
