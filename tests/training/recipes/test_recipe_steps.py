"""Every recipe builds its model and takes an optimisation step, with all of its own settings."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import tnet_core as tn
from tests.support.training import Colours, metrics
from training.data.sample import ImageDataset
from training.engine.loop import Trainer
from training.policy.training import train_policy
from training.recipes.reading import list_recipes, read_recipe

SMALL = [
    "batch_size=2",
    "accumulate=1",
    "data.workers=0",
    "data.cache=null",
    "validation_images=1",
    "init.weights=random",
    "init.tag=null",
]
RECIPES = [name for name in list_recipes() if read_recipe(name).policy.target == "none"]
POLICIES = [name for name in list_recipes() if name not in RECIPES]
# Steps that repeat what others check: a larger backbone or side, a longer run, a loss term less, or other classes with
# the settings of CUB.
ALMOST_SAME = ("-b1", "-b2", "-b3", "-b4", "-448", "-896", "-longer", "-no-per-feature")
SLOW_BASELINE = "bagnet77"  # BagNet and baselines each take a step in another recipe
SAME_BUT_OTHER_CLASSES = ("nabirds-", "lite0-pets")
pytestmark = pytest.mark.slow


def by_cost(names: list[str]) -> list[object]:
    """Return the names for `parametrize`, repetitions marked as long."""
    return [pytest.param(name, marks=pytest.mark.long) if repeats(name) else name for name in names]


def repeats(name: str) -> bool:
    return name.endswith(ALMOST_SAME) or name.startswith(SAME_BUT_OTHER_CLASSES) or name == SLOW_BASELINE


@pytest.mark.parametrize("name", by_cost(RECIPES))
def test_recipe_takes_a_step(name: str, tmp_path: Path) -> None:
    recipe = read_recipe(name, [*SMALL, "epochs=1", "init.checkpoint=null"])
    names = [f"class {number}" for number in range(recipe.config.num_classes)]

    def generated(which: str) -> ImageDataset:
        return Colours(which, size=2, classes=names, side=64)

    trainer = Trainer(recipe, tmp_path / "run", resume=False, minutes=None, quiet=True, open_data=generated)
    before = {n: value.clone() for n, value in trainer.model.state_dict().items()}
    folder = trainer.run()
    (record,) = metrics(tmp_path / "run")
    assert torch.isfinite(torch.tensor(record["loss"]))
    trained = {n for n, parameter in trainer.model.named_parameters() if parameter.requires_grad}
    roots = {n.partition(".")[0] for n in trained if not torch.equal(before[n], trainer.model.state_dict()[n])}
    expected = {n.partition(".")[0] for n in trained}
    assert roots == expected, "a module that should learn did not move"
    assert tn.load(folder).config == recipe.config


@pytest.mark.parametrize("name", by_cost(POLICIES))
def test_a_policy_recipe_takes_a_step(name: str, tmp_path: Path) -> None:
    config = read_recipe(name).config
    names = [f"class {number}" for number in range(config.num_classes)]
    start = tn.save(tn.build(config, seed=1), tmp_path / "start", class_names=names)
    changes = [change for change in SMALL if not change.startswith("init.weights")]
    recipe = read_recipe(name, [*changes, "epochs=1", f"init.checkpoint={start}", "bank.views=1", "bank.folder=null"])

    def generated(which: str) -> ImageDataset:
        return Colours(which, size=2, classes=names, side=64)

    made = tn.load(train_policy(recipe, tmp_path / "run", quiet=True, open_data=generated)).state_dict()
    moved = {n.partition(".")[0] for n, value in tn.load(start).state_dict().items() if not torch.equal(value, made[n])}
    assert moved == {"location"}
