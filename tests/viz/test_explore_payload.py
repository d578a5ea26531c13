"""What the stage is sent: numbers of the trace, complete for every slider and step."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from viz.common.payload import PictureInfo
from viz.common.templates import read_elements
from viz.explore.payload import build_scene_payload, build_steer_payload, list_look_sets
from viz.report.page import build_style

PLATE = PictureInfo("A <b>picture</b>", "photo: me", 2)


def floats(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


def weights(sent: dict[str, Any]) -> dict[tuple[int, ...], np.ndarray]:
    values, at, found = floats(sent["weights"]["values"]), 0, {}
    for looks in sent["weights"]["sets"]:
        found[tuple(looks)] = values[at : at + len(looks) + 1]
        at += len(looks) + 1
    assert at == len(values)
    return found


@pytest.fixture(scope="module", params=[(TINY, (9,)), (TINY_3L, (3, 2))], ids=["two levels", "three levels"])
def trace(request: pytest.FixtureRequest) -> tn.Trace:
    config, budget = request.param
    return tn.traverse(tiny(config), picture(seed=3), budget=budget)


@pytest.fixture(scope="module")
def sent(trace: tn.Trace) -> dict[str, Any]:
    return json.loads(build_scene_payload(trace, tn.ImageSource.open(picture(seed=3)), PLATE, trace.config.budget))


def test_every_budget_and_every_step_to_it_can_be_shown(trace: tn.Trace, sent: dict[str, Any]) -> None:
    known = weights(sent)
    met = 0
    for budget in trace.budgets():
        looks = trace.select(budget=budget)
        for k in range(len(looks) + 1):
            np.testing.assert_allclose(known[looks[:k]], trace.weights(subset=looks[:k]), rtol=1e-4)
            met += 1
    assert met > len(trace.locations)
    assert len(known) == len(list_look_sets(trace)) == len(set(list_look_sets(trace)))


def test_what_is_left_without_any_look_can_be_shown_at_every_step(trace: tn.Trace, sent: dict[str, Any]) -> None:
    values, at = floats(sent["weights"]["without"]), 0
    for looks in map(tuple, sent["weights"]["sets"]):
        for left in (None, *looks) if looks else ():
            rest = [look for look in looks if look != left]
            expected = trace.weights(subset=rest, context=left is not None)
            np.testing.assert_allclose(values[at : at + len(looks)], expected, rtol=1e-4)
            at += len(looks)
    assert at == len(values) > len(trace.locations)


def test_decisions_follow_from_what_is_sent(trace: tn.Trace, sent: dict[str, Any]) -> None:
    rows = floats(sent["projections"]).reshape(len(trace.locations) + 1, -1)
    looks = trace.select(budget=[1] * len(trace.budget))
    mixed = weights(sent)[looks] @ rows[[0, *(look + 1 for look in looks)]] + floats(sent["bias"])
    np.testing.assert_allclose(mixed, trace.logits(subset=looks), rtol=1e-5, atol=1e-5)


def test_looks_grids_and_costs_are_those_of_the_trace(trace: tn.Trace, sent: dict[str, Any]) -> None:
    assert [look["box"] for look in sent["looks"]] == [list(look.box) for look in trace.locations]
    assert [look["parent"] for look in sent["looks"]] == [look.parent for look in trace.locations]
    for grid, found in zip(sent["grids"], trace.distributions, strict=True):
        np.testing.assert_allclose(grid["lift"], found.lift.ravel(), rtol=1e-4)
        assert grid["rank"] == found.ranks.ravel().tolist()
        assert grid["boxes"] == [list(box) for box in trace.cell_boxes(found.parent)]
    flops = sent["flops"]
    for budget in trace.budgets():
        looks = trace.select(budget=budget)
        grids = 1 + sum(trace.locations[look].level < trace.levels for look in looks)
        total = flops["thumbnail"] + len(looks) * flops["look"] + grids * flops["grid"]
        assert total == trace.cost(budget=budget).flops


def test_crops_are_what_the_network_saw(trace: tn.Trace, sent: dict[str, Any]) -> None:
    for look, crop in zip(sent["looks"], trace.crops, strict=True):
        data = base64.b64decode(look["crop"].partition(",")[2])
        shown = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)
        assert shown.shape == crop.shape
        assert np.abs(shown - crop).mean() < 12  # compressed


def test_looks_are_told_in_pixels_of_the_picture(trace: tn.Trace, sent: dict[str, Any]) -> None:
    assert sent["base"] == trace.config.base_resolution == trace.crops[0].shape[0]
    height, width = picture(seed=3).shape[:2]
    for told, look in zip(sent["looks"], trace.locations, strict=True):
        expected = np.multiply(look.box, (width, height, width, height))
        np.testing.assert_allclose(told["native"], expected, atol=0.5)
        x0, y0, x1, y1 = told["native"]
        assert 0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height


def test_names_are_sent_as_they_are_and_the_label_with_them(sent: dict[str, Any]) -> None:
    assert (sent["title"], sent["label"], sent["credit"]) == ("A <b>picture</b>", 2, "photo: me")


def test_sending_and_steering_run_no_backbone(trace: tn.Trace) -> None:
    with BackboneCalls(tiny(trace.config)) as calls:
        chosen = (2, 0)
        known = weights(build_steer_payload(trace, chosen))
    assert calls.batches == []
    assert list(known) == [(), (2,), (0, 2)]
    np.testing.assert_allclose(known[0, 2], trace.weights(subset=(0, 2)), rtol=1e-4)


def test_looks_chosen_by_hand_come_with_their_steps(trace: tn.Trace) -> None:
    sent = json.loads(build_scene_payload(trace, tn.ImageSource.open(picture(seed=3)), PLATE, (1,), plan=(2, 0)))
    assert sent["plan"] == [2, 0]
    assert {(2,), (0, 2)} <= set(weights(sent))


def test_the_page_holds_nothing_that_gradio_would_replace() -> None:
    elements, style = read_elements("explore/template.html"), build_style()
    assert not any(text in elements for text in ("${", "{{", "https://"))
    assert not any(text in style for text in ("</style", "https://"))
