"""Files that a request names: anything on one's own computer, nothing on a public host."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tnet_core as tn
from pages.server.access import NO_FILES, is_local, is_local_request, resolve_local_file


def test_a_file_is_found_by_its_path_as_people_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a picture.tif"
    file.write_bytes(b"x")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for written in (str(file), f"  {file}\n", f'"{file}"', f"'{file}'", "~/a picture.tif", "a picture.tif"):
        assert resolve_local_file(written, local=True) == str(file)


def test_on_a_public_host_no_file_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(b"x")
    for written in (str(file), "/etc/passwd", "", None, str(tmp_path / "none.png")):
        with pytest.raises(tn.TNetError, match="only where the app runs on your own computer") as refused:
            resolve_local_file(written, local=False)
        assert str(refused.value) == NO_FILES  # nothing about what is there


@pytest.mark.parametrize("value", ["", "  ", '""', None, 5, [], {"path": "/etc/passwd"}, True])
def test_what_is_no_path_is_asked_for(value: Any) -> None:
    with pytest.raises(tn.TNetError, match="Name the file of a picture"):
        resolve_local_file(value, local=True)


@pytest.mark.parametrize(
    "value", ["/nowhere/at-all.png", "a\0b.png", "x" * 5000, "~nobody-of-that-name/a.png", "/", "/dev/zero"]
)
def test_what_is_no_file_gets_one_short_sentence(value: str) -> None:
    with pytest.raises(tn.TNetError, match="There is no file") as refused:
        resolve_local_file(value, local=True)
    assert len(str(refused.value)) < 260


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(tn.TNetError, match="There is no file"):
        resolve_local_file(str(tmp_path / "pipe.png"), local=True)


def test_who_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert is_local("127.0.0.1", share=False) and is_local("localhost", share=False)
    assert not is_local("0.0.0.0", share=False) and not is_local("127.0.0.1", share=True)
    monkeypatch.setenv("SPACE_ID", "someone/app")
    assert not is_local("127.0.0.1", share=False)
    for host, here in (("127.0.0.1:7860", True), ("localhost", True), ("[::1]:7860", True), ("evil.example", False)):
        assert is_local_request(SimpleNamespace(headers={"host": host})) is here
    assert not is_local_request(SimpleNamespace(headers={})) and not is_local_request(None)
