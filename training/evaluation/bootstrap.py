"""Paired bootstrap: images are drawn with replacement, the same draw for everything that is compared."""

from __future__ import annotations

import numpy as np

_MAX_COUNTS = 1 << 24  # of the matrix of counts made at a time


def resample_means(values: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Return means of resampled images: values (images, M) -> (resamples, M) float64.

    A resample is a vector of how often each image was drawn, so its means are one matrix product.
    """
    images = len(values)
    generator = np.random.default_rng([seed, 0xB007])
    table = values.astype(np.float32)
    means = np.empty((resamples, values.shape[1]))
    step = max(1, _MAX_COUNTS // images)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, images, (rows, images)) + images * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * images).reshape(rows, images)
        means[start : start + rows] = counts.astype(np.float32) @ table / images
    return means


def compute_interval(samples: np.ndarray, confidence: float) -> np.ndarray:
    """Return the percentile interval of each column: (resamples, M) -> (M, 2); NaN resamples are left out."""
    tail = 50 * (1 - confidence)
    ends = [tail, 100 - tail]
    if not np.isnan(samples).any():
        return np.percentile(samples, ends, axis=0).T
    result = np.full((samples.shape[1], 2), np.nan)
    for column, values in enumerate(samples.T):
        defined = values[~np.isnan(values)]
        if len(defined):
            result[column] = np.percentile(defined, ends)
    return result


def compute_gap_share(learned: np.ndarray, centre: np.ndarray, oracle: np.ndarray) -> np.ndarray:
    """Return (learned - centre) / (oracle - centre); NaN where the oracle is not better than the centre."""
    gap = oracle - centre
    return np.where(gap > 0, (learned - centre) / np.where(gap > 0, gap, 1.0), np.nan)
