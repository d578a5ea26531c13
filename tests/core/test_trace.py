"""The trace: prefixes, budgets, subsets, contributions, cost and its file."""

from __future__ import annotations

import io
import itertools
import json
import mmap
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from tnet_core.inference import traversal
from tnet_core.inference.viewer import Viewer
from tnet_core.sampling.frame import Region

UNIFORM = replace(TINY, weighting=False)
UNIFORM_3L = replace(TINY_3L, weighting=False)
ALL = [TINY, TINY_3L, UNIFORM, UNIFORM_3L]


def full_trace(config: tn.TNetConfig = TINY) -> tn.Trace:
    budget = (3, 2) if config.levels == 3 else (6,)
    return tn.traverse(tiny(config), picture(seed=3), budget=budget)


@pytest.mark.parametrize("config", [TINY, UNIFORM])
def test_prefixes_equal_runs_with_smaller_budgets(config: tn.TNetConfig) -> None:
    trace = full_trace(config)
    for k in range(7):
        smaller = tn.traverse(tiny(config), picture(seed=3), budget=(k,))
        np.testing.assert_allclose(trace.logits(k), smaller.logits(), atol=1e-4)
        np.testing.assert_allclose(trace.logits(budget=(k,)), smaller.logits(), atol=1e-4)
        np.testing.assert_allclose(trace.weights(k), smaller.weights(), atol=1e-5)
        assert trace.cost(k).flops == smaller.cost().flops == tn.flops(config, (k,))


@pytest.mark.slow
@pytest.mark.parametrize("config", [TINY_3L, UNIFORM_3L])
def test_smaller_budgets_of_three_levels_are_a_filter_on_the_tree(config: tn.TNetConfig) -> None:
    trace = full_trace(config)
    for budget in itertools.product(range(4), range(3)):
        smaller = tn.traverse(tiny(config), picture(seed=3), budget=budget)
        kept = [trace.locations[p].path for p in trace.select(budget=budget)]
        assert kept == [look.path for look in smaller.locations]
        np.testing.assert_allclose(trace.logits(budget=budget), smaller.logits(), atol=1e-4)
        assert trace.cost(budget=budget).flops == tn.flops(config, budget)
    # … and not a prefix: the first three looks with budget (1, 2) are not the first three of the run.
    assert trace.select(budget=(1, 2)) != trace.select(3)


@pytest.mark.parametrize("config", ALL)
def test_no_question_runs_the_backbone(config: tn.TNetConfig) -> None:
    trace, model = full_trace(config), tiny(config)
    with BackboneCalls(model) as calls:
        for k in range(len(trace.locations) + 1):
            trace.logits(k), trace.weights(k), trace.contributions(0, 1, k=k), trace.cost(k)
        trace.logits(budget=trace.budget)
        trace.logits(subset=[3, 1], context=False)
        tn.explain.leave_one_out(trace, 0)
        tn.explain.shapley_values(trace, 0)
        tn.explain.interactions(trace, 0)
        tn.explain.insertion(trace, 0)
        tn.explain.deletion(trace, 0, context=False)
        tn.explain.adaptive_stop(trace, 0.5)
        tn.Trace.from_json(trace.to_json()).logits(2)
        trace.attach(model).logits(subset=[0, 4])
    assert calls.batches == []
    with BackboneCalls(model) as calls:  # the counter itself does count
        tn.traverse(model, picture())
    assert calls.batches


@pytest.mark.parametrize("config", ALL)
@pytest.mark.parametrize("context", [True, False])
def test_any_subset_equals_the_model_on_those_features(config: tn.TNetConfig, context: bool) -> None:
    trace, model = full_trace(config), tiny(config)
    for subset in ([0], [2, 0], [5, 1, 3], list(range(6))):
        rows = ([0] if context else []) + [p + 1 for p in subset]
        features = torch.from_numpy(trace.features[rows])[None]
        with torch.inference_mode():
            weights = model.weights(features)
            logits = model.classifier((weights[..., None] * features).sum(1))
        np.testing.assert_allclose(trace.logits(subset=subset, context=context), logits[0], atol=1e-4)
        np.testing.assert_allclose(trace.weights(subset=subset, context=context), weights[0], atol=1e-5)


