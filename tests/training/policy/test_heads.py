"""New classes for a backbone that stays as it is: heads learned on a feature bank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY
from tnet_core.errors import TNetError
from training.policy.bank import FeatureBank, compute_positional_shift
from training.policy.heads import compute_heads_loss, draw_looks, reset_heads, train_heads
from training.policy.targets import measure_accuracies
from training.recipes.checks import check_recipe
from training.recipes.reading import read_recipe
from training.recipes.recipe import HeadsSection, LossSection

pytestmark = pytest.mark.slow

CONFIG = replace(TINY, num_classes=3, positional="additive", weighting=True)
LOSS = LossSection(lambda_c=0.3, label_smoothing=0.1)
OPTIONS = HeadsSection(epochs=15, batch_size=32, lr=1e-2)


def planted(model: tn.TNet, seed: int, count: int = 192) -> tuple[FeatureBank, torch.Tensor]:
    """A bank of noise in which one cell per image shows the class, and scores that name that cell."""
    random = np.random.default_rng(seed)
    width, cells = model.classifier.linear.in_features, model.config.cells
    labels = np.arange(count) % 3
    telling = random.integers(0, cells, count)
    features = random.normal(0, 0.1, (count, 1 + cells, width))
    features[np.arange(count), 1 + telling, labels] += 6
    arrays = {"features": features.astype(np.float16), "vectors": features[:, 0].astype(np.float16)}
    arrays |= {"maps": np.zeros((count, 1, 3, 3), np.float16), "labels": labels}
    return FeatureBank(arrays), 20.0 * torch.nn.functional.one_hot(torch.from_numpy(telling), cells)


def fresh() -> tn.TNet:
    model = tn.build(CONFIG, seed=1)
    reset_heads(model)
    return model


@pytest.mark.parametrize("directed", [False, True])
def test_classes_are_learned_from_the_looks_that_show_them(directed: bool) -> None:
    model = fresh()
    (train, scores), (held_out, best) = planted(model, 0), planted(model, 1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    train_heads(model, train, OPTIONS, LOSS, 0, scores if directed else None, quiet=True)
    found = measure_accuracies(model, held_out.with_shift(compute_positional_shift(model)), best, 1)
    assert found[0] < 0.6 and found[1] > 0.85  # the thumbnail shows nothing
    changed = {name.partition(".")[0] for name, value in model.state_dict().items() if not value.equal(before[name])}
    assert changed == {"classifier", "positional", "weighting"}
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_a_seed_repeats_the_heads() -> None:
    models = []
    for _ in range(2):
        model = fresh()
        train_heads(model, planted(model, 0)[0], replace(OPTIONS, epochs=1), LOSS, 5, quiet=True)
        models.append(model.state_dict())
    assert all(value.equal(models[1][name]) for name, value in models[0].items())


def test_heads_start_without_positions_and_with_a_plain_average() -> None:
    model = fresh()
    assert compute_positional_shift(model).abs().max() == 0
    assert model.weighting is not None
    weights = model.weighting(torch.randn(2, 4, model.classifier.linear.in_features))
    torch.testing.assert_close(weights, torch.full((2, 4), 0.25))


def test_looks_are_distinct_and_follow_the_scores() -> None:
    torch.manual_seed(0)
    scores = torch.zeros(400, 9)
    scores[:, 4] = 3.0
    drawn = draw_looks(scores, torch.full((400,), 2))
    assert drawn.dtype == torch.bool and drawn.sum(1).eq(2).all()
    assert drawn[:, 4].float().mean() > 0.8 and drawn[:, 0].any() and drawn[:, 8].any()
    assert not draw_looks(scores, torch.zeros(400)).any()


def test_a_share_of_one_leaves_looks_alone_out() -> None:
    model = fresh()
    bank, scores = planted(model, 0, 12)
    rows = bank.rows(slice(None))
    several = [
        compute_heads_loss(
            model, rows.features, rows.labels, scores, replace(OPTIONS, most=0, alone=alone), loss
        ).item()
        for alone in (0, 3)
        for loss in (replace(LOSS, lambda_c=1.0), replace(LOSS, lambda_c=0.0))
    ]
    # Sets without looks are thumbnails, so with none alone both shares say the same.
    assert several[0] == pytest.approx(several[1]) == pytest.approx(several[2])
    assert several[3] != pytest.approx(several[2])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (["heads.epochs=2"], "'heads.epochs' learns heads on a feature bank"),
        (["heads.epochs=2", "policy.target=likelihood", "model.config.weighting=false"], "needs a model with additive"),
        (["heads.dropout=1"], "'heads.dropout' is 1"),
    ],
)
def test_heads_that_cannot_be_learned_are_refused(changes: list[str], sentence: str) -> None:
    with pytest.raises(TNetError, match=sentence):
        check_recipe(read_recipe("lite0-cub", changes))
