from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.support.models import TINY, TINY_3L, tiny
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import TNet, TrainOutput
from training.objective import (
    Terms,
    compute_rewards,
    compute_terms,
    contrast,
    cross_entropy,
    per_feature_cross_entropy,
    per_feature_reinforce,
    reinforce,
    select_l2_parameters,
    sum_of_squares,
    update_baseline,
)
from training.recipes.recipe import LossSection

PLAIN = replace(TINY, location="none", levels=1, budget=(), positional="none", weighting=False,
                location_block=None, location_rows=None)  # fmt: skip
HALF = torch.tensor(0.5)


def output(logits: Tensor, feature_logits: list[Tensor], log_probs: list[Tensor], vectors: Tensor) -> TrainOutput:
    """A traversal of which only what the loss reads is filled in."""
    batch = logits.shape[0]
    sequence = sum((level.view(batch, -1).sum(1) for level in log_probs), logits.new_zeros(batch))
    none = logits.new_zeros(0)
    return TrainOutput(logits, feature_logits, log_probs, sequence, vectors, none, none, none, [], [])


def sure_of(*classes: int, ratio: float = 3.0) -> Tensor:
    """Logits over two classes, `ratio` times likelier for the class given: p = ratio / (1 + ratio)."""
    return torch.tensor([[math.log(ratio) if c == k else 0.0 for k in (0, 1)] for c in classes])


def small_model(dtype: torch.dtype = torch.float32, config: TNetConfig = TINY) -> TNet:
    """A copy that may be changed."""
    return copy.deepcopy(tiny(config)).to(dtype)


def pictures(count: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.rand(count, 3, 128, 128, generator=torch.Generator().manual_seed(5), dtype=dtype) * 2 - 1


def test_a_prediction_earns_one_when_right_and_nothing_when_wrong() -> None:
    labels = torch.tensor([0, 1])
    assert compute_rewards(sure_of(0, 0), labels).tolist() == [1, 0]
    per_look = torch.stack([sure_of(0, 1), sure_of(1, 1)])  # (B, 2 looks, classes)
    assert compute_rewards(per_look, labels).tolist() == [[1, 0], [1, 1]]


def test_cross_entropy_is_the_sum_over_rows_divided_by_the_images() -> None:
    logits, labels = sure_of(0, 0), torch.tensor([0, 1])  # p = 3/4 and 1/4
    expected = -(math.log(0.75) + math.log(0.25))
    assert cross_entropy(logits, labels, images=2).item() == pytest.approx(expected / 2)
    assert cross_entropy(logits, labels, images=1).item() == pytest.approx(expected)


def test_label_smoothing_moves_a_share_of_the_target_to_all_classes() -> None:
    found = cross_entropy(sure_of(0), torch.tensor([0]), 1, smoothing=0.2).item()
    assert found == pytest.approx(-(0.9 * math.log(0.75) + 0.1 * math.log(0.25)))


def test_reinforce_weighs_log_probabilities_by_reward_minus_baseline() -> None:
    log_probs = torch.tensor([-2.0, -3.0])
    assert reinforce(log_probs, torch.tensor([1.0, 0.0]), torch.tensor(0.25), 2).item() == pytest.approx(
        (0.75 * 2 - 0.25 * 3) / 2
    )


def test_per_feature_cross_entropy_counts_the_thumbnail_and_divides_by_all_vectors() -> None:
    vectors = torch.stack([sure_of(0, 0, 1)])  # one image, thumbnail and two looks
    found = per_feature_cross_entropy(vectors, torch.tensor([0]), images=1).item()
    assert found == pytest.approx(-(2 * math.log(0.75) + math.log(0.25)) / 3)


def test_per_feature_reinforce_divides_by_the_looks_alone() -> None:
    log_probs, earned = torch.tensor([[-1.0, -2.0]]), torch.tensor([[1.0, 0.0]])
    assert per_feature_reinforce(log_probs, earned, HALF, 1).item() == pytest.approx((0.5 * 1 - 0.5 * 2) / 2)


def test_contrast_pulls_one_class_together_and_pushes_others_below_the_margin() -> None:
    vectors = torch.tensor([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]])  # cosines 0.6, 0, 0.8
    labels = torch.tensor([7, 7, 1])
    # Ordered pairs: (0, 1) twice 1 - 0.6, (1, 2) twice 0.8 - 0.4; (0, 2) is below the margin, self pairs are 0.
    assert contrast(vectors, labels, margin=0.4).item() == pytest.approx((2 * 0.4 + 2 * 0.4) / 9, abs=1e-6)


