"""Runs: they learn, stop, refuse and keep what was good."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import tnet_core as tn
from tests.support.training import CLASSES, Colours, metrics, recipe_values
from tnet_core.errors import TNetError
from training.data.sample import ImageDataset, Sample
from training.engine import run_folder
from training.engine.loop import Trainer, train
from training.engine.run_folder import list_states, load_state
from training.recipes.recipe import (
    AugmentSection,
    DataSection,
    FreezeSection,
    LossSection,
    ModelSection,
    OptimSection,
    PolicySection,
    Recipe,
)

pytestmark = pytest.mark.slow
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


@pytest.fixture(scope="module")
def trained_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train with the plain recipe once for all tests that only need a run that has ended."""
    out = tmp_path_factory.mktemp("trained") / "run"
    go(recipe(), out)
    return out


@pytest.fixture
def ended_run(trained_run: Path, tmp_path: Path) -> Path:
    """Copy the run that has ended, for a test to damage or continue."""
    return Path(shutil.copytree(trained_run, tmp_path / "run"))


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


def test_the_same_recipe_gives_the_same_weights(trained_run: Path, tmp_path: Path) -> None:
    first = tn.load(trained_run / "checkpoint").state_dict()
    second = tn.load(go(recipe(), tmp_path / "b")).state_dict()
    other = tn.load(go(recipe(seed=1), tmp_path / "c")).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["classifier.linear.weight"], other["classifier.linear.weight"])


def test_a_run_cut_into_sittings_ends_where_an_uninterrupted_one_does(tmp_path: Path) -> None:
    made = recipe(
        epochs=2,
        ema=0.9,
        policy=PolicySection(select="gumbel"),
        model=ModelSection(config=recipe_values()["model"]["config"] | {"dropout": 0.5, "drop_path": 0.2}),
    )
    whole = tn.load(go(made, tmp_path / "whole")).state_dict()
    for _ in range(20):  # every sitting is over after one step
        trainer = Trainer(made, tmp_path / "cut", resume=True, minutes=None, quiet=True, open_data=colours)
        before = trainer.step
        folder = stopping_after_one_step(trainer)
        if trainer.step == trainer.steps:
            break
        assert trainer.step == before + 1
    cut = tn.load(folder).state_dict()
    assert all(torch.equal(whole[name], cut[name]) for name in whole)
    assert [r["step"] for r in metrics(tmp_path / "cut")] == [r["step"] for r in metrics(tmp_path / "whole")]


def stopping_after_one_step(trainer: Trainer) -> Path:
    trainer.stopping.is_due = lambda: True  # type: ignore[method-assign]
    return trainer.run()


def test_a_step_in_parts_uses_every_image_of_the_batch(tmp_path: Path) -> None:
    """Without anything that couples images, two halves have the gradient of the whole.

    One step, and an epsilon above rounding: Adam makes a full step of a gradient that is nothing but rounding, and
    the next step may then take other looks.
    """
    once = recipe(
        epochs=0.25, freeze=FreezeSection(batch_norm=True), loss=LossSection(lambda_f=0.0),
        optim=OptimSection(lr=3e-3, schedule="constant", epsilon=1e-3),
    )  # fmt: skip
    results = [tn.load(go(replace(once, accumulate=parts), tmp_path / str(parts))).state_dict() for parts in (1, 2)]
    for name, value in results[0].items():
        torch.testing.assert_close(results[1][name], value, rtol=1e-3, atol=2e-5)
    begun = tn.build(once.config, seed=once.seed).state_dict()
    assert any((results[0][name] - begun[name]).abs().max() > 1e-3 for name in begun if begun[name].is_floating_point())


def test_without_channels_last_weights_and_images_are_contiguous(tmp_path: Path) -> None:
    made = recipe(channels_last=False)
    trainer = Trainer(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours)
    seen: list[tuple[int, bool]] = []  # last stride of a weight, whether images are contiguous
    for module in trainer.model.features.body.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_pre_hook(
                lambda conv, given: seen.append((conv.weight.stride(3), given[0].is_contiguous()))
            )
    stopping_after_one_step(trainer)
    assert set(seen) == {(1, True)}


def test_minutes_stop_a_run_cleanly(tmp_path: Path) -> None:
    folder = go(recipe(epochs=1000), tmp_path / "run", minutes=0.12)
    assert tn.load(folder).class_names == CLASSES
    state = load_state(tmp_path / "run")
    assert state is not None
    assert 0 < state.step < 4000
    assert len(metrics(tmp_path / "run", "validation")) == 1


