"""A scene at every budget."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from viz.scene import Scene, prepare, view


def scene_of(config: tn.TNetConfig, budget: tuple[int, ...]) -> Scene:
    source = tn.ImageSource.open(picture(90, 120, seed=3))
    return prepare(tn.traverse(tiny(config), source, budget=budget), source, "blocks")


@pytest.mark.parametrize(("config", "budget"), [(TINY, (9,)), (TINY_3L, (3, 2))])
def test_no_budget_runs_the_backbone(config: tn.TNetConfig, budget: tuple[int, ...]) -> None:
    with BackboneCalls(tiny(config)) as calls:
        scene = scene_of(config, budget)
        traversal = list(calls.batches)
        for k in range(len(scene.trace.locations) + 1):
            view(scene, k)
    assert traversal
    assert calls.batches == traversal


def test_every_panel_shows_the_same_number_of_looks() -> None:
    scene = scene_of(TINY, (9,))
    for k in range(10):
        shown = view(scene, k)
        assert shown.boxes.count('class="tn-box') == k
        assert shown.looks.count('class="tn-look') == k + 1 + 1  # the thumbnail, and the list itself
        assert len(shown.ledger.data[0].x) == k + 1
        assert f"<b>{k}</b> of 9 looks" in shown.summary


def test_crops_are_what_the_network_saw() -> None:
    scene = scene_of(TINY, (9,))
    for uri, pixels in zip(scene.crops, (scene.trace.thumbnail, *scene.trace.crops), strict=True):
        encoded = re.fullmatch(r"data:image/webp;base64,([A-Za-z0-9+/=]+)", uri)
        assert encoded
        decoded = np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded[1]))).convert("RGB"), dtype=float)
        assert decoded.shape == pixels.shape
        assert np.abs(decoded - pixels).mean() < 12  # lossy, but the same picture


def test_weights_and_contributions_stand_under_their_crops() -> None:
    scene = scene_of(TINY, (9,))
    rows = re.findall(r"<b>([^<]+)</b><span><i class=\"tn-(for|against)\">([^<]+)</i><small>weight ([^<]+)</small>",
                      view(scene, 4).looks)  # fmt: skip
    shares = scene.trace.contributions(int(scene.trace.logits(4).argmax()), k=4)
    assert [row[0] for row in rows] == ["context", "look 1", "look 2", "look 3", "look 4"]
    assert [row[1] == "for" for row in rows] == [bool(value >= 0) for value in shares.values]
    for row, value, weight in zip(rows, shares.values, scene.trace.weights(4), strict=True):
        assert float(row[2].replace("−", "-")) == pytest.approx(value, rel=0.06, abs=1e-4)
        assert float(row[3]) == pytest.approx(weight, rel=0.06, abs=1e-4)


def test_cost_and_cover_are_those_of_the_trace() -> None:
    scene = scene_of(TINY, (9,))
    assert "boxes cover <b>0 %</b>" in view(scene, 0).summary
    assert "boxes cover <b>100 %</b>" in view(scene, 9).summary
