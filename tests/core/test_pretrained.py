"""The Hub's way: `from_pretrained`, `push_to_hub`, and `torch.hub` for a clone."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
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
    return tn.TNet.from_pretrained(*arguments, **options)  # type: ignore[arg-type]


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
    model.push_to_hub(REPO)
    hub.commit(REPO, {**hub.repositories[REPO].commits[hub.repositories[REPO].head], "README.md": b"my own words"})
    address = model.push_to_hub(REPO, commit_message="again")
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
        tn.load(checkpoint).push_to_hub(REPO)
    assert hub.repositories == {}


def test_torch_hub_finds_the_models_of_a_clone(checkpoint: Path) -> None:
    model = torch.hub.load(str(ROOT), "tnet", str(checkpoint), source="local", device="cpu")
    assert_same_weights(model, tn.load(checkpoint))


def list_signatures(path: Path) -> dict[str, list[str]]:
    """Return the arguments, their defaults and the result of each public function, a method's own object left out."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            given = node.args
            named = [ast.unparse(each) for each in (*given.args, *given.kwonlyargs)]
            ends = [ast.unparse(end) for end in (*given.defaults, *given.kw_defaults, node.returns) if end is not None]
            found[node.name] = [*(each for each in named if each not in ("self", "model: TNet")), *ends]
    return found


def test_methods_that_are_attached_are_declared_as_they_are() -> None:
    core = ROOT / "tnet_core"
    declared, written = (
        list_signatures(path) for path in (core / "modeling" / "attached.py", core / "checkpoints" / "pretrained.py")
    )
    assert declared.keys() == {"from_pretrained", "save_pretrained", "push_to_hub"}
    assert declared == {name: written[name] for name in declared}
    assert all(callable(getattr(tn.TNet, name)) for name in declared)


@pytest.mark.long
def test_type_checkers_see_the_methods(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""import tnet_core as tn
model: tn.TNet = tn.TNet.from_pretrained("owner/name", revision="main")
address: str = tn.load("folder").push_to_hub("owner/name", private=True)
model.save_pretrained("folder").is_dir()
model.push_to_hub(7)
""")
    check = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), str(program)]
    said = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, timeout=600).stdout
    assert "Found 1 error" in said and 'program.py:5: error: Argument 1 to "push_to_hub"' in said, said
