"""States of a run survive whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import training.engine.run_folder as run_state
from tnet_core.errors import TNetError
from training.engine.run_folder import (
    RunState,
    collect_optimiser_tensors,
    list_states,
    load_state,
    restore_optimiser,
    save_state,
)
from training.recipes.reading import read_recipe


def state(step: int) -> RunState:
    return RunState(step, {"model.weight": torch.full((2, 3), float(step))}, {"origin": "here"})


def test_a_state_reads_back_and_replaces_the_older_one(tmp_path: Path) -> None:
    save_state(tmp_path, state(5))
    save_state(tmp_path, state(12))
    assert [path.name for path in list_states(tmp_path)] == ["state-000000012"]
    read = load_state(tmp_path)
    assert read is not None
    assert read.step == 12
    assert read.numbers["origin"] == "here"
    assert torch.equal(read.tensors["model.weight"], torch.full((2, 3), 12.0))


@pytest.mark.slow
def test_a_recipe_is_written_in_any_locale(tmp_path: Path) -> None:
    code = """import sys
from pathlib import Path
from training.engine.run_folder import write_recipe
from training.recipes.recipe import Recipe
write_recipe(Path(sys.argv[1]), Recipe(name="tiny", about="V\\u00f6gel \\u2026"))"""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, **ascii_only}, check=True, timeout=120
    )  # fmt: skip
    assert read_recipe(tmp_path / "recipe.yaml").about == "Vögel …"


def test_there_is_nothing_to_continue_in_an_empty_folder(tmp_path: Path) -> None:
    assert load_state(tmp_path) is None
    assert load_state(tmp_path / "missing") is None


def test_the_same_step_can_be_saved_again(tmp_path: Path) -> None:
    save_state(tmp_path, state(5))
    save_state(tmp_path, state(5))
    assert len(list_states(tmp_path)) == 1


def test_a_full_disk_is_one_sentence_and_the_old_state_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_state(tmp_path, state(5))

    def full(tensors: dict[str, torch.Tensor], path: Path) -> None:
        path.write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_state, "save_file", full)
    with pytest.raises(TNetError, match="No space left on device"):
        save_state(tmp_path, state(6))
    assert [path.name for path in tmp_path.iterdir()] == ["state-000000005"]


def test_what_a_kill_left_behind_is_ignored(tmp_path: Path) -> None:
    save_state(tmp_path, state(5))
    broken = tmp_path / ".state-4242.tmp"
    broken.mkdir()
    (broken / "tensors.safetensors").write_bytes(b"cut")
    read = load_state(tmp_path)
    assert read is not None
    assert read.step == 5


def test_a_damaged_state_is_named(tmp_path: Path) -> None:
    folder = save_state(tmp_path, state(5))
    (folder / "tensors.safetensors").write_bytes(b"not tensors")
    with pytest.raises(TNetError, match="state-000000005"):
        load_state(tmp_path)


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.Adam])
def test_an_optimiser_continues_as_if_it_had_never_stopped(kind: type[torch.optim.Optimizer]) -> None:
    torch.manual_seed(0)
    gradients = torch.randn(6, 4)

    def fresh() -> tuple[torch.nn.Parameter, torch.optim.Optimizer]:
        parameter = torch.nn.Parameter(torch.ones(4))
        return parameter, kind([{"params": [parameter]}], lr=0.1)

    def steps(parameter: torch.nn.Parameter, optimiser: torch.optim.Optimizer, rows: torch.Tensor) -> None:
        for row in rows:
            parameter.grad = row.clone()
            optimiser.step()

    through, optimiser = fresh()
    steps(through, optimiser, gradients)
    first, optimiser = fresh()
    steps(first, optimiser, gradients[:3])
    second, continued = fresh()
    with torch.no_grad():
        second.copy_(first)
    restore_optimiser(continued, collect_optimiser_tensors(optimiser))
    steps(second, continued, gradients[3:])
    assert torch.equal(second, through)