def test_a_loss_that_is_not_a_number_stops_the_run_and_keeps_what_was_good(tmp_path: Path) -> None:
    made = recipe(epochs=2, validate_every=0.25, optim=OptimSection(lr=1e-3, schedule="constant"))
    trainer = Trainer(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours)
    trainer.learner.register_forward_hook(
        lambda _, __, found: found | {"loss": found["loss"] * float("nan")} if trainer.step == 5 else None
    )
    with pytest.raises(TNetError, match="not a number any more at step 6"):
        trainer.run()
    state = load_state(tmp_path / "run")
    assert state is not None
    assert state.step == 5
    kept = tn.load(tmp_path / "run" / "checkpoint")
    assert all(bool(torch.isfinite(value).all()) for value in kept.state_dict().values())
    go(made, tmp_path / "run", resume=True)  # and can be continued
    assert metrics(tmp_path / "run")[-1]["step"] == 8


def test_a_gradient_that_is_not_a_number_never_reaches_the_weights(tmp_path: Path) -> None:
    made = recipe(epochs=2, save_minutes=0)
    trainer = Trainer(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours)
    weight = trainer.model.classifier.linear.weight
    weight.register_hook(lambda gradient: gradient * float("nan") if trainer.step == 3 else gradient)
    with pytest.raises(TNetError, match="gradient is not a number any more at step 4"):
        trainer.run()
    state = load_state(tmp_path / "run")
    assert state is not None
    assert state.step == 3
    assert all(bool(torch.isfinite(value.float()).all()) for value in state.tensors.values())


def test_a_validation_that_fails_costs_nothing_that_was_learned(tmp_path: Path) -> None:
    class Unreadable(Colours):
        def __getitem__(self, index: int) -> Sample:
            raise TNetError("The image 'x.png' cannot be read.")

    def opener(which: str) -> ImageDataset:
        return Colours() if which == "train" else Unreadable(which)

    with pytest.raises(TNetError, match=r"x\.png"):
        train(recipe(), tmp_path / "run", quiet=True, open_data=opener)
    state = load_state(tmp_path / "run")
    assert state is not None
    assert state.step == 4
    assert tn.load(tmp_path / "run" / "checkpoint").class_names == CLASSES


def test_resume_never_overwrites_a_checkpoint_of_something_else(ended_run: Path) -> None:
    weights = ended_run / "checkpoint" / "model.safetensors"
    before = weights.read_bytes()
    for state in list_states(ended_run):
        shutil.rmtree(state)
    with pytest.raises(TNetError, match="no state to continue from"):
        go(recipe(seed=1), ended_run, resume=True)
    assert weights.read_bytes() == before


def test_a_run_continues_only_on_its_own_data(tmp_path: Path) -> None:
    made = recipe(epochs=2)
    stopping_after_one_step(Trainer(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours))

    def fewer(which: str) -> ImageDataset:
        return Colours(which, size=28)

    with pytest.raises(TNetError, match=r"other training data \(56 images, now 28\)"):
        train(made, tmp_path / "run", resume=True, quiet=True, open_data=fewer)


@pytest.mark.parametrize("damage", ["[]", "{}", '{"format": 1, "step": 1}', '{"format": 1, "step": 1, "recipe": 3}'])
def test_a_damaged_state_is_one_sentence(ended_run: Path, damage: str) -> None:
    (list_states(ended_run)[0] / "state.json").write_text(damage)
    with pytest.raises(TNetError, match=r"remove it|cannot be continued"):
        go(recipe(), ended_run, resume=True)


def test_a_state_that_lacks_a_tensor_is_one_sentence(ended_run: Path) -> None:
    path = list_states(ended_run)[0] / "tensors.safetensors"
    tensors = load_file(path)
    del tensors["model.classifier.linear.bias"]
    save_file(tensors, path)
    with pytest.raises(TNetError, match=r"damaged .*remove it"):
        go(recipe(), ended_run, resume=True)


def test_what_killed_runs_left_behind_is_swept_away(tmp_path: Path) -> None:
    leftover = tmp_path / "run" / ".state-4242.tmp"
    leftover.mkdir(parents=True)
    (tmp_path / "run" / "metrics.jsonl").write_bytes(b'{"kind": "train", "step": 3}\n\xff\xfe cut')
    go(recipe(), tmp_path / "run", resume=True)
    assert not leftover.exists()
    assert [record["step"] for record in metrics(tmp_path / "run")] == [4]


def test_throughput_does_not_count_steps_of_before_a_validation(tmp_path: Path) -> None:
    trainer = Trainer(
        recipe(epochs=3, validate_every=2.25), tmp_path / "run", resume=False, minutes=None, quiet=True,
        open_data=colours,
    )  # fmt: skip
    seen: list[float] = []
    original = trainer._log
    trainer._log = lambda values, labels, rate: (seen.append(rate), original(values, labels, rate))  # type: ignore
    clock = itertools.count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("training.engine.loop.monotonic", lambda: float(next(clock)))
        trainer.run()
    assert len(seen) == 2  # steps 10 and 12; the validation was after step 9
    assert all(rate <= 1 for rate in seen)  # every step asks the clock at least once


