from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.support.models import TINY, TINY_3L, tiny
from tnet_core.modeling.location import top_k
from training.objective import compute_overlap, gumbel_top_k, make_selector, select_spread
from training.recipes.recipe import PolicySection

BIRDS = compute_overlap(448, 5, 0.35)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def distributions(grids: int, cells: int = 9, seed: int = 0) -> Tensor:
    return torch.randn(grids, cells, generator=seeded(seed)).softmax(1)


def test_the_official_choice_is_the_default() -> None:
    assert make_selector(PolicySection(), TINY) is top_k


def test_first_looks_are_sampled_with_the_probabilities_of_the_policy() -> None:
    wanted = torch.tensor([0.5, 0.25, 0.15, 0.1])
    cells = gumbel_top_k(wanted.expand(40_000, 4), 1, generator=seeded()).flatten()
    found = cells.bincount(minlength=4) / len(cells)
    torch.testing.assert_close(found, wanted, rtol=0, atol=0.01)  # four standard errors


def test_pairs_are_sampled_one_after_the_other_without_replacement() -> None:
    p = torch.tensor([0.5, 0.25, 0.15, 0.1])
    pairs = gumbel_top_k(p.expand(40_000, 4), 2, generator=seeded())
    for a, b in [(0, 1), (1, 2), (2, 3)]:
        expected = p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b])
        share = ((pairs[:, 0] == a) & (pairs[:, 1] == b)).float().mean()
        assert share.item() == pytest.approx(expected.item(), abs=0.01)


def test_temperature_sharpens_or_flattens_the_sample() -> None:
    p = torch.tensor([0.6, 0.4]).expand(40_000, 2)
    for temperature in (0.25, 4.0):
        sharpened = p[0] ** (1 / temperature)
        share = (gumbel_top_k(p, 1, temperature, seeded()) == 0).float().mean()
        assert share.item() == pytest.approx((sharpened[0] / sharpened.sum()).item(), abs=0.01)


def test_a_seed_repeats_the_sample() -> None:
    choose = make_selector(PolicySection(select="gumbel"), TINY)
    p = distributions(64)
    torch.manual_seed(3)
    first, second = choose(p, 2), choose(p, 2)
    torch.manual_seed(3)
    assert torch.equal(choose(p, 2), first)
    assert not torch.equal(first, second)


def test_cells_without_probability_are_sampled_last() -> None:
    p = torch.tensor([[0.0, 0.5, 0.5, 0.0]]).expand(100, 4)
    assert gumbel_top_k(p, 2, generator=seeded()).tolist() == [[1, 2]] * 100


def test_overlap_is_the_shared_part_of_a_cell() -> None:
    assert BIRDS.shape == (25, 25)
    assert torch.equal(BIRDS, BIRDS.T) and torch.equal(BIRDS.diagonal(), torch.ones(25))
    side = (157 - 73) / 157  # cells of 157 px at a stride of 73
    assert BIRDS[0, 1].item() == pytest.approx(side)  # the cell to the right
    assert BIRDS[0, 5].item() == pytest.approx(side)  # below
    assert BIRDS[0, 6].item() == pytest.approx(side**2)  # diagonal
    assert BIRDS[0, 3] == 0 and BIRDS[0, 4] == 0
    assert BIRDS[0, 2].item() == pytest.approx((157 - 146) / 157)


def test_spread_takes_a_weaker_cell_that_shows_something_new() -> None:
    p = torch.zeros(1, 25)
    p[0, 12], p[0, 13], p[0, 0] = 0.5, 0.3, 0.2
    assert select_spread(p, 2, BIRDS, discount=0.0).tolist() == [[12, 13]]
    assert select_spread(p, 2, BIRDS, discount=1.0).tolist() == [[0, 12]]  # 0.3 (1 - 0.535) < 0.2
    assert select_spread(p, 2, BIRDS, discount=0.5).tolist() == [[12, 13]]  # 0.3 (1 - 0.268) > 0.2


def test_spread_without_discount_is_top_k() -> None:
    p = distributions(50, 25)
    for k in (0, 1, 4, 25):
        assert torch.equal(select_spread(p, k, BIRDS, 0.0), top_k(p, k))


@given(
    k=st.integers(0, 9), seed=st.integers(0, 999), discount=st.floats(0, 1), kind=st.sampled_from(["gumbel", "spread"])
)
def test_any_number_of_looks_are_distinct_cells_in_raster_order(k: int, seed: int, discount: float, kind: str) -> None:
    choose = make_selector(PolicySection(select=kind, discount=discount), TINY)  # type: ignore[arg-type]
    cells = choose(distributions(3, seed=seed), k)
    assert cells.shape == (3, k) and cells.dtype == torch.int64
    assert all(row == sorted(set(row)) and set(row) <= set(range(9)) for row in cells.tolist())


@pytest.mark.parametrize("kind", ["gumbel", "spread"])
@pytest.mark.parametrize("config", [TINY, TINY_3L], ids=["two levels", "three levels"])
def test_a_model_trains_on_the_chosen_looks(kind: str, config: object) -> None:
    model = tiny(config)  # type: ignore[arg-type]
    policy = replace(PolicySection(), select=kind)
    images = torch.rand(2, 3, 128, 128, generator=seeded()) * 2 - 1
    torch.manual_seed(0)
    out = model.forward_train(images, select=make_selector(policy, model.config))
    for logits, cells, log_probs in zip(out.location_logits, out.selected, out.log_probs, strict=True):
        expected = logits.log_softmax(1).gather(1, cells).flatten()
        torch.testing.assert_close(log_probs, expected)
