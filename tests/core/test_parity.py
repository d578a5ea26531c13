"""Outputs of the official implementation, reproduced number for number.

`tests/data/parity` holds what the official code computed with weights and images made by formula.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.parity import model_input
from tests.support.parity_case import CASES, Case, case
from tnet_core.modeling.positional import encode_positions

pytestmark = pytest.mark.slow

TOLERANCE = 1e-3


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", CASES)
def test_test_images_are_the_official_ones(name: str) -> None:
    assert [zlib.crc32(picture.tobytes()) for picture in case(name).images] == case(name).checksums


@pytest.mark.parametrize("name", CASES)
def test_batched_forward_reproduces_every_official_array(name: str) -> None:
    this = case(name)
    probes: list[list[np.ndarray]] = []  # per level: one row per block
    inputs: list[torch.Tensor] = []
    looked: list[tuple[np.ndarray, np.ndarray]] = []  # per level: location map, vector

    def collect_probe(_: torch.nn.Module, __: object, out: torch.Tensor) -> None:
        first = out[0]
        at = first[:6, first.shape[1] // 2, first.shape[2] // 3]
        probes[-1].append(np.array([first.mean(), first.std(correction=0), *at]))

    def start_level(_: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> None:
        inputs.append(args[0])
        probes.append([])

    def end_level(_: torch.nn.Module, __: object, out: tuple[torch.Tensor, torch.Tensor]) -> None:
        looked.append((out[0].numpy(), out[1].numpy()))

    raw: list[np.ndarray] = []
    body = this.model.features.body
    stages = body.blocks if hasattr(body, "blocks") else [body.part2, body.part3, body.part4, body.part5]
    handles = [block.register_forward_hook(collect_probe) for stage in stages for block in stage]
    handles.append(this.model.features.register_forward_pre_hook(start_level))
    handles.append(this.model.features.register_forward_hook(end_level))
    handles.append(this.model.location.register_forward_hook(lambda _, __, out: raw.append(out.numpy())))
    try:
        with torch.inference_mode():
            out = this.model.forward_train(model_input(this.images), this.budget)
    finally:
        for handle in handles:
            handle.remove()

    expected, batch = this.expected, len(this.images)
    features = np.split(
        out.features.numpy(), np.cumsum([level.shape[0] // batch for level in out.feature_logits])[:-1], 1
    )
    for level in range(1, this.levels + 1):
        i = level - 1
        close(inputs[i].permute(0, 2, 3, 1).numpy()[:, ::7, ::7], expected[f"l{level}_in_sub7"])
        close(np.stack(probes[i]), expected[f"l{level}_block_probe"])
        close(looked[i][1], expected[f"l{level}_feat"])
        close(features[i].reshape(-1, features[i].shape[2]), expected[f"l{level}_feat_pos"])
        if level < this.levels:
            close(looked[i][0].transpose(0, 2, 3, 1), expected[f"l{level}_locmap"])
            close(raw[i], expected[f"l{level}_loc_raw"])
            close(out.location_logits[i].numpy(), expected[f"l{level}_loc_logits"])
            close(out.location_logits[i].softmax(1).numpy(), expected[f"l{level}_loc_probs"])
            np.testing.assert_array_equal(out.selected[i].numpy(), expected[f"l{level}_selected_raster"])
            ordered = np.sort(out.location_logits[i].numpy(), axis=1)[:, ::-1]
            k = this.budget[i]
            close(ordered[:, k - 1] - ordered[:, k], expected[f"l{level}_gap_k"])
    if "feat_weights" in expected:
        close(out.weights.numpy(), expected["feat_weights"])
    close(out.representation.numpy(), expected["feat_final"])
    close(out.logits.numpy(), expected["logits"])


@pytest.mark.parametrize("name", CASES)
def test_positional_encoding_is_the_official_one(name: str) -> None:
    this = case(name)
    n = this.model.config.grid
    length = this.model.positional.length
    origin = torch.zeros(len(this.images), 3, dtype=torch.long)
    positions = [origin]
    for level in range(1, this.levels):
        cells = torch.from_numpy(this.expected[f"l{level}_selected_raster"]).long()
        above = positions[-1].repeat_interleave(cells.shape[1], 0)
        flat = cells.flatten()
        positions.append(torch.stack([n * above[:, 0] + flat // n, n * above[:, 1] + flat % n, above[:, 2] + 1], 1))
    for level, position in enumerate(positions, start=1):
        close(encode_positions(position, length).numpy(), this.expected[f"l{level}_posenc"])


# The engine need not convert a second network of the shape of another.
REPETITION = pytest.param("fmow_l2", "openvino", marks=pytest.mark.long)
BY_THE_ENGINE = [(name, "openvino") for name in CASES if name != "fmow_l2"]


@pytest.mark.parametrize(("name", "engine"), [*((name, "torch") for name in CASES), *BY_THE_ENGINE, REPETITION])
def test_traversal_of_one_image_gives_official_cells_boxes_and_logits(
    name: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    this = case(name)
    model = this.model
    if engine == "openvino":
        monkeypatch.delenv("TNET_ENGINE", raising=False)
        model = tn.optimised(model.cpu())
        assert model.features.engine.open(model.features).model is not None
    for number, picture in enumerate(this.images):
        trace = tn.traverse(model, picture, budget=this.budget)
        close(trace.logits(), this.expected["logits"][number])
        for level in range(2, this.levels + 1):
            mine = this.expected[f"l{level}_image_index"] == number
            looks = [look for look in trace.locations if look.level == level]
            # The official code lists looks by parent and cell, both in raster order.
            looks.sort(key=lambda look: look.path)
            assert [list(look.pixels) for look in looks] == this.expected[f"l{level}_box_abs"][mine].tolist()
            above = [(0, 0) if k.parent is None else trace.locations[k.parent].pixels[:2] for k in looks]
            inside = [[k.pixels[0] - y, k.pixels[1] - x, *k.pixels[2:]] for k, (y, x) in zip(looks, above, strict=True)]
            assert inside == this.expected[f"l{level}_box_parent"][mine].tolist()
        first = [look.index for look in trace.locations if look.level == 2]
        assert first == this.expected["l1_topk_by_prob"][number].tolist()
        if "feat_weights" in this.expected:
            raster = sorted(range(len(first)), key=lambda position: first[position])
            weights = trace.weights(subset=raster)
            close(weights, this.expected["feat_weights"][number])


@pytest.mark.parametrize("name", CASES)
def test_training_mode_forward_reproduces_logits_log_probabilities_and_batch_norm(name: str) -> None:
    this = Case(name)  # a fresh model: this changes running statistics
    this.model.train()
    out = this.model.forward_train(model_input(this.images), this.budget)
    close(out.logits.detach().numpy(), this.expected["train_logits"])
    close(out.sequence_log_prob.detach().numpy(), this.expected["train_location_log_probs"][:, 0])
    for level, logits in enumerate(out.feature_logits, start=1):
        close(logits.detach().numpy(), this.expected[f"train_logits_per_feature_l{level}"])
    for level, log_probs in enumerate(out.log_probs, start=2):
        close(log_probs.detach().numpy(), this.expected[f"train_logprob_per_feature_l{level}"][:, 0])
    variables = {v.name: v.key for v in tn.official.official_variables(this.model)}
    state = this.model.state_dict()
    statistics = [key for key in this.expected if key.startswith("train_after_")]
    for key in statistics:
        name_after = key.removeprefix("train_after_").replace(".", "/")
        close(state[variables[name_after]].numpy(), this.expected[key])
    assert statistics or name == "imagenet"  # BagNet-77 has no batch norm
