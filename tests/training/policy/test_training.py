from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import tnet_core as tn
from tests.support.models import TINY
from tnet_core.errors import TNetError
from training.data.augment import make_evaluation_view
from training.data.sample import Sample
from training.engine.metrics import METRICS_FILE
from training.policy.targets import measure_accuracies, score_bank
from training.policy.training import make_split_bank, train_policy
from training.recipes.recipe import (
    AugmentSection,
    BankSection,
    DataSection,
    HeadsSection,
    InitSection,
    ModelSection,
    OptimSection,
    PolicySection,
    Recipe,
)

pytestmark = pytest.mark.slow

CONFIG = replace(TINY, num_classes=3, weighting=False)
CORNERS = [0, 2, 6, 8]  # cells where the patch may lie; none overlaps another
OPTIONS = BankSection(views=1, looks=2)


class Patches:
    """A bright patch in one corner cell, whose tint tells the class; the rest is grey noise."""

    name = "Patches"
    class_names = ("red", "green", "blue")

    def __init__(self, split: str, count: int) -> None:
        self.split = split
        self.labels = [index % 3 for index in range(count)]
        self._seed = {"train": 0, "validation": 1}[split]
        self.cells = np.random.default_rng(self._seed).choice(CORNERS, count).tolist()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Sample:
        random = np.random.default_rng([self._seed, index])
        image = random.integers(90, 110, (128, 128, 3), dtype=np.uint8)
        cell, label = self.cells[index], self.labels[index]
        y, x = 32 * (cell // 3) + 16 + random.integers(-4, 4), 32 * (cell % 3) + 16 + random.integers(-4, 4)
        image[y : y + 32, x : x + 32] = np.where(np.arange(3) == label, 255, 150)
        return Sample(image, label, str(index))


def open_data(which: str) -> Patches:
    return Patches(which, 90 if which == "train" else 60)


def recipe(**changes: object) -> Recipe:
    base = Recipe(
        name="patches",
        epochs=40,
        batch_size=45,
        model=ModelSection(config=CONFIG.to_dict()),
        init=InitSection(weights="checkpoint", checkpoint=""),
        data=DataSection(workers=0),
        augment=AugmentSection(min_area=0.9, aspect=(0.9, 1.1), interpolation="bilinear"),
        policy=PolicySection(target="likelihood"),
        bank=OPTIONS,
        optim=OptimSection(method="adamw", lr=1e-2, schedule="cosine"),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def prepared(data: Patches) -> tn.TNet:
    """A random backbone whose batch norms know the data, and a classifier that reads colours.

    The thumbnail shows the patch too; the classifier is fitted to ignore what it says.
    """
    model = tn.build(CONFIG, seed=3)
    pictures = torch.from_numpy(np.stack([make_evaluation_view(data[i].image, 128) for i in range(32)]))
    model.train()
    with torch.no_grad():
        for _ in range(6):
            model.forward_train(pictures, 9)
    model.eval()
    looked = make_split_bank(model, recipe(), data, None, 1, quiet=True).rows(slice(None))
    pairs = (looked.features[:, :1] + looked.features[:, 1:]) / 2  # (images, 9, D)
    shown = torch.arange(9) == torch.tensor(data.cells)[:, None]
    # With any other cell all classes are alike.
    wanted = torch.where(shown[..., None], nn.functional.one_hot(looked.labels, 3)[:, None].float(), 1 / 3)
    vectors, linear = pairs.flatten(0, 1), model.classifier.linear
    centre, spread = vectors.mean(0), vectors.std(0) + 1e-3
    optimiser = torch.optim.Adam(linear.parameters(), lr=0.02)
    for _ in range(200):
        optimiser.zero_grad()
        nn.functional.cross_entropy(linear((vectors - centre) / spread), wanted.flatten(0, 1)).backward()
        optimiser.step()
    with torch.no_grad():  # back to vectors as they are
        linear.weight /= spread
        linear.bias -= linear.weight @ centre
    return model


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start") / "patches"
    return tn.save(prepared(open_data("train")), folder, class_names=Patches.class_names)


@pytest.fixture(scope="module")
def banks(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("banks"))


def started_from(checkpoint: Path, **changes: object) -> Recipe:
    return recipe(init=InitSection(weights="checkpoint", checkpoint=str(checkpoint)), **changes)


def records(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]


@pytest.mark.parametrize("target", ["likelihood", "ranking"])
def test_the_policy_finds_the_cell_that_tells_the_class(
    target: str, checkpoint: Path, banks: str, tmp_path: Path
) -> None:
    options = replace(OPTIONS, folder=banks, temperature=0.02)
    asked = started_from(checkpoint, bank=options, policy=PolicySection(target=target))  # type: ignore[arg-type]
    folder = train_policy(asked, tmp_path / "run", quiet=True, open_data=open_data)
    model, data = tn.load(str(folder), device="cpu"), open_data("validation")
    chosen = [tn.traverse(model, data[i].image, budget=1).locations[0].index for i in range(len(data))]
    assert np.mean(np.equal(chosen, data.cells)) > 0.8

    bank = make_split_bank(model, asked, data, Path(banks) / "validation", 1, quiet=True)
    random = torch.rand(len(data), 9, generator=torch.Generator().manual_seed(0))
    last = records(tmp_path / "run")[-1]
    assert last["top1_1"] > last["centre_1"] + 0.2
    assert last["top1_1"] > measure_accuracies(model, bank, random, 1)[1] + 0.15
    assert last["hindsight_1"] >= last["top1_1"]
    assert [round(top1, 4) for top1 in measure_accuracies(model, bank, score_bank(model, bank, options), 2)] == [
        round(last[f"top1_{k}"], 4) for k in range(3)
    ]


def test_only_the_location_module_changes_and_the_run_says_what_was_done(
    checkpoint: Path, banks: str, tmp_path: Path
) -> None:
    options = replace(OPTIONS, folder=banks)
    folder = train_policy(
        started_from(checkpoint, epochs=2, bank=options), tmp_path / "run", quiet=True, open_data=open_data
    )
    before, after = tn.load(str(checkpoint), device="cpu"), tn.load(str(folder), device="cpu")
    for name, value in after.state_dict().items():
        assert torch.equal(value, before.state_dict()[name]) != name.startswith("location."), name
    assert after.class_names == Patches.class_names
    provenance = json.loads((folder / "config.json").read_text())["provenance"]
    assert provenance["recipe"] == "patches" and "patches" in provenance["initial_weights"]
    assert provenance["bank"]["looks"] == 2 and "top1_1" in provenance["validation"]
    assert [r["step"] for r in records(tmp_path / "run")] == [0, 2, 4]  # the start and every epoch
    assert (tmp_path / "run" / "recipe.yaml").exists()


def test_heads_and_policy_learn_from_one_bank_and_the_backbone_stays(checkpoint: Path, tmp_path: Path) -> None:
    config = replace(CONFIG, positional="additive", weighting=True)
    model = tn.build(config, seed=3)
    model.features.load_state_dict(tn.load(str(checkpoint), device="cpu").features.state_dict())
    start = tn.save(model, tmp_path / "start", class_names=Patches.class_names)
    asked = started_from(
        start, model=ModelSection(config=config.to_dict()), heads=HeadsSection(epochs=10, batch_size=30, dropout=0.0)
    )
    folder = train_policy(asked, tmp_path / "run", quiet=True, open_data=open_data)
    after = tn.load(str(folder), device="cpu").state_dict()
    changed = {name.partition(".")[0] for name, value in model.state_dict().items() if not value.equal(after[name])}
    assert changed == {"classifier", "positional", "weighting", "location"}
    provenance = json.loads((folder / "config.json").read_text())["provenance"]
    assert provenance["heads"]["rounds"] == 2 and "top1_1" in provenance["validation"]


def test_a_seed_repeats_the_training(checkpoint: Path, banks: str, tmp_path: Path) -> None:
    options = replace(OPTIONS, folder=banks, dropout=0.2)
    runs = [
        train_policy(started_from(checkpoint, epochs=1, bank=options), tmp_path / name, quiet=True, open_data=open_data)
        for name in ("one", "two")
    ]
    one, two = ((run / "model.safetensors").read_bytes() for run in runs)
    assert one == two


def test_augmented_views_are_further_rows_and_temporary_banks_go(checkpoint: Path, tmp_path: Path) -> None:
    model = tn.load(str(checkpoint), device="cpu")
    few = Patches("train", 6)
    bank = make_split_bank(model, recipe(), few, None, 3, quiet=True)
    plain = make_split_bank(model, recipe(), few, None, 1, quiet=True)
    assert len(bank) == 18 and bank.labels.tolist() == few.labels * 3
    assert np.array_equal(bank.features[:6], plain.features)
    views = bank.features.reshape(3, 6, -1)
    assert not any(np.array_equal(views[a], views[b]) for a, b in [(0, 1), (0, 2), (1, 2)])
    train_policy(
        started_from(checkpoint, epochs=1, batch_size=6, bank=replace(OPTIONS, views=2)), tmp_path / "run",
        quiet=True, open_data=lambda which: Patches(which, 6),
    )  # fmt: skip
    assert not (tmp_path / "run" / "bank").exists()


def test_what_cannot_be_trained_is_refused_in_one_sentence(checkpoint: Path, banks: str, tmp_path: Path) -> None:
    def refused(asked: Recipe) -> str:
        with pytest.raises(TNetError) as caught:
            train_policy(asked, tmp_path / "run", quiet=True, open_data=open_data)
        return str(caught.value)

    assert "policy.target" in refused(started_from(checkpoint, policy=PolicySection()))
    assert "init" in refused(recipe(init=InitSection()))
    three = replace(CONFIG, levels=3, budget=(1, 1)).to_dict()
    assert "two levels" in refused(started_from(checkpoint, model=ModelSection(config=three)))
    make_split_bank(
        tn.load(str(checkpoint), device="cpu"), recipe(), open_data("train"), Path(banks) / "train", 1, quiet=True
    )
    assert "other data" in refused(started_from(checkpoint, bank=replace(OPTIONS, folder=banks, views=2)))
