"""The tools for agents, asked by the protocol's reference client over loopback, with the whole page around them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from starlette.middleware import Middleware

import app
import tnet_core as tn
from pages.explore.service import Explorer
from pages.limits import MAX_UPLOAD_BYTES
from pages.mcp_tools import PATH, McpRoute, build_server
from pages.server.middleware import middleware_options
from pages.server.uploads import open_upload_folder
from pages.site import build_site
from tests.support.checkpoints import save_birds_and_pictures
from tests.support.coroutines import run_coroutine
from tests.support.model_caches import build_model_cache
from tests.support.served_page import launched

pytestmark = pytest.mark.slow
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_birds_and_pictures(tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    cache = build_model_cache()
    cache.add(str(place / "birds"), on_notice=lambda _: None)
    explorer = Explorer(cache, local=True)
    options = middleware_options(MAX_UPLOAD_BYTES, Middleware(McpRoute, server=build_server(explorer)))
    with open_upload_folder(3600, 600):
        demo = build_site(explorer).queue(api_open=False)
        with launched(demo, max_file_size=MAX_UPLOAD_BYTES, app_kwargs=options) as where:
            yield where


def ask(address: str, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Return the tools that are published, and the answer to each call."""

    async def talk() -> tuple[list[Any], list[Any]]:
        async with Client(address + PATH) as agent:
            return (await agent.list_tools()).tools, [await agent.call_tool(*call) for call in calls]

    return run_coroutine(talk())


def test_two_tools_are_published_and_their_arguments_are_typed(address: str) -> None:
    tools = {tool.name: tool.input_schema for tool in ask(address)[0]}
    assert set(tools) == {"traverse", "contributions"}
    for schema in tools.values():
        assert schema["required"] == ["image"] and schema["properties"]["image"]["type"] == "string"
        kinds = schema["properties"]["budget"]["anyOf"]
        assert kinds[0] == {"type": "array", "items": {"type": "integer", "minimum": 0}}
        assert schema["properties"]["sampling"]["anyOf"][0]["enum"] == ["official", "native"]


def test_the_answers_are_those_of_the_library(address: str, place: Path) -> None:
    image = str(place / "wren.png")
    looked, shares = ask(
        address,
        ("traverse", {"image": image, "budget": [2]}),
        ("contributions", {"image": image, "budget": [2], "cls": 1, "versus": 0}),
    )[1]
    assert not looked.is_error and not shares.is_error, (looked.content, shares.content)
    trace = tn.traverse(tn.optimised(tn.load(str(place / "birds"))), image, (2,))
    found = looked.structured_content
    assert [look["index"] for look in found["trace"]["locations"]] == [look.index for look in trace.locations]
    assert found["prediction"] == trace.class_name(trace.prediction)
    exact = trace.contributions(1, 0)
    values = [row["share"] for row in shares.structured_content["shares"]]
    assert values == pytest.approx([float(value) for value in exact.values], abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"image": "http://127.0.0.1/bird.jpg"}, "addresses are not opened"),
        ({"image": " file:///etc/hostname"}, "addresses are not opened"),
        ({"image": "data:image/png;base64,AAAA"}, "addresses are not opened"),
        ({"image": "/none/such.png"}, "There is no file '/none/such.png'"),
        ({"image": "WREN", "checkpoint": "../../etc"}, "is not offered here"),
        ({"image": "WREN", "budget": [999]}, "999"),
        ({"image": "WREN", "budget": ["many"]}, "budget"),
        ({"image": "WREN", "sampling": "wild"}, "sampling"),
        ({"image": "NOTE"}, "image"),
        ({}, "image"),
    ],
)
def test_what_is_refused_is_refused_in_words(address: str, place: Path, arguments: dict[str, Any], says: str) -> None:
    names = {"WREN": str(place / "wren.png"), "NOTE": str(place / "note.txt")}
    if "image" in arguments:
        arguments = {**arguments, "image": names.get(arguments["image"], arguments["image"])}
    answer = ask(address, ("traverse", arguments))[1][0]
    assert answer.is_error and says in answer.content[0].text and "Traceback" not in answer.content[0].text


def test_other_hosts_other_sites_and_the_page_s_own_paths_get_nothing(address: str) -> None:
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as http:
        assert http.post(PATH, json=LIST, headers=HEADERS).status_code == 200
        assert http.post(PATH, json=LIST, headers={**HEADERS, "Host": "evil.example"}).status_code == 421
        assert http.post(PATH, json=LIST, headers={**HEADERS, "Origin": "http://evil.example"}).status_code == 403
        assert http.post(PATH, content=b" " * 200_000, headers=HEADERS).status_code == 413
        assert http.post("/gradio_api/mcp/", json=LIST, headers=HEADERS).status_code == 404
        assert http.get("/config").status_code == 200


@pytest.mark.parametrize("words", [("--host", "0.0.0.0"), ("--share",)])
def test_it_is_for_this_machine_alone(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["app.py", "--mcp", *words])
    assert app.main() == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_the_package_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.setattr(sys, "argv", ["app.py", "--mcp"])
    assert app.main() == 2
    assert "pip install 'mcp" in capsys.readouterr().err