@pytest.mark.parametrize("config", ALL)
def test_contributions_add_up_to_the_logit(config: tn.TNetConfig) -> None:
    trace = full_trace(config)
    for selectors in ({}, {"k": 0}, {"k": 2}, {"subset": [4, 1]}, {"subset": [4], "context": False}):
        logits = trace.logits(**selectors)
        for cls in range(7):
            shares = trace.contributions(cls, **selectors)
            assert shares.values.sum() + shares.bias == pytest.approx(logits[cls], abs=1e-5)
            against = trace.contributions(cls, versus=2, **selectors)
            assert against.total == pytest.approx(float(logits[cls]) - float(logits[2]), abs=1e-5)
            assert len(shares.values) == len(trace.weights(**selectors)) == len(shares.looks)


def test_context_stands_first_and_names_work_as_classes() -> None:
    model = tn.build(TINY)
    model.class_names = tuple("abcdefg")
    trace = tn.traverse(model, picture(), budget=(2,))
    assert trace.contributions("c").looks == (None, 0, 1)
    assert trace.contributions("c", subset=[1], context=False).looks == (1,)
    np.testing.assert_array_equal(trace.contributions("c").values, trace.contributions(2).values)
    assert trace.class_name(2) == "c"
    with pytest.raises(tn.TNetError, match="no class 'z'"):
        trace.contributions("z")


def test_without_weighting_every_look_counts_the_same() -> None:
    np.testing.assert_allclose(full_trace(UNIFORM).weights(), 1 / 7)


@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        ({"k": 7}, "k is 7, but must lie in 0…6"),
        ({"k": -1}, "k is -1"),
        ({"k": 1.5}, "k must be a whole number"),
        ({"subset": [6]}, "is 6, but must lie in 0…5"),
        ({"subset": [1, 1]}, "twice"),
        ({"budget": (1, 1)}, "has 1 entries"),
        ({"budget": (10,)}, "must lie in 0…9"),
        ({"k": 1, "subset": [1]}, "one of k, budget and subset"),
        ({"k": 0, "context": False}, "Nothing is selected"),
    ],
)
def test_bad_selectors_are_refused(selectors: dict, message: str) -> None:
    with pytest.raises(tn.TNetError, match=message):
        full_trace().logits(**selectors)


def test_bad_classes_are_refused() -> None:
    with pytest.raises(tn.TNetError, match="A class is 7"):
        full_trace().contributions(7)


def test_cost_counts_flops_parameters_pixels_area_and_time() -> None:
    trace = full_trace()
    cost = trace.cost()
    assert cost.flops == tn.flops(TINY, (6,)) and cost.parameters == tn.count_parameters(TINY)
    assert cost.pixels_read == sum(trace.pixels_read) == 128 * 128 + 6 * 64 * 64
    assert cost.seconds > 0 and cost.peak_memory > 0
    assert trace.cost(0).coverage == {2: 0.0}
    assert trace.cost(1).coverage[2] == pytest.approx(0.25)
    assert trace.cost(1).seconds < cost.seconds
    assert trace.cost(1).pixels_read == 128 * 128 + 64 * 64
    assert trace.cost(budget=(2,)) == trace.cost(2)


def test_the_times_of_all_looks_add_up_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that moves by a second for each region that is viewed: the machine's load plays no part."""
    seconds = 0
    view = Viewer.view

    def viewing(viewer: Viewer, regions: Sequence[Region], *arguments: Any, **options: Any) -> Any:
        nonlocal seconds
        seconds += len(regions)
        return view(viewer, regions, *arguments, **options)

    monkeypatch.setattr(Viewer, "view", viewing)
    monkeypatch.setattr(traversal, "time", SimpleNamespace(perf_counter=lambda: float(seconds)))
    trace = tn.traverse(tiny(), picture(), budget=(9,))
    assert trace.cost().seconds == pytest.approx(10) and trace.timing.seconds == pytest.approx((1.0,) * 10)


@pytest.mark.slow
def test_peak_memory_includes_what_was_allocated_during_the_run() -> None:
    before: list[int] = []
    held: list[mmap.mmap] = []

    def hungry(grid: tn.Distribution) -> list[int]:
        before.append(resident())
        held.append(take_300_mb())
        return list(range(grid.cells))

    during = tn.traverse(tiny(), picture(), budget=(1,), policy=hungry).cost().peak_memory
    held.pop().close()
    after = tn.traverse(tiny(), picture(), budget=(1,)).cost().peak_memory
    assert during - before[0] > 200 * 2**20 and during - after > 200 * 2**20


def take_300_mb() -> mmap.mmap:
    """Take memory from the system itself: an allocator may have as much lying about from tests before."""
    taken = mmap.mmap(-1, 300 * 2**20)
    for page in range(0, len(taken), mmap.PAGESIZE):
        taken[page] = 1
    return taken


