"""Rules that end the looking, and temperatures that change how sure the network appears."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from tnet_core import explain
from tnet_core.__main__ import main
from tnet_core.stopping import compute_probabilities, find_stop


def calibrated(temperature: float, rule: tn.StoppingRule | None = None, config: tn.TNetConfig = TINY) -> tn.TNet:
    model = copy.deepcopy(tiny(config))
    model.calibration = tn.Calibration(temperature)
    model.stopping = rule
    return model


# Temperatures ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    logits=st.lists(st.floats(-30, 30), min_size=1, max_size=12),
    temperature=st.floats(0.05, 20),
)
def test_a_temperature_changes_how_sure_never_which_class(logits: list[float], temperature: float) -> None:
    values = np.array(logits, dtype=np.float32)
    before = values.copy()
    shown = compute_probabilities(values, temperature)
    assert np.array_equal(values, before) and shown.sum() == pytest.approx(1)
    assert shown[values.argmax()] == shown.max()
    higher = values[:, None] > values[None, :]
    assert (shown[:, None] >= shown[None, :])[higher].all()  # the order of the classes stays


def test_a_temperature_changes_probabilities_and_no_other_number_of_a_trace() -> None:
    image = picture(seed=3)
    plain, warm = tn.traverse(tiny(), image, (4,)), tn.traverse(calibrated(0.5), image, (4,))
    for k in range(5):
        np.testing.assert_array_equal(plain.logits(k), warm.logits(k))
        np.testing.assert_array_equal(plain.contributions(1, k=k).values, warm.contributions(1, k=k).values)
        doubled = np.exp(2 * plain.logits(k).astype(np.float64))
        np.testing.assert_allclose(warm.probabilities(k), doubled / doubled.sum(), rtol=1e-6)
    assert (plain.temperature, warm.temperature) == (None, 0.5)
    assert explain.leave_one_out(warm, 1).without == explain.leave_one_out(plain, 1).without  # in logits
    shown = explain.leave_one_out(warm, 1, measure="probability").without
    assert shown[0] == pytest.approx(warm.probabilities(subset=range(4), context=False)[1], abs=1e-6)


@pytest.mark.parametrize("bad", [0.0, 0.01, 21, -1, float("nan"), float("inf"), "1", None, True])
def test_an_impossible_temperature_is_refused(bad: Any) -> None:
    with pytest.raises(tn.TNetError, match=r"temperature is a number in 0.05…20"):
        tn.Calibration(bad)


@pytest.mark.parametrize(
    ("least", "most", "threshold"), [(2, 1, 0.5), (-1, 3, 0.5), (1, 3, 1.5), (1, 3, float("nan")), (1.5, 3, 0.5)]
)
def test_an_impossible_rule_is_refused(least: Any, most: Any, threshold: Any) -> None:
    with pytest.raises(tn.TNetError):
        tn.StoppingRule(least, most, threshold)


# Rules ----------------------------------------------------------------------------------------------


def test_where_and_why_a_rule_stops() -> None:
    rule = tn.StoppingRule(1, 3, 0.8)
    cases = {
        (0.9, 0.85, 0.2, 0.1): (1, "sure"),
        (0.9, 0.8, 0.9, 0.1): (2, "sure"),  # 0.8 does not exceed 0.8
        (0.9, 0.1, 0.2, 0.3, 0.9): (3, "most"),
        (0.9, 0.1, 0.2, 0.9, 0.9): (3, "sure"),
        (0.9, 0.1, 0.2): (2, "budget"),
    }
    for probabilities, expected in cases.items():
        point = find_stop(np.array(probabilities), rule)
        assert (point.looks, point.reason) == expected and point.probability == probabilities[point.looks]
    assert rule.describe() == "at least 1 and at most 3 looks, until a class has more than 80 %"
    assert (
        find_stop(np.array([0.9, 0.85]), rule).describe()
        == "Stopped after 1 look: 85 % is more than the 80 % of the rule."
    )


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(least=st.integers(0, 4), more=st.integers(0, 4), threshold=st.floats(0, 1), temperature=st.floats(0.05, 20))
def test_a_traversal_that_stops_is_the_traversal_with_that_budget(
    least: int, more: int, threshold: float, temperature: float
) -> None:
    rule = tn.StoppingRule(least, least + more, threshold)
    model, image = calibrated(temperature, rule), picture(seed=5)
    with BackboneCalls(model) as calls:
        trace = tn.traverse(model, image, stop=True)
    assert trace.stop is not None and trace.stop.rule == rule
    taken = trace.stop.looks
    assert least <= taken <= least + more and len(trace.locations) == taken and trace.budget == (taken,)
    assert sum(calls.batches) == 1 + taken  # it really did not look any further
    fixed = tn.traverse(model, image, (taken,))
    np.testing.assert_allclose(trace.logits(), fixed.logits(), atol=1e-4)
    whole = tn.traverse(model, image, (least + more,))
    stop = explain.adaptive_stop(whole, rule)
    assert stop.k == taken and stop.reached == (trace.stop.reason == "sure")
    assert trace.stop.probability == pytest.approx(fixed.probabilities().max(), abs=1e-4)
    assert whole.stop is None and whole.recommended == rule


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_a_rule_whose_least_is_its_largest_is_a_fixed_budget(k: int) -> None:
    trace = tn.traverse(tiny(), picture(seed=1), stop=tn.StoppingRule(k, k, 0.0))
    fixed = tn.traverse(tiny(), picture(seed=1), (k,))
    assert [look.path for look in trace.locations] == [look.path for look in fixed.locations]
    np.testing.assert_allclose(trace.logits(), fixed.logits(), atol=1e-4)


def test_steps_end_where_the_rule_says_and_a_forced_look_is_still_possible() -> None:
    rule = tn.StoppingRule(2, 4, 0.0)  # sure of anything, so it stops at the least
    traversal = tn.Traversal(tiny(), picture(seed=1), stop=rule)
    assert traversal.step() is not None and traversal.trace().stop is None  # under way
    assert [traversal.step() is None for _ in range(4)] == [False, False, True, True]
    stop = traversal.trace().stop
    assert stop is not None and (stop.looks, stop.reason) == (2, "sure")
    taken = {look.index for look in traversal.trace().locations}
    traversal.attend(2, next(cell for cell in range(9) if cell not in taken))
    assert len(traversal.trace().locations) == 3


def test_a_budget_limits_a_rule_and_a_rule_limits_a_budget() -> None:
    never = tn.StoppingRule(1, 3, 1.0)
    short = tn.traverse(tiny(), picture(), (2,), stop=never)
    assert short.stop is not None and (short.stop.looks, short.stop.reason) == (2, "budget")
    long = tn.traverse(tiny(), picture(), (9,), stop=never)
    assert long.stop is not None and (long.stop.looks, long.stop.reason) == (3, "most")


def test_what_cannot_stop_says_so() -> None:
    with pytest.raises(tn.TNetError, match="no recommended stopping rule"):
        tn.traverse(tiny(), picture(), stop=True)
    for config, there in ((TINY_3L, "there are 3 levels"), (replace(TINY, levels=1, budget=()), "there is one level")):
        with pytest.raises(tn.TNetError, match=f"for two levels.*{there}"):
            tn.traverse(tiny(config), picture(), stop=tn.StoppingRule(1, 3, 0.5))
    with pytest.raises(tn.TNetError, match="or True for the checkpoint"):
        tn.traverse(tiny(), picture(), stop=0.9)  # type: ignore[arg-type]
    with pytest.raises(tn.TNetError, match="two levels"):
        explain.adaptive_stop(tn.traverse(tiny(TINY_3L), picture(), (2, 1)), tn.StoppingRule(1, 3, 0.5))
    assert tn.traverse(tiny(), picture(), (2,), stop=False).stop is None


def test_a_part_of_a_trace_did_not_stop_by_itself() -> None:
    trace = tn.traverse(tiny(), picture(), stop=tn.StoppingRule(2, 2, 0.5))
    assert trace.stop is not None and trace.only([0]).stop is None


# Files ----------------------------------------------------------------------------------------------


def test_a_checkpoint_keeps_its_temperature_and_its_rule(tmp_path: Path) -> None:
    rule = tn.StoppingRule(1, 3, 0.72)
    model = calibrated(0.7, rule)
    model.calibration = tn.Calibration(0.7, 0.15, 0.04)
    again = tn.load(tn.save(model, tmp_path / "with"))
    assert (again.calibration, again.stopping) == (model.calibration, rule)
    assert tn.optimised(again).stopping == rule and again.config == tiny().config  # no part of the architecture
    card = again.card
    assert isinstance(card, tn.checkpoints.CheckpointCard) and card.stopping == rule
    assert "temperature 0.7, calibration error 15.0 % before and 4.0 % after" in card.text()
    plain = tn.load(tn.save(tiny(), tmp_path / "without"))
    assert (plain.calibration, plain.stopping) == (None, None)
    assert not {"calibration", "stopping"} & set(json.loads((tmp_path / "without" / "config.json").read_text()))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("calibration", {"temperature": 0.01}),
        ("calibration", {"temperature": "1"}),
        ("calibration", {"temperature": 1, "error_after": 2}),
        ("calibration", 7),
        ("stopping", {"least": 1, "most": 3}),
        ("stopping", {"least": 3, "most": 1, "threshold": 0.5}),
        ("stopping", {"least": 1, "most": 300, "threshold": 0.5}),  # more looks than cells
        ("stopping", {"least": 1, "most": 3, "threshold": "high"}),
    ],
)
def test_a_damaged_recommendation_is_refused_in_one_sentence(field: str, value: Any, tmp_path: Path) -> None:
    folder = tn.save(tiny(), tmp_path / "checkpoint")
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | {field: value}))
    with pytest.raises(tn.TNetError, match=f"config.json' cannot be used: .*{field}"):
        tn.load(folder)


def test_rules_of_other_levels_are_not_saved(tmp_path: Path) -> None:
    deep = calibrated(1.0, tn.StoppingRule(1, 2, 0.5), TINY_3L)
    with pytest.raises(tn.TNetError, match="'stopping' that its model cannot follow"):
        tn.save(deep, tmp_path / "deep")


def test_a_trace_tells_in_its_file_where_and_why_it_stopped() -> None:
    model, rule = calibrated(0.7, tn.StoppingRule(1, 3, 0.4)), tn.StoppingRule(1, 2, 0.0)
    trace = tn.traverse(model, picture(), stop=rule)
    again = tn.Trace.from_json(trace.to_json())
    assert (again.stop, again.temperature, again.recommended) == (trace.stop, 0.7, tn.StoppingRule(1, 3, 0.4))
    np.testing.assert_allclose(again.probabilities(), trace.probabilities())
    # one that did not stop, of a checkpoint without a recommendation, is the file of before
    old = tn.traverse(tiny(), picture(), (2,)).to_json()
    assert not {"stop", "temperature", "recommended"} & set(json.loads(old))
    assert tn.Trace.from_json(old).stop is None


@pytest.mark.parametrize(
    ("field", "value"), [("temperature", 0), ("temperature", "1"), ("stop", {"looks": 1}), ("recommended", [1, 3, 0.5])]
)
def test_a_damaged_stop_in_a_trace_is_refused(field: str, value: Any) -> None:
    content = json.loads(tn.traverse(tiny(), picture(), (1,)).to_json())
    with pytest.raises(tn.TNetError, match=f"damaged: .*{field}"):
        tn.Trace.from_json(json.dumps(content | {field: value}))


@pytest.mark.slow
def test_the_command_stops_looking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tn.save(calibrated(1.0, tn.StoppingRule(1, 3, 0.0)), tmp_path / "checkpoint")
    image = tmp_path / "image.png"
    Image.fromarray(picture()).save(image)
    assert main([str(image), "--checkpoint", str(folder), "--stop"]) == 0
    shown = capsys.readouterr().out
    assert "Stopped after 1 look: " in shown and "\n1 looks, " in shown
    assert main([str(image), "--checkpoint", str(folder), "--stop-rule", "2,3,1"]) == 0
    assert "Stopped after 3 looks, the rule's largest number" in capsys.readouterr().out
    assert main([str(image), "--checkpoint", str(folder), "--stop-rule", "2,3"]) == 2
    assert "such as 1,3,0.9" in capsys.readouterr().err
    plain = tn.save(tiny(), tmp_path / "plain")
    assert main([str(image), "--checkpoint", str(plain), "--stop"]) == 2
    assert "no recommended stopping rule" in capsys.readouterr().err
