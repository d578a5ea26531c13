"""The entry point: its command line, and the page as a module's attribute."""

from __future__ import annotations

import socket
import sys
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

import app
import tnet_core as tn
from pages.limits import MAX_SESSIONS


@pytest.mark.slow
def test_a_hosted_space_can_import_the_page() -> None:
    assert isinstance(app.demo, gr.Blocks)
    assert app.demo is app.demo
    assert app.demo.analytics_enabled is False
    with pytest.raises(AttributeError):
        app.nothing_of_this_name  # noqa: B018


def given(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["app.py", *words])


def test_the_command_line_has_defaults_that_a_host_can_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIO_SERVER_NAME", raising=False)
    monkeypatch.delenv("GRADIO_SERVER_PORT", raising=False)
    given(monkeypatch)
    assert (app.parse_arguments().host, app.parse_arguments().port, app.parse_arguments().share) == (
        "127.0.0.1",
        7860,
        False,
    )
    monkeypatch.setenv("GRADIO_SERVER_NAME", "0.0.0.0")
    monkeypatch.setenv("GRADIO_SERVER_PORT", "7000")
    assert (app.parse_arguments().host, app.parse_arguments().port) == ("0.0.0.0", 7000)
    given(monkeypatch, "--host", "127.0.0.1", "--port", "7001", "--share", "--device", "cpu")
    options = app.parse_arguments()
    assert (options.host, options.port, options.share, options.device) == ("127.0.0.1", 7001, True, "cpu")


def test_help_names_every_option(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given(monkeypatch, "--help")
    with pytest.raises(SystemExit) as ended:
        app.parse_arguments()
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("--host", "--port", "--share", "--device", "--checkpoint", "--registry"))


@pytest.mark.parametrize(("words", "expected"), [((), "float32"), (("--precision", "bfloat16"), "bfloat16")])
def test_the_precision_reaches_the_models(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: str
) -> None:
    given(monkeypatch, "--device", "cpu", *words)
    asked: list[object] = []

    def refuse(*_: object, **options: object) -> None:
        asked.append(options["precision"])
        raise tn.TNetError("That is enough.")

    monkeypatch.setattr(app, "ModelCache", refuse)
    assert app.main() == 2 and asked == [expected]


@pytest.mark.parametrize("words", [("--port", "70000"), ("--port", "x"), ("--device", "tpu")])
def test_impossible_options_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    given(monkeypatch, *words)
    with pytest.raises(SystemExit) as ended:
        app.parse_arguments()
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_asking_for_a_missing_gpu_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    given(monkeypatch, "--device", "cuda")
    with pytest.raises(SystemExit) as ended:
        app.parse_arguments()
    assert ended.value.code == 2
    assert "no CUDA device" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--checkpoint", "no-such-thing"), "'no-such-thing' is neither a registry id nor a folder"),
        (("--registry", "no-such-file.yaml"), "There is no file 'no-such-file.yaml'."),
    ],
)
def test_a_checkpoint_or_registry_that_is_not_there_ends_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    given(monkeypatch, *words, "--device", "cpu")
    assert app.main() == 2
    written = capsys.readouterr().err
    assert sentence in written
    assert written.count("\n") == 1


@pytest.mark.slow
def test_a_taken_port_ends_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        given(monkeypatch, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu")
        assert app.main() == 2
    assert capsys.readouterr().err == f"Port {port} of 127.0.0.1 cannot be used; choose another with --port.\n"


def test_a_server_remembers_a_bounded_number_of_sessions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launches: list[dict[str, Any]] = []

    class Page:
        def queue(self, **_: Any) -> Page:
            return self

        def launch(self, **options: Any) -> None:
            launches.append(options)
            raise OSError  # which ends the command

    given(monkeypatch, "--port", "7001")
    explorer = SimpleNamespace(landing="any", open_picture=lambda *_: None)
    monkeypatch.setattr(app, "Explorer", lambda *_, **__: explorer)
    monkeypatch.setattr(app, "build_site", lambda _: Page())
    assert app.main() == 2 and "7001" in capsys.readouterr().err
    assert [options["state_session_capacity"] for options in launches] == [MAX_SESSIONS]
