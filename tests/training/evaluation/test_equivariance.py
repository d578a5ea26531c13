"""Whether first looks follow content, measured over a data set."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import tnet_core as tn
from tests.support.evaluation import NATIVE, PLAIN, THREE, TWO, Canvases, varied
from tnet_core.counterfactual import CellCentres, compare, move_content
from training.evaluation.equivariance import MOVES, plan_move
from training.evaluation.plan import Options
from training.evaluation.run import evaluate
from training.evaluation.table import format_evaluation

pytestmark = pytest.mark.slow


def measured(model: tn.TNet, count: int = 12, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "workers": 0,
        "draws": 1,
        "resamples": 200,
        "budget": 2,
        "policies": ("learned",),
        "timing": False,
    }
    return evaluate(model, Canvases(count), Options(**(options | changes)))


def looks_by_position(config: tn.TNetConfig) -> tn.TNet:
    """The same scores for every image; no shift or mirror image of them ranks the cells alike."""
    model = copy.deepcopy(varied(config))
    model.location = Favourites([0.1, 0.9, 0.3, 0.8, 0.2, 0.7, 0.5, 0.4, 0.6])  # type: ignore[assignment]
    return model


class Favourites(nn.Module):
    def __init__(self, scores: list[float]) -> None:
        super().__init__()
        self.scores = torch.tensor(scores)

    def forward(self, features: Tensor, _vector: Tensor) -> Tensor:
        return self.scores.expand(len(features), -1)


class Contrast(nn.Module):
    """A map whose value at each cell is the variance of the pixels there, and a feature vector of zeros."""

    precision = "float32"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.num_features = width

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        grey = images.mean(1, keepdim=True)  # (B, 1, 64, 64), which the grid divides into 3 x 3 cells of one half
        cells = F.avg_pool2d(grey**2, 32, 16) - F.avg_pool2d(grey, 32, 16) ** 2
        return cells, images.new_zeros((len(images), self.num_features))


class AsItIs(nn.Module):
    def forward(self, features: Tensor, _vector: Tensor) -> Tensor:
        return features.flatten(1)


def looks_by_content(config: tn.TNetConfig) -> tn.TNet:
    model = copy.deepcopy(varied(config))
    model.features = Contrast(model.features.num_features)  # type: ignore[assignment]
    model.location = AsItIs()  # type: ignore[assignment]
    return model


@pytest.mark.parametrize("config", [TWO, THREE, NATIVE])
def test_a_policy_of_positions_alone_scores_minus_one(config: tn.TNetConfig) -> None:
    found = measured(looks_by_position(config), budget=(1, 1) if config is THREE else 2)["equivariance"]
    assert found["score"] == -1 and found["score_interval"] == [-1, -1] and found["position"] == 1
    assert set(found["transforms"]) == set(MOVES)
    for name, told in found["transforms"].items():
        assert told["score"] == -1 and told["images"] == 12
        if told["first_look"]["images"]:
            assert told["first_look"]["followed"] == 0 and told["first_look"]["stayed"] == 1, name
    assert any(told["first_look"]["images"] for told in found["transforms"].values())


def test_a_policy_of_content_alone_scores_one() -> None:
    found = measured(looks_by_content(TWO))["equivariance"]
    for name, told in found["transforms"].items():
        if name == "zoom_in":  # a cell holds other pixels then, so the old grid predicts the new one only roughly
            assert told["content"] > 0.7 and told["cells"] == 9
            continue
        assert told["score"] == 1 and told["content"] == 1, name
        # the streaks that come in from outside may have the most contrast of all, if an object lies at the border
        assert told["first_look"]["followed"] >= (1 if name == "flip" else 0.8), name
        assert told["first_look"]["stayed"] <= (0 if name == "flip" else 0.2), name
        assert told["cells"] == (9 if name == "flip" else 6)
    assert found["score"] > 0.8


def test_the_numbers_are_those_of_single_traversals() -> None:
    model, data = varied(NATIVE), Canvases(6)
    found = measured(model, 6)["equivariance"]
    for name in MOVES:
        content, position, right = [], [], []
        for index in range(6):
            image = data[index].image
            height, width = image.shape[:2]
            centres = CellCentres.of(NATIVE, width, height)
            plan = plan_move(name, centres, width, height)
            before, after = (tn.traverse(model, pixels, (0,)) for pixels in (image, move_content(image, plan)))
            old, new = (trace.distributions[0].logits.reshape(1, -1) for trace in (before, after))
            one = compare(old, new, centres, plan)
            content.append(one.content[0])
            position.append(one.position[0])
            right.append(after.logits(0).argmax() == data.labels[index])
        told = found["transforms"][name]
        mean = np.mean(content), np.mean(position)
        assert (told["content"], told["position"]) == pytest.approx(mean, abs=1e-4)
        assert told["score"] == pytest.approx((mean[0] - mean[1]) / (2 - sum(mean)), abs=2e-4)
        assert told["top1_thumbnail"] == pytest.approx(np.mean(right), abs=1e-4)


def test_one_cell_is_a_whole_number_of_pixels_in_official_sampling() -> None:
    centres = CellCentres.of(TWO, 500, 300)
    for name, step in (("shift_right", 32), ("shift_left", -32)):
        assert plan_move(name, centres, 128, 128).x.start == step
    assert plan_move("shift_down", centres, 128, 128).y.start == 32


def test_the_same_numbers_every_time_and_whatever_the_batches() -> None:
    first = measured(varied(TWO), batch_size=5)["equivariance"]
    again = measured(varied(TWO), batch_size=5)["equivariance"]
    assert json.dumps(first) == json.dumps(again)
    other = measured(varied(TWO), batch_size=12)["equivariance"]
    assert other["score"] == pytest.approx(first["score"], abs=1e-3)
    assert measured(varied(TWO), seed=3)["equivariance"]["score"] == pytest.approx(other["score"], abs=1e-3)


def test_it_is_left_out_where_it_means_nothing_or_is_not_wanted() -> None:
    assert "equivariance" not in measured(varied(PLAIN))
    content = measured(varied(TWO), equivariance=False)
    assert "equivariance" not in content and "follow content" not in format_evaluation(content)


def test_the_terminal_tells_it() -> None:
    shown = format_evaluation(measured(looks_by_position(TWO)))
    assert "follow content (1) or stay in position (-1): -1.00 [-1.00, -1.00]" in shown
    assert all(about in shown for about in MOVES.values())
