from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny
from tnet_core.errors import TNetError
from training.policy.bank import MANIFEST_FILE, FeatureBank, make_bank
from training.policy.targets import compute_worth, value_cells

pytestmark = pytest.mark.slow

COUNT = 5


def pictures() -> list[np.ndarray]:
    return [picture(seed=seed) for seed in range(COUNT)]


def batches(size: int = 2) -> Iterator[tuple[Tensor, Tensor]]:
    images = torch.from_numpy(np.stack(pictures()).astype(np.float32) / 127.5 - 1).permute(0, 3, 1, 2)
    yield from zip(images.split(size), torch.arange(COUNT).split(size), strict=True)


def bank(model: tn.TNet, folder: Path | None = None, **options: object) -> FeatureBank:
    return make_bank(model, batches(), COUNT, folder=folder, quiet=True, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("weighting", [True, False])
def test_values_are_what_a_traversal_of_those_looks_gives(weighting: bool) -> None:
    model = tiny(replace(TINY, weighting=weighting))
    looked = bank(model).rows(slice(None))
    first = value_cells(model, looked.features, looked.labels)
    taken = torch.tensor([[4], [0], [8], [2], [7]])
    second = value_cells(model, looked.features, looked.labels, taken)
    for number, image in enumerate(pictures()):
        for cell in (0, 3, 8):
            for values, looks in [(first, {cell}), (second, {cell, int(taken[number])})]:
                logits = torch.from_numpy(tn.traverse(model, image, budget=len(looks), policy=sorted(looks)).logits())
                expected = logits.log_softmax(0)[number]
                assert values[number, cell].item() == pytest.approx(expected.item(), abs=0.02)  # half precision


def test_a_look_taken_twice_is_worth_nothing_more() -> None:
    model = tiny(TINY)
    looked = bank(model).rows(slice(None))
    first = value_cells(model, looked.features, looked.labels)
    again = value_cells(model, looked.features, looked.labels, torch.full((COUNT, 1), 6))
    torch.testing.assert_close(again[:, 6], first[:, 6])


def test_rows_hold_what_the_location_module_reads() -> None:
    model = tiny(TINY)
    looked = bank(model).rows(torch.tensor([3, 1]))
    assert looked.labels.tolist() == [3, 1]
    logits = model.location(looked.maps, looked.vectors)
    ranked = logits.argsort(dim=1, descending=True)[:, 0].tolist()
    assert ranked == [tn.traverse(model, pictures()[i], budget=1).locations[0].index for i in (3, 1)]


def test_odds_do_not_level_off_where_likelihoods_do() -> None:
    logits = torch.tensor([[[30.0, 0.0, 0.0], [40.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    labels = torch.tensor([0])
    sure, surer, _ = compute_worth(logits, labels)[0].tolist()
    assert surer - sure < 1e-6
    odds = compute_worth(logits, labels, "odds")[0]
    assert (odds[1] - odds[0]).item() == pytest.approx(10)
    p = logits[0, 2].softmax(0)[0]
    assert odds[2].item() == pytest.approx((p / (1 - p)).log().item(), rel=1e-5)


def test_probabilities_serve_as_labels_where_there_are_none() -> None:
    logits = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    wanted = torch.tensor([[0.25, 0.75]])
    expected = (logits.log_softmax(2) * wanted[:, None]).sum(2)
    torch.testing.assert_close(compute_worth(logits, wanted), expected)
    with pytest.raises(TNetError, match="Odds"):
        compute_worth(logits, wanted, "odds")


def test_a_bank_in_a_folder_is_made_once_and_then_opened(tmp_path: Path) -> None:
    model = tiny(TINY)
    in_memory, kept = bank(model), bank(model, tmp_path / "bank")
    with BackboneCalls(model) as calls:
        opened = bank(model, tmp_path / "bank")
    assert calls.batches == []
    for name in ("features", "maps", "vectors", "labels"):
        assert np.array_equal(getattr(in_memory, name), getattr(kept, name))
        assert isinstance(getattr(opened, name), np.memmap)
        assert np.array_equal(getattr(in_memory, name), getattr(opened, name))
    assert opened.features.dtype == np.float16


def test_a_bank_serves_other_policies_but_no_other_weights_or_data(tmp_path: Path) -> None:
    model = copy.deepcopy(tiny(TINY))
    folder = tmp_path / "bank"
    bank(model, folder, identity={"name": "birds"})
    with torch.no_grad():
        model.location.output.weight.add_(1)
    bank(model, folder, identity={"name": "birds"})
    with pytest.raises(TNetError, match="other data"):
        bank(model, folder, identity={"name": "trees"})
    with torch.no_grad():
        model.classifier.linear.bias.add_(1)
    with pytest.raises(TNetError, match="other weights"):
        bank(model, folder, identity={"name": "birds"})


def test_an_unfinished_bank_is_made_again_and_a_damaged_one_refused(tmp_path: Path) -> None:
    model, folder = tiny(TINY), tmp_path / "bank"

    def interrupted() -> Iterator[tuple[Tensor, Tensor]]:
        yield next(batches())
        raise TNetError("The image 'x' cannot be read.")

    with pytest.raises(TNetError, match="cannot be read"):
        make_bank(model, interrupted(), COUNT, folder=folder, quiet=True)
    assert not (folder / MANIFEST_FILE).exists()
    assert len(bank(model, folder)) == COUNT
    whole = (folder / "maps.npy").read_bytes()
    (folder / "maps.npy").write_bytes(whole[:200])
    with pytest.raises(TNetError, match="damaged"):
        bank(model, folder)
    (folder / MANIFEST_FILE).write_text(json.dumps([1]))
    with pytest.raises(TNetError, match="another version"):
        bank(model, folder)


def test_what_no_bank_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TNetError, match="two levels; this one has 3"):
        bank(tiny(TINY_3L))
    with pytest.raises(TNetError, match="7 images was announced, but 5 came"):
        make_bank(tiny(TINY), batches(), 7, quiet=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(TNetError, match="Cannot write"):
        bank(tiny(TINY), tmp_path / "file" / "bank")
    broken = copy.deepcopy(tiny(TINY))
    with torch.no_grad():
        broken.positional.linear.bias.fill_(1e6)
    with pytest.raises(TNetError, match="half precision"):
        bank(broken)


def test_making_a_bank_leaves_modes_and_hooks_as_they_were() -> None:
    model = copy.deepcopy(tiny(TINY)).train()
    model.features.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    bank(model)
    assert model.training and not model.features.training
    assert not model.location._forward_pre_hooks
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
