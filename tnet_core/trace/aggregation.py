"""Re-aggregation: any subset of cached feature vectors to weights and logits, without a backbone.

The decision is exactly additive, logits = bias + sum_i w_i (W v'_i), so the class projections of
every look are computed once and each subset costs a few small matrix products.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch

from tnet_core.errors import TNetError
from tnet_core.modeling.weighting import FeatureWeightingModule

_CHUNK = 1024  # subsets weighed at once
NOT_FINITE = "The model produced values that are not finite: its weights are damaged."


class Aggregator:
    """Feature vectors of one image (thumbnail first) and how to average them.

    `weighting` is the model's module; without it weights come from `table` (a trace read from a
    file) or are uniform (`uniform=True`).
    """

    def __init__(
        self,
        features: np.ndarray,  # (N, D) float32
        projections: np.ndarray,  # (N, classes) float32, without bias
        bias: np.ndarray,  # (classes,) float32
        *,
        uniform: bool,
        weighting: FeatureWeightingModule | None = None,
        table: Mapping[tuple[int, ...], np.ndarray] | None = None,
    ) -> None:
        self.features = features
        self.projections = projections
        self.bias = bias
        self.uniform = uniform
        self.weighting = weighting
        self._table = dict(table or {})  # set of rows (increasing) -> their weights

    @property
    def count(self) -> int:
        return self.features.shape[0]

    def only(self, rows: tuple[int, ...]) -> Aggregator:
        """Return the same for some of the rows (increasing), which are counted from 0 again."""
        new = {row: at for at, row in enumerate(rows)}
        inside = {key: weights for key, weights in self._table.items() if all(row in new for row in key)}
        return Aggregator(
            self.features[list(rows)],
            self.projections[list(rows)],
            self.bias,
            uniform=self.uniform,
            weighting=self.weighting,
            table={tuple(new[row] for row in key): weights for key, weights in inside.items()},
        )

    def with_weighting(self, weighting: FeatureWeightingModule | None) -> Aggregator:
        """Return the same with another weighting module, or with none: then only known sets can be weighed."""
        return Aggregator(
            self.features, self.projections, self.bias, uniform=self.uniform, weighting=weighting, table=self._table
        )

    def weights(self, rows: tuple[int, ...]) -> np.ndarray:
        """Return the weights of a set of rows of `features`, in the order given; float32, sum 1."""
        if not rows:
            raise TNetError("Nothing is selected: keep the context or at least one look.")
        if self.uniform:
            return np.full(len(rows), 1.0 / len(rows), dtype=np.float32)
        key = tuple(sorted(rows))
        stored = self._table.get(key)
        if stored is None:
            masks = np.zeros((1, self.count), dtype=bool)
            masks[0, list(key)] = True
            stored = self.many_weights(masks)[0, list(key)]
        at = {row: i for i, row in enumerate(key)}
        return stored[[at[row] for row in rows]]

    def many_weights(self, masks: np.ndarray) -> np.ndarray:
        """Weigh many subsets: masks (S, N) bool -> (S, N) float32, zero outside; empty rows stay zero."""
        result = np.zeros(masks.shape, dtype=np.float32)
        filled = masks.any(1)
        if self.uniform:
            result[filled] = masks[filled] / masks[filled].sum(1, keepdims=True)
            return result
        unknown = []
        for row in np.flatnonzero(filled):
            members = np.flatnonzero(masks[row])
            stored = self._table.get(tuple(members.tolist()))
            if stored is None:
                unknown.append(row)
            else:
                result[row, members] = stored
        if unknown:
            result[unknown] = self._compute(masks[unknown])
        return result

    def _compute(self, masks: np.ndarray) -> np.ndarray:
        """Ask the model's weighting module: masks (S, N) bool, none empty -> (S, N) float32."""
        if self.weighting is None:
            raise TNetError(
                "This trace was read from a file, which holds the weights of prefixes and budgets only; "
                "call attach(model) to ask for other subsets."
            )
        parameter = self.weighting.output.weight
        features = torch.from_numpy(self.features).to(parameter)
        parts = []
        with torch.inference_mode():
            for start in range(0, len(masks), _CHUNK):
                chosen = torch.from_numpy(masks[start : start + _CHUNK]).to(parameter.device)
                parts.append(self.weighting.for_subsets(features, chosen).float().cpu().numpy())
        weights = np.concatenate(parts)
        if not np.isfinite(weights).all():
            raise TNetError(NOT_FINITE)
        return weights

    def prepare(self, sets: Iterable[tuple[int, ...]]) -> None:
        """Compute the weights of several sets of rows in one go."""
        missing = [key for key in {tuple(sorted(s)) for s in sets} if key and key not in self._table]
        if self.uniform or not missing:
            return
        masks = np.zeros((len(missing), self.count), dtype=bool)
        for i, key in enumerate(missing):
            masks[i, list(key)] = True
        for key, row in zip(missing, self.many_weights(masks), strict=True):
            self._table[key] = row[list(key)]

    def knows(self, sets: Iterable[tuple[int, ...]]) -> bool:
        """Tell whether the weights of all these sets are at hand without a model."""
        return self.uniform or all(tuple(sorted(rows)) in self._table for rows in sets)

    def list_known(self) -> list[tuple[int, ...]]:
        """Return the sets of rows whose weights are at hand."""
        return sorted(self._table)

    def logits(self, rows: tuple[int, ...]) -> np.ndarray:
        """Return (classes,) float32. Sums run in double precision, so that contributions add up exactly."""
        weights = self.weights(rows).astype(np.float64)
        total = weights @ self.projections[list(rows)].astype(np.float64)
        return (total + self.bias).astype(np.float32)

    def many_logits(self, masks: np.ndarray, columns: list[int] | None = None) -> np.ndarray:
        """Return logits of many subsets (S, N) -> (S, classes) float64; an empty subset has the bias alone."""
        chosen = slice(None) if columns is None else columns
        weights = self.many_weights(masks).astype(np.float64)
        return weights @ self.projections[:, chosen].astype(np.float64) + self.bias[chosen]
