"""Runs: they learn, stop, refuse and keep what was good."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tnet_core as tn
from tests.support.training import CLASSES, Colours, metrics, recipe_values
from tnet_core.errors import TNetError
from training.data.sample import ImageDataset
from training.engine import Engine, train
from training.recipe import (
    AugmentSection,
    DataSection,
    FreezeSection,
    LossSection,
    ModelSection,
    OptimSection,
    PolicySection,
    Recipe,
)
from training.run_state import load_state, states

# No random crops: a few steps must be enough.
STILL = AugmentSection(min_area=1.0, aspect=(1.0, 1.0), interpolation="bilinear", flip=False)


def recipe(**changes: object) -> Recipe:
    given: dict[str, object] = {
        "name": "tiny", "epochs": 1, "batch_size": 14, "validate_every": 0,
        "model": ModelSection(config=recipe_values()["model"]["config"]),
        "data": DataSection(workers=0), "augment": STILL, "optim": OptimSection(lr=3e-3, schedule="constant"),
    }  # fmt: skip
    return Recipe(**(given | changes))  # type: ignore[arg-type]


def colours(which: str) -> ImageDataset:
    return Colours(which)


def go(made: Recipe, out: Path, **options: object) -> Path:
    return train(made, out, quiet=True, open_data=colours, **options)  # type: ignore[arg-type]


def test_a_run_learns_and_leaves_a_checkpoint_that_loads(tmp_path: Path) -> None:
    folder = go(recipe(epochs=12), tmp_path / "run")
    records = metrics(tmp_path / "run")
    assert records[-1]["loss"] < 0.6 * records[0]["loss"]
    assert records[-1]["accuracy"].keys() == {"0", "1", "2"}
    model = tn.load(folder)
    assert model.class_names == CLASSES
    assert model.card.provenance["recipe"] == "tiny"
    (validation,) = metrics(tmp_path / "run", "validation")
    assert validation["top1"].keys() == {"0", "1", "2"}
    assert 0 < float(model.reward_baseline) < 1
    assert list((tmp_path / "run" / "tensorboard").iterdir())


def test_records_hold_every_term_rates_and_throughput(tmp_path: Path) -> None:
    loss = LossSection(contrastive=1.0, l2=1e-4, l2_on="new")
    go(recipe(loss=loss, optim=OptimSection(lr=1e-3, backbone_lr=1e-4)), tmp_path / "run")
    (record,) = metrics(tmp_path / "run")
    parts = ("joint", "joint_reinforce", "per_feature", "per_feature_reinforce", "l2", "contrastive")
    assert record["loss"] == pytest.approx(sum(record[name] for name in parts), rel=1e-5)
    assert record["l2"] > 0 and record["contrastive"] > 0
    assert (record["lr_backbone"], record["lr_rest"]) == (1e-4, 1e-3)
    assert record["images_per_second"] > 0


def test_the_same_recipe_gives_the_same_weights(tmp_path: Path) -> None:
    first = tn.load(go(recipe(), tmp_path / "a")).state_dict()
    second = tn.load(go(recipe(), tmp_path / "b")).state_dict()
    other = tn.load(go(recipe(seed=1), tmp_path / "c")).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["classifier.linear.weight"], other["classifier.linear.weight"])


def test_a_run_cut_into_sittings_ends_where_an_uninterrupted_one_does(tmp_path: Path) -> None:
    made = recipe(
        epochs=3,
        ema=0.9,
        policy=PolicySection(select="gumbel"),
        model=ModelSection(config=recipe_values()["model"]["config"] | {"dropout": 0.5, "drop_path": 0.2}),
    )
    whole = tn.load(go(made, tmp_path / "whole")).state_dict()
    for _ in range(20):  # every sitting is over after one step
        engine = Engine(made, tmp_path / "cut", resume=True, minutes=None, quiet=True, open_data=colours)
        before = engine.step
        folder = stopping_after_one_step(engine)
        if engine.step == engine.steps:
            break
        assert engine.step == before + 1
    cut = tn.load(folder).state_dict()
    assert all(torch.equal(whole[name], cut[name]) for name in whole)
    assert [r["step"] for r in metrics(tmp_path / "cut")] == [r["step"] for r in metrics(tmp_path / "whole")]


def stopping_after_one_step(engine: Engine) -> Path:
    engine._must_stop = lambda: True  # type: ignore[method-assign]
    return engine.run()


def test_a_step_in_parts_uses_every_image_of_the_batch(tmp_path: Path) -> None:
    """Without anything that couples images, two halves have the gradient of the whole."""
    frozen = FreezeSection(batch_norm=True)
    loss = LossSection(lambda_f=0.0)
    results = [
        tn.load(go(recipe(accumulate=parts, freeze=frozen, loss=loss), tmp_path / str(parts))).state_dict()
        for parts in (1, 2)
    ]
    for name, value in results[0].items():
        torch.testing.assert_close(results[1][name], value, rtol=1e-3, atol=2e-5)


def test_minutes_stop_a_run_cleanly(tmp_path: Path) -> None:
    folder = go(recipe(epochs=1000), tmp_path / "run", minutes=0.12)
    assert tn.load(folder).class_names == CLASSES
    state = load_state(tmp_path / "run")
    assert state is not None
    assert 0 < state.step < 4000
    assert len(metrics(tmp_path / "run", "validation")) == 1


def test_a_loss_that_is_not_a_number_stops_the_run_and_keeps_what_was_good(tmp_path: Path) -> None:
    made = recipe(epochs=2, validate_every=0.25, optim=OptimSection(lr=1e-3, schedule="constant"))
    engine = Engine(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours)
    engine.learner.register_forward_hook(
        lambda _, __, found: found | {"loss": found["loss"] * float("nan")} if engine.step == 5 else None
    )
    with pytest.raises(TNetError, match="not a number any more at step 6"):
        engine.run()
    state = load_state(tmp_path / "run")
    assert state is not None
    assert state.step == 5
    kept = tn.load(tmp_path / "run" / "checkpoint")
    assert all(bool(torch.isfinite(value).all()) for value in kept.state_dict().values())
    go(made, tmp_path / "run", resume=True)  # and can be continued
    assert metrics(tmp_path / "run")[-1]["step"] == 8


def test_two_runs_are_never_mixed_in_one_folder(tmp_path: Path) -> None:
    go(recipe(), tmp_path / "run")
    with pytest.raises(TNetError, match="already holds a run"):
        go(recipe(), tmp_path / "run")


def test_a_run_continues_only_under_its_own_recipe(tmp_path: Path) -> None:
    made = recipe(epochs=2)
    stopping_after_one_step(Engine(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours))
    with pytest.raises(TNetError, match="another 'batch_size' \\(7 instead of 14\\)"):
        go(replace(made, batch_size=7), tmp_path / "run", resume=True)
    moved = replace(made, data=replace(made.data, root="elsewhere", workers=1))
    go(moved, tmp_path / "run", resume=True)  # where the data lies does not matter


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    folder = go(recipe(), tmp_path / "run")
    before = (folder / "model.safetensors").read_bytes()
    go(recipe(), tmp_path / "run", resume=True)
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_plain_classifier_trains_too(tmp_path: Path) -> None:
    config = recipe_values()["model"]["config"] | {
        "levels": 1, "budget": [], "location": "none", "positional": "none", "weighting": False,
        "base_resolution": 96, "location_block": None, "location_rows": None,
    }  # fmt: skip
    folder = go(
        recipe(epochs=2, model=ModelSection(config=config), loss=LossSection(contrastive=1.0)), tmp_path / "run"
    )
    assert tn.load(folder).config.is_baseline
    assert metrics(tmp_path / "run")[-1]["accuracy"].keys() == {"all"}


def test_the_moving_average_is_what_gets_saved(tmp_path: Path) -> None:
    made = recipe(ema=0.5)
    engine = Engine(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours)
    saved = tn.load(engine.run()).state_dict()
    assert engine.average is not None
    name = "classifier.linear.weight"
    assert torch.equal(saved[name], engine.average.model.state_dict()[name])
    assert not torch.equal(saved[name], engine.model.state_dict()[name])


def test_monte_carlo_samples_tile_the_batch(tmp_path: Path) -> None:
    go(recipe(loss=LossSection(samples=2)), tmp_path / "run")
    assert metrics(tmp_path / "run")[0]["loss"] > 0


def test_data_with_another_number_of_classes_is_refused(tmp_path: Path) -> None:
    def five(which: str) -> ImageDataset:
        return Colours(which, classes=CLASSES[:5])

    with pytest.raises(TNetError, match="5"):
        train(recipe(), tmp_path / "run", quiet=True, open_data=five)
    assert not (tmp_path / "run").exists()


def test_a_batch_that_cannot_be_divided_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TNetError, match="multiple of"):
        go(recipe(batch_size=14, accumulate=4), tmp_path / "run")


def test_states_are_replaced_while_a_run_goes_on(tmp_path: Path) -> None:
    go(recipe(epochs=1, save_minutes=0), tmp_path / "run")
    assert [path.name for path in states(tmp_path / "run")] == ["state-000000004"]
    numbers = json.loads((states(tmp_path / "run")[0] / "state.json").read_text())
    assert numbers["recipe"]["name"] == "tiny"
