"""The Hub's way: `from_pretrained`, `push_to_hub`, and `torch.hub` for a clone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

import tnet_core as tn
from tests.support.checkpoints import NAMES, contents
from tests.support.hub import TOKEN, LocalHub

pytest_plugins = ["tests.support.checkpoint_fixtures"]

ROOT = Path(__file__).parents[2]
REPO = "someone/garden-birds"


def from_pretrained(*arguments: object, **options: object) -> tn.TNet:
    loaded: tn.TNet = tn.TNet.from_pretrained(*arguments, **options)  # type: ignore[attr-defined]
    return loaded


def assert_same_weights(a: tn.TNet, b: tn.TNet) -> None:
    first, second = a.state_dict(), b.state_dict()
    assert first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_a_folder_is_loaded_as_by_load(checkpoint: Path) -> None:
    model = from_pretrained(str(checkpoint))
    assert model.class_names == NAMES and not model.training
    assert_same_weights(model, tn.load(checkpoint))
    assert_same_weights(from_pretrained(checkpoint), model)
    with pytest.raises(tn.TNetError, match="is a folder, which has no revision 'main'"):
        from_pretrained(checkpoint, revision="main")


def test_a_repository_is_loaded_at_a_revision(hub: LocalHub, checkpoint: Path) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    hub.commit(REPO, {"README.md": b"weights are gone"})
    model = from_pretrained(REPO, revision=commit)
    assert model.source == f"hf:{REPO}@{commit}"
    assert_same_weights(model, tn.load(checkpoint))


def test_a_pickle_is_no_way_out(hub: LocalHub, checkpoint: Path) -> None:
    files = contents(checkpoint)
    hub.commit(REPO, {"config.json": files["config.json"], "pytorch_model.bin": files["model.safetensors"]})
    with pytest.raises(tn.TNetError, match=r"safetensors"):
        from_pretrained(REPO)
    assert not hub.asked("GET", "pytorch_model.bin")


@pytest.mark.parametrize("name", ["nobody-knows-this", "a/b/c", "../x/y", 7])
def test_what_is_no_checkpoint_is_one_sentence(name: object, own_caches: None) -> None:
    with pytest.raises(tn.TNetError):
        from_pretrained(name)


@pytest.mark.slow
def test_a_pushed_model_comes_back_and_other_files_stay(
    hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    model = tn.load(checkpoint)
    model.push_to_hub(REPO)  # type: ignore[operator]
    hub.commit(REPO, {**hub.repositories[REPO].commits[hub.repositories[REPO].head], "README.md": b"my own words"})
    address = model.push_to_hub(REPO, commit_message="again")  # type: ignore[operator]
    head = hub.repositories[REPO].head
    assert address == f"{hub.endpoint}/{REPO}/commit/{head}"
    files = hub.repositories[REPO].commits[head]
    assert files["README.md"] == b"my own words"
    assert (
        json.loads(files["config.json"])["provenance"] == json.loads(contents(checkpoint)["config.json"])["provenance"]
    )
    assert_same_weights(from_pretrained(REPO, revision=head), model)


def test_without_a_token_nothing_is_pushed(hub: LocalHub, checkpoint: Path) -> None:
    with pytest.raises(tn.TNetError, match="set HF_TOKEN"):
        tn.load(checkpoint).push_to_hub(REPO)  # type: ignore[operator]
    assert hub.repositories == {}


def test_torch_hub_finds_the_models_of_a_clone(checkpoint: Path) -> None:
    model = torch.hub.load(str(ROOT), "tnet", str(checkpoint), source="local", device="cpu")
    assert_same_weights(model, tn.load(checkpoint))
