"""One batch of images to numbers per image; everything reported later is computed from these.

| name | per image | |
|---|---|---|
| `index`, `label`, `name`, `crc` | | place in the data set, class, name and its crc32 |
| `top1/P`, `top5/P`, `likelihood/P` | (S,) | of policy P at each budget; `random` is the mean of its draws |
| `confidence` | (S,) | highest probability, learned policy |
| `prediction`, `surety` | (S,) | the predicted class and its probability, calibrated where the model is |
| `stop/probability`, `stop/margin`, `stop/right` | (T,) | after the first 0 … T - 1 looks, learned policy |
| `stop/logits`, `stop/prediction` | (S', classes), (S',) | at the budgets of `choose_calibrated` |
| `cells` | (K,) | learned ranking of the first grid |
| `probability` | (n * n,) | of its cells |
| `inner` | (depths - 1, n * n) | looks taken at each cell of the grids below, at the budget of training |
| `area/P` | (K, 3) | precision, recall and coverage after 1 … K looks at the second level |
| `follow/M` | (8,) | what the first grid does under move M, see `equivariance` |

Precision, recall and coverage are the paper's. With S_att the pixels inside any attended region and S_box those inside
any annotated box: precision |S_att ∩ S_box| / |S_att|, recall |S_att ∩ S_box| / |S_box|, coverage |S_att| / |image|.
Areas are exact unions; an image without a box counts for coverage only.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tnet_core.modeling.tnet import TNet
from tnet_core.records import Box, union_area
from training.evaluation.equivariance import measure_moves
from training.evaluation.features import Looks, Ranker, classify_subsets, find_hits, look_at, rank_as_learned
from training.evaluation.plan import Plan
from training.evaluation.policies import Oracle, Surest, make_centre_ranker, make_fixed_ranker, make_random_ranker
from training.evaluation.stream import Batch

Results = dict[str, np.ndarray]
LOOKS_ONLY = "without_context"  # the learned policy, the thumbnail left out of the average
MAX_RULE_LOOKS = 3  # looks: the largest number that a recommended stopping rule takes


@dataclass(frozen=True)
class Measurer:
    model: TNet
    plan: Plan
    seed: int
    draws: int
    means: list[np.ndarray]  # mean location probability per depth; empty if the policy is not asked for

    def __call__(self, batch: Batch) -> Results:
        looks = look_at(self.model, batch, self.plan.tree)
        crc = [zlib.crc32(name.encode()) for name in batch.names]
        found: Results = {
            "index": np.array(batch.indices, dtype=np.int64),
            "label": batch.labels.numpy().astype(np.int64),
            "name": np.array(batch.names, dtype=np.str_),
            "crc": np.array(crc, dtype=np.uint32),
        }
        ranks = looks.rank(rank_as_learned)
        masks = looks.tree.make_masks(ranks, self.plan.budgets)
        found |= self._score("learned", looks, masks, batch)
        found |= self._keep_logits(looks, ranks)
        if self.model.config.is_baseline:
            return found
        found |= self._score_without_context(looks, masks, batch)
        found |= self._measure_stopping(looks, ranks, batch)
        found |= self._measure_heat(looks, ranks)
        if self.plan.equivariance:
            found |= measure_moves(self.model, batch, looks.logits[0][:, 0])
        for name in self.plan.policies:
            if name != "learned":
                found |= self._compare(name, looks, batch)
        return found

    # Policies ----------------------------------------------------------------------------------

    def _compare(self, name: str, looks: Looks, batch: Batch) -> Results:
        if name in ("surest", "oracle"):
            chooser = Surest(self.model, looks) if name == "surest" else Oracle(self.model, looks, batch.labels)
            return self._score(name, looks, chooser.make_masks(self.plan.budgets), batch)
        if name == "centre":
            return self._measure_ranker(name, make_centre_ranker(self.model.config.grid), looks, batch)
        if name == "mean":
            return self._measure_ranker(name, make_fixed_ranker(self.means), looks, batch)
        draws = [
            self._measure_ranker(name, make_random_ranker(self.seed, draw), looks, batch) for draw in range(self.draws)
        ]
        return {key: np.stack([draw[key] for draw in draws]).mean(0, dtype=np.float32) for key in draws[0]}

    def _measure_ranker(self, name: str, ranker: Ranker, looks: Looks, batch: Batch) -> Results:
        if not self.plan.is_whole:
            looks = look_at(self.model, batch, self.plan.tree, ranker)
        return self._score(name, looks, looks.tree.make_masks(looks.rank(ranker), self.plan.budgets), batch)

    def _score(self, name: str, looks: Looks, masks: Tensor, batch: Batch) -> Results:
        logits = classify_subsets(self.model, looks.features, looks.projections, masks)
        labels = batch.labels.to(logits.device)
        right = find_hits(logits, labels).cpu().numpy()
        chances = logits.double().log_softmax(2)
        own = chances.gather(2, labels.view(-1, 1, 1).expand(-1, masks.shape[1], 1)).squeeze(2)
        found = {
            f"top1/{name}": right[:, :, 0],
            f"top5/{name}": right[:, :, 1],
            f"likelihood/{name}": own.float().cpu().numpy(),
        }
        if name == "learned":
            found["confidence"] = chances.amax(2).exp().float().cpu().numpy()
            found["prediction"] = logits.argmax(2).cpu().numpy().astype(np.int32)
            calibration = self.model.calibration
            temperature = 1.0 if calibration is None else calibration.temperature
            found["surety"] = (logits.double() / temperature).softmax(2).amax(2).float().cpu().numpy()
        if not self.model.config.is_baseline:
            found[f"area/{name}"] = self._measure_areas(looks, masks, batch)
        return found

    def _score_without_context(self, looks: Looks, masks: Tensor, batch: Batch) -> Results:
        """Score looks without the thumbnail; budgets without a look count as wrong and are reported as null."""
        some = masks[:, :, 1:].any(2)[0]
        alone = masks.clone()
        alone[:, some, 0] = False
        found = self._score(LOOKS_ONLY, looks, alone, batch)
        del found[f"area/{LOOKS_ONLY}"]
        for values in found.values():
            values[:, ~some.cpu().numpy()] = 0
        return found

    # What the learned policy does -----------------------------------------------------------------

    def _measure_stopping(self, looks: Looks, ranks: Tensor, batch: Batch) -> Results:
        budget = choose_stopping_budget(self.plan)
        order = looks.tree.compute_order(ranks, budget)  # (B, N - 1)
        count = int((order < looks.tree.nodes).sum(1)[0])
        steps = torch.arange(count + 1, device=order.device).view(1, -1, 1)
        masks = torch.cat([torch.ones_like(steps.expand(len(order), -1, 1)) > 0, order.unsqueeze(1) < steps], dim=2)
        logits = classify_subsets(self.model, looks.features, looks.projections, masks).double()
        best = logits.softmax(2).topk(min(2, logits.shape[2]), dim=2).values
        margin = best[:, :, 0] - (best[:, :, 1] if best.shape[2] > 1 else 0.0)
        return {
            "stop/probability": best[:, :, 0].float().cpu().numpy(),
            "stop/margin": margin.float().cpu().numpy(),
            "stop/right": (logits.argmax(2).cpu() == batch.labels.view(-1, 1)).numpy(),
        }

    def _keep_logits(self, looks: Looks, ranks: Tensor) -> Results:
        """Keep what temperatures and stopping rules are chosen from: logits relative to the highest."""
        masks = looks.tree.make_masks(ranks, choose_calibrated(self.plan))
        logits = classify_subsets(self.model, looks.features, looks.projections, masks)
        relative = logits - logits.amax(2, keepdim=True)  # half precision is exact enough near 0, where it matters
        return {
            "stop/logits": relative.clamp(min=-60_000).cpu().numpy().astype(np.float16),
            "stop/prediction": logits.argmax(2).cpu().numpy().astype(np.int32),
        }

    def _measure_heat(self, looks: Looks, ranks: Tensor) -> Results:
        first = looks.logits[0][:, 0]
        order = first.argsort(dim=1, descending=True, stable=True)
        taken = looks.tree.make_masks(ranks, [self.plan.trained])[:, 0, 1:].split(looks.tree.counts, dim=1)
        inner = torch.zeros((len(first), len(looks.cells) - 1, first.shape[1]), dtype=torch.int64, device=first.device)
        for depth in range(1, len(looks.cells)):
            inner[:, depth - 1].scatter_add_(1, looks.cells[depth].flatten(1), taken[depth].long())
        most = max(budget[0] for budget in self.plan.budgets)
        return {
            "cells": order[:, :most].cpu().numpy().astype(np.int16),
            "probability": first.softmax(1).float().cpu().numpy(),
            "inner": inner.cpu().numpy().astype(np.int32),
        }

    def _measure_areas(self, looks: Looks, masks: Tensor, batch: Batch) -> np.ndarray:
        """Return precision, recall and coverage for each number of looks at the second level: (B, K, 3)."""
        rows = find_second_level(self.plan)
        chosen = masks[:, rows][:, :, 1 : 1 + looks.tree.widths[0]].cpu().numpy()  # (B, K, width)
        areas = np.zeros((batch.size, len(rows), 3), dtype=np.float32)
        for image, (places, boxes) in enumerate(zip(looks.boxes, batch.boxes, strict=True)):
            for k, taken in enumerate(chosen[image]):
                areas[image, k] = measure_attention([places[cell] for cell in np.flatnonzero(taken)], boxes)
        return areas


def find_second_level(plan: Plan) -> list[int]:
    """Return where among the budgets to find 1, 2, … looks at the second level (with all looks below)."""
    most = plan.budgets[-1]
    return [plan.budgets.index((k, *most[1:])) for k in range(1, most[0] + 1)]


def choose_stopping_budget(plan: Plan) -> tuple[int, ...]:
    """Return all looks of two levels; of more levels those of training, as there the order depends on the budget."""
    return plan.budgets[-1] if len(plan.trained) == 1 else plan.trained


def choose_calibrated(plan: Plan) -> list[tuple[int, ...]]:
    """Return the budgets whose probabilities are calibrated: no look to three, or that of training below two levels."""
    if len(plan.trained) != 1:
        return [plan.trained]
    return [(k,) for k in range(min(MAX_RULE_LOOKS, plan.budgets[-1][0]) + 1)]


def measure_attention(looks: Sequence[Box], boxes: np.ndarray) -> tuple[float, float, float]:
    """Return precision, recall and coverage of a set of looks; NaN where undefined. Boxes (n, 4), normalised."""
    attended = [box for box in looks if box[2] > box[0] and box[3] > box[1]]
    inside = [_clip_box(box) for box in np.asarray(boxes, dtype=np.float64).reshape(-1, 4).tolist()]
    objects = [box for box in inside if box[2] > box[0] and box[3] > box[1]]
    area, object_area = union_area(attended), union_area(objects)
    both = area + object_area - union_area([*attended, *objects])
    precision = both / area if area > 0 and object_area > 0 else float("nan")
    recall = both / object_area if object_area > 0 else float("nan")
    return precision, recall, area


def _clip_box(box: Sequence[float]) -> Box:
    x0, y0, x1, y1 = (min(max(float(value), 0.0), 1.0) for value in box)
    return x0, y0, x1, y1
