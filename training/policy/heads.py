"""Train the modules beside a backbone that stays as it is, on a feature bank.

*Heads* are classifier, positional and weighting modules: new classes. For every image of a step some sets of looks are
drawn and predict together; the thumbnail and some looks also predict alone, as in the paper's per-feature terms
(`loss.lambda_c` is the share of the joint prediction).

*Aggregation* is positional and weighting modules alone, under a classifier that stays too: a few looks together learn
to say what the target says.

Positions start without effect and weights as a plain average. A pretrained classifier knows only the features of its
own backbone, so what positions add is held close to nothing in units of each feature's spread.

*A bias towards the centre* is for a location module that knows already what cells are worth. Photographers put what
matters into the middle; displaced views say far more about where to look than photographs as they are, so a policy that
learned from both follows content and has forgotten this. Its scores of every picture get a bias in units of their own
spread, and the module learns to say the sum by itself: nothing but its weights changes, and a cell far from the centre
is still looked at first where it stands out enough.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from tnet_core.errors import TNetError
from tnet_core.modeling.location import normalise_logits
from tnet_core.modeling.tnet import TNet
from training.engine.optimiser import compute_rate_factor, make_optimiser, set_rates
from training.engine.warm_start import set_even_weights
from training.evaluation.features import weigh_subsets
from training.evaluation.plan import rank_cells
from training.evaluation.policies import compute_centre_scores
from training.policy.bank import BankRows, FeatureBank, compute_positional_shift, measure_spread
from training.policy.targets import compute_worth
from training.recipes.recipe import HeadsSection, LossSection, OptimSection


@dataclass(frozen=True)
class AggregationOptions:
    epochs: float = 10.0
    batch_size: int = 64  # images per step
    sets: int = 8  # of looks per image and step, drawn at random
    most: int = 10  # looks in a set: 0 … most, equally often
    closeness: float = 30.0  # weight of the squared shift by positions, in units of each feature's spread
    lr: float = 1e-3
    weight_decay: float = 0.05


@torch.no_grad()
def reset_heads(model: TNet) -> None:
    """Make positions add nothing and looks count the same, as a bank for `train_heads` needs it."""
    assert model.positional is not None
    model.positional.linear.weight.zero_()
    model.positional.linear.bias.zero_()
    set_even_weights(model)


def train_heads(
    model: TNet,
    bank: FeatureBank,  # made after `reset_heads`
    options: HeadsSection,
    loss: LossSection,
    seed: int,
    scores: Tensor | None = None,  # (rows, n * n) of a policy to draw looks from; None: evenly
    *,
    quiet: bool,
) -> None:
    """Change those three modules alone."""
    assert model.positional is not None and model.weighting is not None
    optim = OptimSection(
        method="adamw", lr=options.lr, weight_decay=options.weight_decay, schedule="cosine", warmup=0.05
    )  # fmt: skip
    spread = measure_spread(bank).to(model.device)
    torch.manual_seed(seed)

    def compute_loss(looked: BankRows, rows: Tensor) -> Tensor:
        shift = compute_positional_shift(model)
        preferred = torch.zeros(len(rows), model.config.cells) if scores is None else scores[rows]
        features = F.dropout(looked.features + shift, options.dropout)
        total = compute_heads_loss(model, features, looked.labels, preferred.to(model.device), options, loss)
        return total + options.closeness * (shift / spread).square().mean()

    modules = (model.classifier, model.positional, model.weighting)
    _train_modules("heads", model, modules, bank, options, optim, seed, compute_loss, quiet=quiet)


def train_aggregation(model: TNet, bank: FeatureBank, options: AggregationOptions, seed: int, *, quiet: bool) -> None:
    """Change positional and weighting modules alone. The bank must have been made before positions added anything."""
    assert model.positional is not None and model.weighting is not None
    optim = OptimSection(
        method="adamw", lr=options.lr, weight_decay=options.weight_decay, schedule="cosine", warmup=0.1
    )  # fmt: skip
    spread = measure_spread(bank).to(model.device)
    generator = torch.Generator().manual_seed(seed)

    def compute_loss(looked: BankRows, rows: Tensor) -> Tensor:
        shift = compute_positional_shift(model)
        masks = _draw_sets(len(rows), model.config.cells, options, generator).to(model.device)
        features = looked.features + shift
        # averaged before the classifier: fewer sets than looks, so fewer vectors to classify
        logits = model.classifier(weigh_subsets(model, features, masks) @ features)
        return -compute_worth(logits, looked.labels).mean() + options.closeness * (shift / spread).square().mean()

    modules = (model.positional, model.weighting)
    _train_modules("aggregation", model, modules, bank, options, optim, seed, compute_loss, quiet=quiet)


def _train_modules(
    name: str,
    model: TNet,
    modules: Sequence[nn.Module],
    bank: FeatureBank,
    options: HeadsSection | AggregationOptions,
    optim: OptimSection,
    seed: int,
    compute_loss: Callable[[BankRows, Tensor], Tensor],  # of some rows of the bank, and their numbers
    *,
    quiet: bool,
) -> None:
    """Change these modules of the model alone; every epoch has its own order of the rows."""
    model.eval().requires_grad_(False)
    for module in modules:
        module.requires_grad_(True)
    optimiser = make_optimiser(model, optim)
    per_epoch = -(-len(bank) // options.batch_size)
    steps = max(1, round(options.epochs * per_epoch))
    bar = tqdm(range(steps), desc=name, unit="step", disable=quiet, file=sys.stderr)
    for step in bar:
        epoch, position = divmod(step, per_epoch)
        order = np.random.default_rng([seed, epoch]).permutation(len(bank))
        rows = torch.from_numpy(order[position * options.batch_size : (position + 1) * options.batch_size])
        set_rates(optimiser, compute_rate_factor(optim, step, steps))
        loss = compute_loss(bank.rows(rows, model.device), rows)
        optimiser.zero_grad()
        loss.backward()
        if not bool(torch.isfinite(loss)):
            raise TNetError(f"The loss of the {name} is not a number any more at step {step + 1}; use a smaller rate.")
        optimiser.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    model.requires_grad_(False)


def compute_heads_loss(
    model: TNet, features: Tensor, labels: Tensor, preferred: Tensor, options: HeadsSection, loss: LossSection
) -> Tensor:
    """Return the cross-entropy of sets of looks together and of looks alone.

    V' (B, 1 + n * n, D), labels (B,), scores of the cells to draw looks by (B, n * n) -> scalar. Alone, the
    thumbnail counts as much as all drawn looks of an image together.
    """
    batch, cells = preferred.shape
    sizes = torch.randint(0, min(options.most, cells) + 1, (batch * options.sets,), device=features.device)
    taken = draw_looks(preferred.repeat_interleave(options.sets, 0), sizes).view(batch, options.sets, cells)
    masks = torch.cat([torch.ones_like(taken[:, :, :1]), taken], dim=2)
    joint = model.classifier.linear(weigh_subsets(model, features, masks) @ features)
    together = _compute_cross_entropy(joint, labels, loss.label_smoothing).mean()
    alone = _compute_cross_entropy(model.classifier.linear(features[:, :1]), labels, loss.label_smoothing).mean()
    count = min(options.alone, cells)
    if count:
        drawn = draw_looks(preferred, torch.full((batch,), count, device=features.device))
        single = features[:, 1:][drawn].view(batch, count, -1)
        looks = _compute_cross_entropy(model.classifier.linear(single), labels, loss.label_smoothing).mean()
        alone = (alone + looks) / 2
    return loss.lambda_c * together + (1 - loss.lambda_c) * alone


def draw_looks(scores: Tensor, sizes: Tensor) -> Tensor:
    """Draw `sizes` (B,) distinct cells per row from the softmax of the scores (B, n * n): (B, n * n) bool."""
    uniform = torch.rand_like(scores).clamp(1e-9, 1 - 1e-7)
    return rank_cells(scores - (-uniform.log()).log()) < sizes[:, None]


def _compute_cross_entropy(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Return that of logits (B, S, classes) against labels (B,): (B * S,)."""
    every = labels.repeat_interleave(logits.shape[1], dim=0)
    return F.cross_entropy(logits.flatten(0, 1), every, label_smoothing=smoothing, reduction="none")