def test_two_runs_are_never_mixed_in_one_folder(ended_run: Path) -> None:
    with pytest.raises(TNetError, match="already holds a run"):
        go(recipe(), ended_run)


@pytest.mark.parametrize("mine", ["metrics.jsonl", "images.jsonl", "bank/diary.txt"])
def test_a_folder_with_something_else_is_refused_and_left_as_it_is(tmp_path: Path, mine: str) -> None:
    (tmp_path / mine).parent.mkdir(exist_ok=True)
    (tmp_path / mine).write_text('{"step": 99}\n')
    for resume in (False, True):
        with pytest.raises(TNetError, match="holds something else than a run"):
            go(recipe(), tmp_path, resume=resume)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / mine]
    assert (tmp_path / mine).read_text() == '{"step": 99}\n'


def test_a_run_continues_only_under_its_own_recipe(tmp_path: Path) -> None:
    made = recipe(epochs=2)
    stopping_after_one_step(Trainer(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours))
    with pytest.raises(TNetError, match=r"another 'batch_size' \(7 instead of 14\)"):
        go(replace(made, batch_size=7), tmp_path / "run", resume=True)
    moved = replace(made, data=replace(made.data, root="elsewhere", workers=1))
    go(moved, tmp_path / "run", resume=True)  # where the data lies does not matter


def test_resuming_a_finished_run_changes_nothing(ended_run: Path) -> None:
    weights = ended_run / "checkpoint" / "model.safetensors"
    before = weights.read_bytes()
    go(recipe(), ended_run, resume=True)
    assert weights.read_bytes() == before
    assert len(metrics(ended_run, "validation")) == 1


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
    trainer = Trainer(made, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=colours)
    saved = tn.load(trainer.run()).state_dict()
    assert trainer.average is not None
    name = "classifier.linear.weight"
    assert torch.equal(saved[name], trainer.average.model.state_dict()[name])
    assert not torch.equal(saved[name], trainer.model.state_dict()[name])


def test_monte_carlo_samples_scale_the_first_loss(tmp_path: Path) -> None:
    """M samples are M rows per image, divided by the images: without dropout, M times the loss."""
    losses = []
    for samples in (1, 2):
        go(recipe(batch_size=56, loss=LossSection(samples=samples)), tmp_path / str(samples))
        losses.append(metrics(tmp_path / str(samples))[0]["loss"])
    assert losses[1] == pytest.approx(2 * losses[0], rel=1e-4)


def test_float16_without_a_gpu_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(TNetError, match="needs a GPU"):
        go(recipe(precision="fp16"), tmp_path / "run")


def test_gradients_are_clipped_before_the_step(tmp_path: Path) -> None:
    """Adam undoes any scaling of gradients, except where they vanish beside its epsilon."""
    start = tn.build(recipe().config, seed=0).state_dict()["classifier.linear.weight"]
    moved = []
    for clip in (None, 1e-12):
        optim = OptimSection(lr=1e-3, schedule="constant", clip_norm=clip)
        folder = go(recipe(optim=optim), tmp_path / str(clip))
        moved.append(float((tn.load(folder).state_dict()["classifier.linear.weight"] - start).abs().max()))
        assert metrics(tmp_path / str(clip))[0]["gradient_norm"] > 1e-3  # as it was before clipping
    assert moved[1] < 0.01 * moved[0]


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
    assert [path.name for path in list_states(tmp_path / "run")] == ["state-000000004"]
    numbers = json.loads((list_states(tmp_path / "run")[0] / "state.json").read_text())
    assert numbers["recipe"]["name"] == "tiny"


def test_two_processes_do_not_train_in_one_folder(ended_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "_LOCK_SECONDS", 0.3)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in ended_run.iterdir())
    refused = pytest.raises(TNetError, match=r"Another process is training in .*wait for it")
    with run_folder.lock_folder(ended_run), refused:
        go(recipe(), ended_run, resume=True)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in ended_run.iterdir()) == before
    go(recipe(), ended_run, resume=True)


def test_processes_that_load_images_hold_no_lock(tmp_path: Path) -> None:
    with run_folder.lock_folder(tmp_path):
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(30,))
        child.start()
    try:
        with run_folder.lock_folder(tmp_path):
            assert child.is_alive()
    finally:
        child.kill()
        child.join()


def test_a_run_that_another_process_continued_meanwhile_is_not_continued_twice(ended_run: Path) -> None:
    trainer = Trainer(recipe(), ended_run, resume=True, minutes=None, quiet=True, open_data=colours)
    state = list_states(ended_run)[-1]
    state.rename(ended_run / run_folder.name_state(trainer.step + 1))
    with pytest.raises(TNetError, match="Another process went on with the run"):
        trainer.run()
