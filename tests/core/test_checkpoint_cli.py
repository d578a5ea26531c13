"""`python -m tnet_core.checkpoints`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkpoints import NAMES, contents, entry_fields, write_registry
from tests.support.hub import LocalHub
from tests.support.processes import run_python
from tnet_core.checkpoints import Registry, load
from tnet_core.checkpoints.__main__ import main

pytest_plugins = ["tests.support.checkpoint_fixtures"]
Output = pytest.CaptureFixture[str]

REPO = "someone/birds"


@pytest.fixture
def registry(checkpoint: Path) -> str:
    return str(write_registry(checkpoint.parent / "mine.yaml", entry_fields(checkpoint)))


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)


def test_list_is_a_table(registry: str, capsys: Output) -> None:
    assert main(["list", "--registry", registry]) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["ID", "SIZE", "SOURCE", "TITLE"]
    row = next(row for row in rows if row.startswith("birds "))
    assert "folder garden-birds" in row
    assert row.endswith("Birds of the garden")


def test_an_empty_registry_says_so(own_caches: None, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tnet_core.checkpoints.registry.Registry.load", lambda *_: Registry())
    assert main(["list"]) == 0
    assert "lists no checkpoints" in capsys.readouterr().out
    assert main(["verify"]) == 0


def test_show_prints_the_card(registry: str, capsys: Output) -> None:
    assert main(["show", "birds", "--registry", registry]) == 0
    text = capsys.readouterr().out
    for expected in ("Birds of the garden", "wren, robin, great tit (3)", "CC-BY-4.0", "top-1 61.00 %", "sha256"):
        assert expected in text


def test_show_of_something_unknown_fails_with_a_sentence(registry: str, capsys: Output) -> None:
    assert main(["show", "brids", "--registry", registry]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no checkpoint 'brids'; known are: birds" in captured.err


def test_verify_passes_on_good_files(registry: str, capsys: Output) -> None:
    assert main(["verify", "--registry", registry]) == 0
    assert capsys.readouterr().out.count("ok     birds: ") == 3
    assert main(["verify", "birds", "--registry", registry]) == 0


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "evaluation.json"])
def test_verify_fails_on_any_mismatch(registry: str, checkpoint: Path, name: str, capsys: Output) -> None:
    _damage(checkpoint / name)
    assert main(["verify", "--registry", registry]) == 1
    text = capsys.readouterr().out
    assert f"WRONG  birds: '{name}' has sha256" in text
    assert text.count("ok     birds: ") == 2


def test_verify_fails_on_a_missing_file(registry: str, checkpoint: Path, capsys: Output) -> None:
    (checkpoint / "model.safetensors").unlink()
    assert main(["verify", "birds", "--registry", registry]) == 1
    assert "cannot be read" in capsys.readouterr().out


def test_add_prints_an_entry_that_a_registry_accepts(
    checkpoint: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkpoint.parent)
    assert main(["add", "garden-birds"]) == 0
    path = checkpoint.parent / "new.yaml"
    path.write_text(capsys.readouterr().out)
    entry = Registry.load(path).get("garden-birds")
    assert entry.licence.weights == "Apache-2.0"  # from the provenance
    assert entry.licence.data == "not stated"
    assert entry.numbers == "evaluation.json, measured on Garden birds test, 120 images"
    assert load("garden-birds", registry=path).class_names == NAMES
    assert main(["verify", "garden-birds", "--registry", str(path)]) == 0


def test_add_takes_the_fields_that_are_given(checkpoint: Path, capsys: Output) -> None:
    target = checkpoint.parent / "mine.yaml"
    options = ["--id", "b", "--title", "T: 1", "--description", "'quoted'", "--licence", "MIT", "--citation", "# me"]
    options += ["--data-licence", "CC0-1.0", "--numbers", "2024-01-01"]
    assert main(["add", str(checkpoint), "--registry", str(target), *options]) == 0
    target.write_text(capsys.readouterr().out)
    entry = Registry.load(target).get("b")
    assert (entry.title, entry.description, entry.citation) == ("T: 1", "'quoted'", "# me")
    assert (entry.licence.weights, entry.licence.data, entry.numbers) == ("MIT", "CC0-1.0", "2024-01-01")


def test_add_names_a_field_that_is_not_acceptable(checkpoint: Path, capsys: Output) -> None:
    assert main(["add", str(checkpoint), "--id", "not an id"]) == 2
    assert "field 'id'" in capsys.readouterr().err


def test_add_says_where_the_registry_has_to_be(
    checkpoint: Path, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["add", str(checkpoint)]) == 0
    captured = capsys.readouterr()
    assert f"in a registry file in '{checkpoint.parent}'" in captured.err
    (checkpoint.parent / "r.yaml").write_text(captured.out)
    assert load("garden-birds", registry=checkpoint.parent / "r.yaml").class_names == NAMES


def test_add_refuses_what_does_not_load(checkpoint: Path, capsys: Output) -> None:
    (checkpoint / "model.safetensors").write_bytes(b"junk")
    assert main(["add", str(checkpoint)]) == 2
    assert "not a valid safetensors file" in capsys.readouterr().err


def test_add_pins_a_repository(hub: LocalHub, checkpoint: Path, capsys: Output, tmp_path: Path) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    assert main(["add", f"hf:{REPO}"]) == 0
    captured = capsys.readouterr()
    assert f"is now commit {commit}" in captured.err
    path = tmp_path / "r.yaml"
    path.write_text(captured.out)
    entry = Registry.load(path).get("birds")
    assert entry.where == f"hf:{REPO}@{commit}"
    assert load("birds", registry=path).class_names == NAMES


def test_a_hub_entry_is_listed_shown_and_verified(hub: LocalHub, checkpoint: Path, capsys: Output) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    fields = entry_fields(checkpoint, source={"repo": REPO, "commit": commit})
    registry = ["--registry", str(write_registry(checkpoint.parent / "mine.yaml", fields))]
    assert main(["list", *registry]) == 0
    assert f"hf:{REPO}@{commit}" in capsys.readouterr().out
    assert main(["show", "birds", *registry]) == 0
    assert "not downloaded yet" in capsys.readouterr().out
    assert main(["verify", *registry]) == 0
    assert "not downloaded" in capsys.readouterr().out
    assert hub.requests == []
    assert main(["verify", "birds", *registry]) == 0
    assert capsys.readouterr().out.count("ok     birds: ") == 3
    assert main(["show", "birds", *registry]) == 0
    assert "top-1" in capsys.readouterr().out


@pytest.mark.parametrize("command", [[], ["list"], ["show"], ["verify"], ["add"]])
def test_every_command_has_help(command: list[str], capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert "usage: python -m tnet_core.checkpoints" in capsys.readouterr().out


@pytest.mark.slow
def test_the_module_runs_as_a_program(checkpoint: Path, tmp_path: Path) -> None:
    command = ("-m", "tnet_core.checkpoints", "show", "nothing")
    done = run_python(*command, cwd=ROOT, env=os.environ, folder=tmp_path, timeout=60)
    assert done.returncode == 2
    assert "The registry has no checkpoint 'nothing'" in done.stderr
    assert "Traceback" not in done.stderr


ROOT = Path(__file__).parents[2]
LISTING = """
import sys, types
face = types.ModuleType("tnet_core")  # the package's face brings everything; only what listing itself needs counts here
face.__path__ = ["tnet_core"]
sys.modules["tnet_core"] = face
from tnet_core.checkpoints.__main__ import main
code = main(["list"]) or main(["verify"])
print([name for name in ("torch", "timm", "cv2", "huggingface_hub") if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.slow
def test_listing_and_verifying_bundled_checkpoints_need_no_pytorch() -> None:
    done = subprocess.run([sys.executable, "-c", LISTING], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert "tnet-lite0-cub" in done.stdout and done.stderr.strip().splitlines()[-1] == "[]"
