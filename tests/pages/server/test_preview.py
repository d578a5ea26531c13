"""Link previews: the tags of the page, and the picture they name."""

from __future__ import annotations

import io
import re

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pages.server.preview import IMAGE_ROUTE, LinkPreview

PAGE = """<html><head><meta charset="utf-8" /><meta property="og:title" content="Gradio" />
<meta
  property="og:image" content="x" /><meta name="twitter:title" content="Gradio" /><title>T</title></head>
<body><meta property="og:title" content="kept"></body></html>"""


@pytest.fixture
def client() -> TestClient:
    routes = [
        Route("/", lambda _: HTMLResponse(PAGE)),
        Route("/other", lambda _: HTMLResponse(PAGE)),
        Route("/text", lambda _: PlainTextResponse("<head>")),
    ]
    return TestClient(LinkPreview(Starlette(routes=routes)), base_url="http://testserver")


def test_the_page_has_one_tag_of_each_kind_with_the_address_of_the_visitor(client: TestClient) -> None:
    answer = client.get("/", headers={"host": "a-b.hf.space", "x-forwarded-proto": "https"})
    head, _, body = answer.text.partition("</head>")
    tags = dict(re.findall(r'<meta property="(og:[^"]+)" content="([^"]*)">', head))
    assert len(re.findall("og:title", head)) == 1 and "Gradio" not in head
    assert tags["og:url"] == "https://a-b.hf.space/"
    assert tags["og:image"] == "https://a-b.hf.space/web/preview.jpg"
    assert 'content="kept"' in body and '<meta charset="utf-8" />' in head and "<title>T</title>" in head
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_other_answers_stay_as_they_are_and_a_strange_host_is_not_repeated(client: TestClient) -> None:
    assert client.get("/other").text == PAGE
    assert client.get("/text").text == "<head>"
    assert '"><script>' not in client.get("/", headers={"x-forwarded-host": 'x"><script>'}).text


def test_the_picture_is_a_card(client: TestClient) -> None:
    answer = client.get(IMAGE_ROUTE)
    assert answer.headers["content-type"] == "image/jpeg" and len(answer.content) < 300_000
    assert Image.open(io.BytesIO(answer.content)).size == (1200, 630)
    assert client.head(IMAGE_ROUTE).content == b""
