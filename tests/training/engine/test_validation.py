"""The validation curve: one pass, every budget, the same answers as one traversal per image."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator

import tnet_core as tn
from tests.support.evaluation import NATIVE, PLAIN, THREE, TWO, Canvases, varied
from tests.support.models import BackboneCalls
from tests.support.processes import run_ranks
from training.data.sample import Sample
from training.engine.validation import measure_curve
from training.evaluation.stream import spread_indices

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("config", "budget"), [(TWO, (5,)), (THREE, (3, 2)), (THREE, (0, 2)), (TWO, (0,)), (PLAIN, ())]
)
def test_every_budget_agrees_with_single_traversals(config: tn.TNetConfig, budget: tuple[int, ...]) -> None:
    model, data = varied(config), Canvases(14)
    found = measure_curve(model, data, budget, batch_size=5)
    traces = [tn.traverse(model, data[index].image, budget) for index in range(len(data))]
    assert list(found) == list(traces[0].budgets())
    for smaller, accuracy in found.items():
        logits = np.stack([trace.logits(budget=smaller) if budget else trace.logits() for trace in traces])
        order = np.argsort(-logits, axis=1, kind="stable")
        labels = np.array(data.labels)[:, None]
        assert accuracy.top1 == pytest.approx((order[:, :1] == labels).mean())
        assert accuracy.top5 == pytest.approx((order[:, :5] == labels).any(1).mean())
        assert accuracy.images == len(data)


def test_accuracies_differ_between_budgets_so_that_the_agreement_means_something() -> None:
    found = measure_curve(varied(TWO), Canvases(), (5,), batch_size=28)
    assert len({accuracy.top1 for accuracy in found.values()}) > 2


def test_looks_are_taken_once_for_all_budgets() -> None:
    with BackboneCalls(varied(TWO)) as calls:
        measure_curve(varied(TWO), Canvases(), (4,), batch_size=28)
    assert sum(calls.batches) == 28 * 5


def test_every_module_is_back_in_its_own_mode_afterwards() -> None:
    model = varied(replace(TWO, name="modes"), seed=3)
    model.train()
    model.features.eval()  # as frozen stages are while the rest trains
    measure_curve(model, Canvases(5), (1,), batch_size=5)
    assert model.training and model.classifier.training and not model.features.training
    before = {name: value.clone() for name, value in model.state_dict().items()}
    measure_curve(model, Canvases(5), (1,), batch_size=5)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    model.eval()


def test_modes_come_back_after_an_error_too() -> None:
    class Broken(Canvases):
        def __getitem__(self, index: int) -> Sample:
            raise tn.TNetError("'x.jpg' is damaged.")

    model = varied(replace(TWO, name="modes"), seed=3)
    model.train()
    with pytest.raises(tn.TNetError, match=r"x\.jpg"):
        measure_curve(model, Broken(), (1,), batch_size=5)
    assert model.training
    model.eval()


@pytest.mark.parametrize("workers", [0, 2])
def test_an_unreadable_image_arrives_as_its_sentence(workers: int) -> None:
    with pytest.raises(tn.TNetError) as caught:
        measure_curve(varied(TWO), OneBroken(14), (1,), batch_size=4, workers=workers)
    assert str(caught.value) == "'x.jpg' is damaged."


def test_an_unreadable_image_of_one_process_ends_all_of_them(tmp_path: Path) -> None:
    code = "from tests.training.engine.test_validation import one_of_two; one_of_two()"
    ended = run_ranks("-c", code, cwd=Path(__file__).parents[3], env=os.environ, folder=tmp_path, timeout=120)
    said = [rank.stdout.strip() for rank in ended]
    assert said == ["0 of 2: 'x.jpg' is damaged.", "1 of 2: 'x.jpg' is damaged."], ended


class OneBroken(Canvases):
    """The last image cannot be read: of two processes, the second meets it."""

    def __getitem__(self, index: int) -> Sample:
        if index == len(self) - 1:
            raise tn.TNetError("'x.jpg' is damaged.")
        return super().__getitem__(index)


def one_of_two() -> None:
    """What each process does; it prints the error it meets."""
    accelerator = Accelerator(cpu=True)
    try:
        measure_curve(varied(TWO), OneBroken(6), (1,), batch_size=2, accelerator=accelerator)
    except tn.TNetError as error:
        print(f"{accelerator.process_index} of {accelerator.num_processes}: {error}")
    accelerator.end_training()


def test_a_limit_takes_images_from_all_over_the_split() -> None:
    assert measure_curve(varied(TWO), Canvases(), (1,), 4, limit=7)[(0,)].images == 7
    assert spread_indices(10, 4) == [0, 2, 5, 7]
    assert spread_indices(3, None) == spread_indices(3, 9) == [0, 1, 2]


def test_a_native_model_is_measured_in_official_sampling_here() -> None:
    official, native = varied(TWO), copy.deepcopy(varied(NATIVE))
    native.load_state_dict(official.state_dict())
    data = Canvases(14)
    assert measure_curve(native, data, (2,), 7) == measure_curve(official, data, (2,), 7)