def resident() -> int:
    """Bytes of this process in memory now; the system may take back idle ones at any time."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])  # type: ignore[index]


def test_a_look_costs_what_leads_to_it() -> None:
    trace = full_trace(TINY_3L)
    deep = next(p for p, look in enumerate(trace.locations) if look.level == 3)
    assert trace.cost(subset=[deep]).flops == trace.cost(subset=[trace.locations[deep].parent, deep]).flops
    assert trace.cost(subset=[deep]).flops == tn.flops(TINY_3L, (1, 1))


def test_one_level_scores_no_grid() -> None:
    trace = tn.traverse(tiny(), picture(), levels=1)
    assert trace.distributions == ()
    assert trace.cost().flops == tn.flops(TINY, (), levels=1) < tn.flops(TINY, (0,))


def test_opening_the_image_counts_as_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tn.traverse(tiny(), picture(), budget=(1,)).cost()
    really_open = tn.ImageSource.open
    before: list[int] = []

    def slow_and_large(image: object) -> tn.ImageSource:
        before.append(resident())
        with take_300_mb() as held:
            time.sleep(0.05 * held[0])
        return really_open(image)

    monkeypatch.setattr(tn.ImageSource, "open", staticmethod(slow_and_large))
    cost = tn.traverse(tiny(), picture(), budget=(1,)).cost()
    assert cost.seconds > 0.05 + plain.seconds / 4
    assert cost.peak_memory - before[0] > 200 * 2**20


def test_coverage_is_the_union_of_boxes() -> None:
    trace = full_trace(TINY_3L)
    for level in (2, 3):
        canvas = np.zeros((128, 128), dtype=bool)
        for look in trace.locations:
            if look.level == level:
                x0, y0, x1, y1 = (round(128 * side) for side in look.box)
                canvas[y0:y1, x0:x1] = True
        assert trace.coverage()[level] == pytest.approx(canvas.mean())


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", ALL)
def test_json_gives_back_the_same_trace_without_the_model(config: tn.TNetConfig) -> None:
    trace = full_trace(config)
    text = trace.to_json()
    again = tn.Trace.from_json(text)
    assert again.locations == trace.locations and again.config == trace.config and again.image == trace.image
    for k in range(len(trace.locations) + 1):
        np.testing.assert_array_equal(again.logits(k), trace.logits(k))
        np.testing.assert_array_equal(again.weights(k), trace.weights(k))
    for budget in trace.budgets():
        np.testing.assert_array_equal(again.logits(budget=budget), trace.logits(budget=budget))
    assert again.contributions(1, 2, k=3).total == trace.contributions(1, 2, k=3).total
    assert again.cost() == trace.cost()
    assert again.to_json() == text


def test_json_holds_the_images_hash_and_no_pixels() -> None:
    data = json.loads(full_trace().to_json())
    assert data["image"]["sha256"] == tn.ImageSource.open(picture(seed=3)).sha256
    assert set(data["image"]) == {"sha256", "hashed", "width", "height"}
    with pytest.raises(tn.TNetError, match="holds no pixels"):
        _ = tn.Trace.from_json(json.dumps(data)).crops


def test_other_subsets_need_the_model_back() -> None:
    trace = full_trace()
    again = tn.Trace.from_json(trace.to_json())
    with pytest.raises(tn.TNetError, match="attach"):
        again.logits(subset=[4, 2])
    again.attach(tiny())
    np.testing.assert_allclose(again.logits(subset=[4, 2]), trace.logits(subset=[4, 2]), atol=1e-6)
    assert trace.attach(tiny()).crops  # attaching only a model keeps the crops there are


def test_attaching_the_image_cuts_the_crops_again() -> None:
    for config in (TINY, TINY_3L):
        trace = full_trace(config)
        again = tn.Trace.from_json(trace.to_json()).attach(tiny(config), picture(seed=3))
        np.testing.assert_array_equal(again.thumbnail, trace.thumbnail)
        np.testing.assert_array_equal(np.stack(again.crops), np.stack(trace.crops))


def test_attaching_something_else_is_refused() -> None:
    again = tn.Trace.from_json(full_trace().to_json())
    with pytest.raises(tn.TNetError, match="weights are not the ones"):
        again.attach(tiny(seed=2))
    with pytest.raises(tn.TNetError, match="configuration differs"):
        again.attach(tiny(TINY_3L))
    with pytest.raises(tn.TNetError, match="sha256 differs"):
        again.attach(tiny(), picture(seed=4))
    encoded = io.BytesIO()
    Image.fromarray(picture(seed=4)).save(encoded, "PNG")
    with pytest.raises(tn.TNetError, match="sha256 differs"):
        again.attach(tiny(), encoded.getvalue())
    of_a_file = tn.Trace.from_json(tn.traverse(tiny(), encoded.getvalue()).to_json())
    with pytest.raises(tn.TNetError, match="sha256 of its file"):  # nothing tells which file an array came from
        of_a_file.attach(tiny(), picture(seed=4))
    with pytest.raises(tn.TNetError, match="attach"):  # nothing was half attached
        again.logits(subset=[4, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=2), "version 2, but this program reads version 1"),
        (lambda d: d.update(version=None), "version None"),
        (lambda d: d.update(schema="other"), "not a TNet trace"),
        (lambda d: d.pop("bias"), "damaged"),
        (lambda d: d["bias"].pop(), "damaged: it has a field 'bias' that does not fit"),
        (lambda d: d["projections"].pop(), "damaged: it has a field 'projections' that does not fit"),
        (lambda d: d["locations"][0].update(parent=5), "damaged: it has a field 'locations' that does not fit"),
        (lambda d: d["locations"][0].update(index=99), "damaged: it has a field 'locations' that does not fit"),
        (lambda d: d["features"].update(float32="!!"), "damaged"),
        (lambda d: d.update(locations=7), "damaged"),
        (lambda d: d.update(weights=None), "damaged: it has a field 'weights' that does not fit"),
        (lambda d: d["weights"].pop(), "damaged: it has a field 'weights' that does not fit"),
        (lambda d: d["weights"][1]["weights"].pop(), "damaged: it has a field 'weights' that does not fit"),
        (lambda d: d["weights"][1].update(weights=[3.0, 4.0]), "damaged: it has a field 'weights' that does not fit"),
        (lambda d: d["locations"][0].update(level=2.0), "damaged"),
        (lambda d: d["locations"][0].update(level=3), "damaged: it has a field 'locations' that does not fit"),
        (lambda d: d["locations"][0].update(box=[0, 0, "1", 1]), "damaged"),
        (lambda d: d["locations"][0].update(box=[0.5, 0, 0.2, 1]), "damaged"),
        (lambda d: d["locations"][0].update(lift="high"), "damaged"),
        (lambda d: d["locations"][0].update(path=[1, 2]), "damaged: it has a field 'locations' that does not fit"),
        (
            lambda d: d["distributions"][0].update(probabilities=[[1.0]]),
            "damaged: it has a field 'distributions' that does not fit",
        ),
        (lambda d: d["image"].update(width="wide"), "damaged"),
        (lambda d: d["image"].update(sha256="abc"), "damaged"),
        (lambda d: d.update(budget=[-1]), "damaged: it has a field 'budget' that does not fit"),
        (lambda d: d.update(policy=None), "damaged"),
        (lambda d: d["config"].update(grid=1), "'grid' is 1"),
    ],
)
def test_damaged_or_foreign_files_are_refused(change: object, message: str) -> None:
    data = json.loads(full_trace().to_json())
    change(data)  # type: ignore[operator]
    with pytest.raises(tn.TNetError, match=message):
        tn.Trace.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, b"\xff\xfe\x00"])
def test_text_that_is_no_trace_is_refused(text: str | bytes) -> None:
    with pytest.raises(tn.TNetError):
        tn.Trace.from_json(text)


def test_a_trace_written_by_the_first_release_is_still_read() -> None:
    """tests/data/trace_v1.json was written once and is never rewritten."""
    trace = tn.Trace.from_json((Path(__file__).parents[1] / "data" / "trace_v1.json").read_text())
    assert [look.path for look in trace.locations] == [(0,), (8,), (0, 4), (8, 4)]
    np.testing.assert_allclose(trace.logits(2), [-1.0375, 1.8338, 3.1763, -4.3713, 1.3256, -3.8309, 1.6359], atol=1e-4)
    assert trace.contributions(1, k=3).total == pytest.approx(trace.logits(3)[1], abs=1e-5)
    assert trace.prediction == int(trace.logits().argmax())


@pytest.mark.parametrize("sampling", ["official", "native"])
def test_cell_boxes_are_those_of_looks_taken_there(sampling: tn.Sampling) -> None:
    trace = tn.traverse(tiny(TINY_3L), picture(90, 130, seed=2), sampling=sampling)
    assert {look.level for look in trace.locations} == {2, 3}
    for look in trace.locations:
        boxes = trace.cell_boxes(look.parent)
        assert len(boxes) == TINY_3L.cells
        assert boxes[look.index] == look.box
