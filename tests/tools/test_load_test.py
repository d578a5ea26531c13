"""The load test passes a server that keeps its visitors apart, and fails one that does not."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from PIL import Image

from tools import load_test

pytestmark = pytest.mark.slow

Look = Callable[[str], str]  # a file's name -> the name of the picture that is looked at


def scene(title: str, spec: str, size: tuple[int, int] = (1, 1)) -> str:
    numbers = np.frombuffer(f"{spec:4.4}{title:60.60}".encode(), np.uint8).astype("<f4")
    about = {"title": title, "width": size[0], "height": size[1]}
    return json.dumps({"kind": "scene", **about, "projections": base64.b64encode(numbers.tobytes()).decode()})


def page(look: Look, spoil: Callable[[], None]) -> gr.Blocks:
    """As much of the app's page as the visitors use."""
    listen = {"concurrency_limit": 8, "api_visibility": "private"}
    with gr.Blocks(analytics_enabled=False) as demo:
        spec, shown = gr.State("a"), gr.State()
        chooser = gr.Dropdown(["a", "b"], value="a", elem_id="explore-chooser")
        gallery = gr.HTML('<b data-example="0"></b><b data-example="1"></b>', elem_id="explore-gallery")
        upload = gr.UploadButton(elem_id="explore-upload")
        stage = gr.HTML(elem_id="explore-stage")
        channel = gr.HTML(js_on_load="trigger('steer')", elem_id="channel")

        def on_example(spec: str, event: gr.EventData) -> list[Any]:
            return [event.example, scene(f"example {event.example}", spec)]

        def on_upload(spec: str, file: str) -> list[Any]:
            spoil()
            about = look(Path(file).name), Image.open(file).size
            return [about, scene(about[0], spec, about[1])]

        def on_checkpoint(wanted: str, shown: Any) -> list[Any]:
            title, size = shown if isinstance(shown, tuple) else ("example 0", (1, 1))
            return [wanted, shown, scene(title, wanted, size)]

        def on_steer(event: gr.EventData) -> str:
            return json.dumps({"kind": "steer", "plan": event.plan})

        demo.load(lambda spec: [0, scene("example 0", spec)], spec, [shown, stage], **listen)
        gallery.click(on_example, spec, [shown, stage], **listen)
        upload.upload(on_upload, [spec, upload], [shown, stage], **listen)
        chooser.input(on_checkpoint, [chooser, shown], [spec, shown, stage], **listen)
        channel.steer(on_steer, None, channel, **listen)
    return demo


@contextmanager
def served(look: Look = lambda name: name, spoil: Callable[[], None] = lambda: None) -> Iterator[str]:
    demo = page(look, spoil)
    _, address, _ = demo.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1", ssr_mode=False)
    try:
        yield address.rstrip("/")
    finally:
        demo.close()


def tried(address: str, capsys: pytest.CaptureFixture[str], clients: int = 4) -> tuple[int, str]:
    code = load_test.main([address, "--clients", str(clients), "--seconds", "3"])
    return code, capsys.readouterr().out


def test_a_server_that_keeps_sessions_apart_passes(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as address:
        code, said = tried(address, capsys)
    assert code == 0, said
    assert "No error, no answer of another session, memory stable." in said
    for action in ("open the page", "choose an example", "upload a picture", "choose looks by hand"):
        assert re.search(rf"\| {action} \| \d+ \| [\d.]+ s \| [\d.]+ s \| [\d.]+ s \|", said), said


def test_a_server_that_mixes_up_visitors_fails(capsys: pytest.CaptureFixture[str]) -> None:
    latest = ""

    def careless(name: str) -> str:
        nonlocal latest
        latest = name
        time.sleep(0.05)  # another visitor comes in between
        return latest

    with served(careless) as address:
        code, said = tried(address, capsys)
    assert code == 1 and "mixed up:" in said


def test_a_server_that_fails_now_and_then_fails(capsys: pytest.CaptureFixture[str]) -> None:
    lock, count, learning = threading.Lock(), 0, 4 * load_test.PICTURES * load_test.CHECKPOINTS

    def sometimes() -> None:
        nonlocal count
        with lock:
            count += 1
            if count > learning:
                raise gr.Error("Out of order.", print_exception=False)

    with served(spoil=sometimes) as address:
        code, said = tried(address, capsys)
    assert code == 1 and "error: QueueError: Out of order." in said


def test_an_address_where_nothing_is_gets_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert load_test.main(["http://127.0.0.1:9", "--seconds", "1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("http://127.0.0.1:9 cannot be tested: ") and len(said.splitlines()) == 1