def _draw_sets(count: int, cells: int, options: AggregationOptions, generator: torch.Generator) -> Tensor:
    """Return sets of looks with the thumbnail: (B, sets, 1 + n * n) bool."""
    scores = torch.rand((count * options.sets, cells), generator=generator)
    sizes = torch.randint(0, min(options.most, cells) + 1, (count * options.sets, 1), generator=generator)
    taken = (rank_cells(scores) < sizes).view(count, options.sets, cells)
    return torch.cat([torch.ones((count, options.sets, 1), dtype=torch.bool), taken], dim=2)


# A bias towards the centre ------------------------------------------------------------------------------

_CENTRE_BATCH = 128
_CENTRE_RATE = 1e-3


def compute_centre_bias(grid: int) -> Tensor:
    """Return a bias that falls evenly from one distance from the centre to the next: (n * n,), mean 0, spread 1."""
    ranks = np.unique(compute_centre_scores(grid), return_inverse=True)[1].astype(np.float32)
    return torch.from_numpy((ranks - ranks.mean()) / ranks.std())


def lean_to_centre(model: TNet, bank: FeatureBank, strength: float, *, epochs: int = 6, seed: int = 0) -> None:
    """Add `strength` times the bias to the scores of every picture, in units of their spread, by learning them."""
    assert model.location is not None
    teacher, student = copy.deepcopy(model.location), model.location.requires_grad_(True)
    bias = strength * compute_centre_bias(model.config.grid).to(model.device)
    optimiser = torch.optim.AdamW(student.parameters(), _CENTRE_RATE)
    steps = epochs * -(-len(bank) // _CENTRE_BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    order = np.random.default_rng(seed)
    for _ in range(epochs):
        for rows in np.array_split(order.permutation(len(bank)), -(-len(bank) // _CENTRE_BATCH)):
            maps, vectors = (
                torch.from_numpy(np.array(values[np.sort(rows)], np.float32)).to(model.device)
                for values in (bank.maps, bank.vectors)
            )
            with torch.no_grad():
                known = teacher(maps, vectors)
                target = normalise_logits(known + known.std(1, keepdim=True) * bias)
            loss = 1 - F.cosine_similarity(normalise_logits(student(maps, vectors)), target).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    model.requires_grad_(False)
