"""`load`: what a text means, and that bundled files are checked."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import tnet_core as tn
from tests.support.checkpoints import NAMES, entry_fields, write_registry
from tests.support.models import TINY, tiny
from tnet_core.checkpoints import Registry, card_of, load, save

pytest_plugins = ["tests.support.checkpoint_fixtures"]


@pytest.fixture
def registry(checkpoint: Path) -> Path:
    return write_registry(checkpoint.parent / "mine.yaml", entry_fields(checkpoint))


def test_a_registry_id_is_loaded_and_verified(registry: Path) -> None:
    for given in (registry, str(registry), Registry.load(registry)):
        model = load("birds", registry=given)
        assert model.source == "birds"
        card = card_of(model)
        assert card.verified
        assert card.title == "Birds of the garden"
        assert card.licence_weights == "Apache-2.0"


def test_the_environment_registry_is_used(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TNET_REGISTRY", str(registry))
    assert load("birds").class_names == NAMES


def test_paths_are_folders(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkpoint.parent)
    for spec in (checkpoint, str(checkpoint), "garden-birds", "./garden-birds", Path("garden-birds")):
        assert load(spec).source == "garden-birds"


def test_an_id_wins_over_a_folder_of_that_name(registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tiny(TINY), tmp_path / "birds")
    monkeypatch.chdir(tmp_path)
    assert load("birds", registry=registry).class_names == NAMES
    assert load("./birds", registry=registry).config.num_classes == 7
    assert load(Path("birds"), registry=registry).config.num_classes == 7


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "evaluation.json"])
def test_a_tampered_bundled_file_is_refused(registry: Path, checkpoint: Path, name: str) -> None:
    load("birds", registry=registry)
    time.sleep(0.12)
    load("birds", registry=registry)  # remembered by now
    data = bytearray((checkpoint / name).read_bytes())
    data[-2] ^= 1
    (checkpoint / name).write_bytes(data)
    with pytest.raises(tn.TNetError, match=f"'birds' is not what the registry promises: '{name}' has sha256"):
        load("birds", registry=registry)


def test_a_bundled_file_of_another_size_is_refused(registry: Path, checkpoint: Path) -> None:
    with (checkpoint / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    repair = r"bytes instead of .*git checkout -- [\w-]+/model.safetensors.*tnet_core.checkpoints add"
    with pytest.raises(tn.TNetError, match=repair):
        load("birds", registry=registry)


def test_in_an_installed_package_the_repair_is_to_reinstall_it(
    registry: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tnet_core.checkpoints.registry._INSTALLED", registry)
    with (checkpoint / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(tn.TNetError, match=r"Reinstall the package.*pip install --force-reinstall") as refused:
        load("birds", registry=registry)
    assert "git" not in str(refused.value) and "\n" not in str(refused.value)


def test_a_missing_bundled_folder_is_one_sentence(registry: Path, checkpoint: Path) -> None:
    checkpoint.rename(checkpoint.with_name("gone"))
    with pytest.raises(tn.TNetError, match="cannot be read"):
        load("birds", registry=registry)


def test_an_unknown_text_says_what_is_known(registry: Path) -> None:
    with pytest.raises(tn.TNetError, match=r"'brids' is neither a registry id nor a folder; known are: birds"):
        load("brids", registry=registry)
    with pytest.raises(tn.TNetError, match=r"for a Hub repository write hf:someone/birds"):
        load("someone/birds", registry=registry)


@pytest.mark.parametrize("spec", ["", "  ", "a\0b", "a\nb", "x" * 5000, 5, None, b"birds"])
def test_nonsense_is_one_sentence(own_caches: None, spec: object) -> None:
    with pytest.raises(tn.TNetError, match="A checkpoint is named by"):
        load(spec)  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", ["x" * 300, "~nobody-of-that-name/birds"])
def test_names_that_no_file_can_have_are_one_sentence(own_caches: None, spec: str) -> None:
    with pytest.raises(tn.TNetError, match="is neither a registry id nor a folder"):
        load(spec)


def test_a_model_that_was_never_saved_has_a_card_too() -> None:
    assert card_of(tiny(TINY)).origin == "Not loaded from a checkpoint."