def test_contrast_of_a_zero_vector_is_finite() -> None:
    vectors = torch.zeros(2, 4, requires_grad=True)
    value = contrast(vectors, torch.tensor([0, 1]), margin=0.4)
    value.backward()
    assert value.isfinite() and vectors.grad is not None and vectors.grad.isfinite().all()


def test_sum_of_squares_is_not_halved() -> None:
    assert sum_of_squares([torch.tensor([1.0, -2.0]), torch.tensor(3.0)]).item() == 14


def test_the_baseline_follows_a_mix_of_joint_and_per_look_rewards() -> None:
    loss = LossSection(lambda_r=0.3)
    joint, looks = torch.tensor([1.0, 0.0]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    assert update_baseline(HALF, joint, looks, loss).item() == pytest.approx(0.9 * 0.5 + 0.1 * (0.3 * 0.5 + 0.7 * 0.75))
    none = torch.zeros(2, 0)
    assert update_baseline(HALF, torch.ones(2), none, loss).item() == pytest.approx(0.9 * 0.5 + 0.1)


def hand_made() -> tuple[TrainOutput, Tensor]:
    """Two images, two looks each; labels 0 and 1. Right: both joint predictions' first, looks 1, 0 and 0, 1."""
    log_probs = torch.tensor([-1.0, -2.0, -3.0, -4.0])
    out = output(sure_of(0, 0), [sure_of(0, 1), sure_of(0, 1, 0, 1)], [log_probs], torch.eye(2))
    return out, torch.tensor([0, 1])


def test_all_terms_of_a_hand_made_batch() -> None:
    out, labels = hand_made()
    loss = LossSection(lambda_f=0.1, lambda_c=0.3, lambda_r=0.2, contrastive=10, margin=-0.5, l2=0.5)
    terms = compute_terms(out, labels, 0.4, loss, [torch.tensor([2.0])])
    right, wrong = -math.log(0.75), -math.log(0.25)
    assert terms.joint.item() == pytest.approx(0.3 * (right + wrong) / 2)
    assert terms.joint_reinforce.item() == pytest.approx(0.1 * 0.2 * (0.6 * 3 - 0.4 * 7) / 2)
    assert terms.per_feature.item() == pytest.approx(0.7 * (4 * right + 2 * wrong) / (3 * 2))
    looks = 0.6 * 1 - 0.4 * 2 - 0.4 * 3 + 0.6 * 4
    assert terms.per_feature_reinforce.item() == pytest.approx(0.1 * 0.8 * looks / (2 * 2))
    assert terms.l2.item() == pytest.approx(0.5 * 4)
    assert terms.contrastive.item() == pytest.approx(10 * 2 * 0.5 / 4)
    parts = [terms.joint, terms.joint_reinforce, terms.per_feature, terms.per_feature_reinforce]
    assert terms.total.item() == pytest.approx(sum(p.item() for p in [*parts, terms.l2, terms.contrastive]))
    assert terms.reward.item() == 0.5
    assert terms.next_baseline.item() == pytest.approx(0.9 * 0.4 + 0.1 * (0.2 * 0.5 + 0.8 * 0.5))


def test_samples_tile_the_batch_but_not_the_divisor() -> None:
    out, labels = hand_made()
    one = compute_terms(out, labels, 0.5, LossSection())
    twice = output(out.logits.repeat(2, 1), [x.repeat(2, 1) for x in out.feature_logits],
                   [x.repeat(2) for x in out.log_probs], out.representation.repeat(2, 1))  # fmt: skip
    tiled = compute_terms(twice, labels.repeat(2), 0.5, LossSection(samples=2))
    assert tiled.total.item() == pytest.approx(2 * one.total.item(), rel=1e-6)
    assert tiled.next_baseline.item() == pytest.approx(one.next_baseline.item())


def test_with_a_level_cap_only_the_joint_policy_term_sees_deeper_looks() -> None:
    def terms(deepest: float) -> Terms:
        looks = [torch.tensor([-1.0, -2.0]), torch.tensor([deepest, deepest])]
        levels = [sure_of(0), sure_of(0, 1), sure_of(1, 1) * deepest]
        return compute_terms(
            output(sure_of(0), levels, looks, torch.ones(1, 2)),
            torch.tensor([0]),
            0.5,
            LossSection(per_feature_levels=2),
        )

    near, far = terms(-3.0), terms(-5.0)
    assert near.per_feature == far.per_feature
    assert near.per_feature_reinforce == far.per_feature_reinforce
    assert near.next_baseline == far.next_baseline
    # lambda_f lambda_r (R - b) times the two deeper looks' difference of 2 each
    assert far.joint_reinforce.item() - near.joint_reinforce.item() == pytest.approx(0.1 * 0.3 * 0.5 * 4, rel=1e-5)


def test_without_looks_only_the_cross_entropies_remain() -> None:
    model, images, labels = small_model(), pictures(2), torch.tensor([1, 4])
    out = model.forward_train(images, 0)
    terms = compute_terms(out, labels, 0.5, LossSection(contrastive=1.0))
    assert terms.joint_reinforce.item() == 0 and terms.per_feature_reinforce.item() == 0
    alone = cross_entropy(out.logits, labels, 2).item()
    assert terms.joint.item() + terms.per_feature.item() == pytest.approx(alone, rel=1e-5)
    assert terms.total.isfinite() and terms.next_baseline.isfinite()
    terms.total.backward()


@pytest.mark.slow
def test_a_plain_classifier_learns_from_its_cross_entropy_in_full() -> None:
    model, images, labels = small_model(config=PLAIN), pictures(2), torch.tensor([1, 4])
    out = model.forward_train(images)
    loss = LossSection(l2=1e-4, contrastive=2.0, margin=-1.0)
    terms = compute_terms(out, labels, 0.0, loss, select_l2_parameters(model, "all"))
    assert terms.joint.item() == pytest.approx(cross_entropy(out.logits, labels, 2).item())
    assert terms.per_feature.item() == terms.joint_reinforce.item() == terms.per_feature_reinforce.item() == 0
    assert terms.contrastive.item() > 0 and terms.l2.item() > 0
    terms.total.backward()


def test_l2_leaves_batch_norms_out_and_can_leave_the_backbone_out() -> None:
    model = small_model()
    names = {p: name for name, p in model.named_parameters()}
    everything = {names[p] for p in select_l2_parameters(model, "all")}
    assert "features.body.conv_stem.weight" in everything and "classifier.linear.bias" in everything
    assert not any(".bn" in name for name in everything)
    new = {names[p] for p in select_l2_parameters(model, "new")}
    assert new == {name for name in names.values() if not name.startswith("features.")}
    plain = small_model(config=PLAIN)
    assert [p.shape for p in select_l2_parameters(plain, "new")] == [p.shape for p in plain.classifier.parameters()]
    model.features.requires_grad_(False)
    assert {names[p] for p in select_l2_parameters(model, "all")} == new


def test_half_precision_is_widened_before_the_losses() -> None:
    out, labels = hand_made()
    low = replace(
        out,
        logits=out.logits.half(),
        feature_logits=[level.bfloat16() for level in out.feature_logits],
        representation=100 * torch.eye(2).half(),  # its square overflows half precision when summed
    )
    loss = LossSection(contrastive=1.0, margin=0.0)
    terms, exact = compute_terms(low, labels, 0.5, loss), compute_terms(out, labels, 0.5, loss)
    assert terms.total.dtype == torch.float32
    assert terms.total.item() == pytest.approx(exact.total.item(), rel=2e-3)


def test_labels_that_do_not_fit_are_refused() -> None:
    out, labels = hand_made()
    with pytest.raises(TNetError, match="do not fit a batch of 2"):
        compute_terms(out, labels[:1], 0.5, LossSection())
    with pytest.raises(TNetError, match="L2"):
        compute_terms(out, labels, 0.5, LossSection(l2=1e-4))


@pytest.mark.slow
def test_every_term_agrees_with_finite_differences() -> None:
    """In double precision, through everything a term may depend on; rewards stay as they are under so small a step."""
    generator = torch.Generator().manual_seed(2)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    labels = torch.tensor([2, 0, 2])
    loss = LossSection(lambda_f=0.7, contrastive=3.0, margin=0.1, l2=0.3, label_smoothing=0.1)

    def parts(*given: Tensor) -> tuple[Tensor, ...]:
        out = output(given[0], [*given[1:4]], [*given[4:6]], given[6])
        terms = compute_terms(out, labels, 0.3, loss, [given[7]])
        policy = (terms.joint_reinforce, terms.per_feature_reinforce)
        return (terms.joint, terms.per_feature, *policy, terms.l2, terms.contrastive, terms.total)

    levels = [random(3, 4), random(6, 4), random(12, 4)]
    assert torch.autograd.gradcheck(
        parts, (random(3, 4), *levels, random(6), random(12), random(3, 5), random(6)), atol=1e-8, rtol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("config", [TINY, TINY_3L], ids=["two levels", "three levels"])
def test_gradients_of_the_model_agree_with_finite_differences(config: TNetConfig) -> None:
    """For some parameters of every module. Looks stay chosen and rewards stay earned under so small a step.

    The backbone learns nothing from the policy terms, so these are left out where it is differenced.
    Location logits are made in float32, whatever the weights are, so the location module needs a larger step.
    """
    model = small_model(torch.float64, config)
    images, labels = pictures(2, torch.float64), torch.tensor([1, 4])
    loss = LossSection(lambda_f=0.7, contrastive=3.0, margin=-0.9, l2=1e-3, label_smoothing=0.1)
    regularised = select_l2_parameters(model, "all")

    def value(policy: bool) -> Tensor:
        terms = compute_terms(model.forward_train(images), labels, 0.3, loss, regularised)
        return terms.total if policy else terms.total - terms.joint_reinforce - terms.per_feature_reinforce

    value(True).backward()
    for name in ("features.body.conv_stem.weight", "features.body.bn1.bias", "features.body.conv_head.weight",
                 "classifier.linear.weight", "positional.linear.bias", "weighting.dense_1.bias",
                 "weighting.output.weight", "location.init.bias", "location.final.weight",
                 "location.output.weight", "location.coordinates.height_scaling.weight"):  # fmt: skip
        parameter = model.get_parameter(name)
        assert parameter.grad is not None
        at = torch.unravel_index(parameter.grad.abs().argmax(), parameter.shape)
        of_location = name.startswith("location.")
        step, tolerance = (3e-3, 5e-3) if of_location else (1e-5, 1e-5)
        before, sides = parameter[at].item(), []
        with torch.no_grad():
            for sign in (1, -1):
                parameter[at] = before + sign * step
                sides.append(value(policy=of_location).item())
            parameter[at] = before
        slope = (sides[0] - sides[1]) / (2 * step)
        assert parameter.grad[at].item() == pytest.approx(slope, rel=tolerance), name


def test_on_a_two_armed_problem_the_policy_finds_the_informative_cell() -> None:
    """One look, two cells: the right cell shows the label, the other one noise. Sampled looks, REINFORCE alone."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.zeros(2, requires_grad=True)
    optimiser = torch.optim.SGD([scores], lr=2.0)
    baseline: float | Tensor = 0.5
    loss = LossSection(lambda_f=1.0)
    first_gradient = None
    for _ in range(60):
        labels = torch.randint(2, (64,), generator=generator)
        arms = torch.multinomial(scores.detach().softmax(0), 64, replacement=True, generator=generator)
        seen = torch.where(arms == 1, labels, torch.randint(2, (64,), generator=generator))
        logits = 4 * torch.nn.functional.one_hot(seen, 2).float()
        log_probs = scores.log_softmax(0)[arms]
        terms = compute_terms(output(logits, [logits, logits], [log_probs], logits), labels, baseline, loss)
        baseline = terms.next_baseline
        optimiser.zero_grad()
        terms.total.backward()
        if first_gradient is None:
            first_gradient = scores.grad.clone()
        optimiser.step()
    assert first_gradient[1] < 0 < first_gradient[0]  # a step against it raises the informative cell
    assert scores.softmax(0)[1] > 0.95
    assert float(baseline) > 0.9
