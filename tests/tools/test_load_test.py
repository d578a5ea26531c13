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
Attend = Callable[[str], str]  # the title of a picture, to which a look is added -> that whose look is sent
LOOKS = [{"parent": None, "index": index} for index in range(4)]
FREE = {"a": (), "b": (0, 2)}  # looks that the checkpoint can look into, where nobody looked yet


def encode(*words: str) -> str:
    numbers = np.frombuffer("".join(f"{word:60.60}" for word in words).encode(), np.uint8).astype("<f4")
    return base64.b64encode(numbers.tobytes()).decode()


def scene(title: str, spec: str, size: tuple[int, int] = (1, 1)) -> str:
    about = {"title": title, "width": size[0], "height": size[1], "grid": 2, "looks": LOOKS, "scene": 7}
    grids = [{"parent": parent} for parent in (None, *FREE[spec])]
    return json.dumps({"kind": "scene", **about, "grids": grids, "projections": encode(spec, title)})


def page(look: Look, attend: Attend, spoil: Callable[[], None]) -> gr.Blocks:
    """As much of the app's page as the visitors use."""
    listen = {"concurrency_limit": 8, "api_visibility": "private"}
    with gr.Blocks(analytics_enabled=False) as demo:
        spec, shown, added = gr.State("a"), gr.State(), gr.State(0)
        chooser = gr.Dropdown(["a", "b"], value="a", elem_id="explore-chooser")
        examples = "".join(f'<b data-example="{name}"></b>' for name in (0, 1, "dive"))
        gallery = gr.HTML(examples, elem_id="explore-gallery")
        upload = gr.UploadButton(elem_id="explore-upload")
        stage = gr.HTML(elem_id="explore-stage")
        channel = gr.HTML(js_on_load="trigger('steer')", elem_id="channel")

        def on_example(spec: str, event: gr.EventData) -> list[Any]:
            title = f"example {event.example}"
            return [(title, (1, 1)), 0, scene(title, spec)]

        def on_upload(spec: str, file: str) -> list[Any]:
            spoil()
            about = look(Path(file).name), Image.open(file).size
            return [about, 0, scene(about[0], spec, about[1])]

        def on_checkpoint(wanted: str, shown: Any) -> list[Any]:
            title, size = shown if not shown[0].startswith("example") else ("example 0", (1, 1))
            return [wanted, (title, size), 0, scene(title, wanted, size)]

        def on_steer(spec: str, shown: Any, added: int, event: gr.EventData) -> list[Any]:
            answer: dict[str, Any] = {"kind": "steer", "plan": event.plan}
            if (add := event._data.get("add")) is not None:
                assert add["parent"] in FREE[spec] and event.scene == 7
                about = attend(shown[0])
                answer |= {"plan": [*event.plan, len(LOOKS) + added], "first": len(LOOKS) + added, "looks": [add]}
                answer |= {
                    "projections": encode(spec, about, str(add["parent"])),
                    "weights": {"values": "", "without": ""},
                }
                added += 1
            return [added, json.dumps(answer)]

        def on_load(spec: str) -> list[Any]:
            return [("example 0", (1, 1)), 0, scene("example 0", spec)]

        current = [shown, added, stage]
        demo.load(on_load, spec, current, **listen)
        gallery.click(on_example, spec, current, **listen)
        upload.upload(on_upload, [spec, upload], current, **listen)
        chooser.input(on_checkpoint, [chooser, shown], [spec, *current], **listen)
        channel.steer(on_steer, [spec, shown, added], [added, channel], **listen)
    return demo


@contextmanager
def served(
    look: Look = lambda name: name, attend: Attend = lambda title: title, spoil: Callable[[], None] = lambda: None
) -> Iterator[str]:
    demo = page(look, attend, spoil)
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
    for action in ("open the page", "choose an example", "upload a picture", "choose looks by hand", "add a look"):
        assert re.search(rf"\| {action} \| \d+ \| [\d.]+ s \| [\d.]+ s \| [\d.]+ s \|", said), said


def forget_whose() -> Callable[[str], str]:
    """Return a function that answers with what the latest visitor asked for."""
    latest = ""

    def answer(name: str) -> str:
        nonlocal latest
        latest = name
        time.sleep(0.05)  # another visitor comes in between
        return latest

    return answer


def test_a_server_that_mixes_up_visitors_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with served(forget_whose()) as address:
        code, said = tried(address, capsys)
    assert code == 1 and "mixed up:" in said


def test_a_server_that_adds_another_visitors_look_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with served(attend=forget_whose()) as address:
        code, said = tried(address, capsys)
    assert code == 1 and "the look that was added is that of another picture" in said


def test_a_server_that_fails_now_and_then_fails(capsys: pytest.CaptureFixture[str]) -> None:
    lock, count, learning = threading.Lock(), 0, 4 * load_test.PICTURES * len(FREE)

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
