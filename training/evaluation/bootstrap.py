"""Intervals: Wilson's for shares of images; for all else, differences above all, a paired bootstrap.

The bootstrap draws images with replacement, the same draw for everything that is compared. For a single share it would
claim certainty where all images are right or all are wrong, whatever their number; Wilson's interval does not.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

FEW_IMAGES = 30  # below, what is measured says little

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


def compute_share_interval(shares: np.ndarray, images: int, confidence: float) -> np.ndarray:
    """Return Wilson's interval of each share of so many images: (M,) -> (M, 2); NaN where there are none."""
    if images == 0:
        return np.full((len(shares), 2), np.nan)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (shares + z * z / (2 * images)) / (1 + z * z / images)
    reach = z / (1 + z * z / images) * np.sqrt(shares * (1 - shares) / images + (z / (2 * images)) ** 2)
    # at the ends rounding could leave the share itself outside
    return np.stack([np.minimum(middle - reach, shares), np.maximum(middle + reach, shares)], axis=1).clip(0, 1)


def describe_few_images(images: int) -> str:
    """Return a warning where too few images were measured to tell policies or budgets apart, else an empty text."""
    if images >= FEW_IMAGES:
        return ""
    return f"Only {images} image{'s' * (images != 1)}: intervals are wide, and differences below them mean nothing."


def compute_gap_share(learned: np.ndarray, centre: np.ndarray, oracle: np.ndarray) -> np.ndarray:
    """Return (learned - centre) / (oracle - centre); NaN where the oracle is not better than the centre."""
    gap = oracle - centre
    return np.where(gap > 0, (learned - centre) / np.where(gap > 0, gap, 1.0), np.nan)
