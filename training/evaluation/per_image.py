"""Which images were right, small enough to keep and enough to compare two checkpoints image by image."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnet_core.errors import TNetError
from training.evaluation.measure import Results

ABOUT = (
    "One image after the other, ordered by the crc32 of its name ('<class>/<file stem>'): 'images' holds the crc32s "
    "as 8 hexadecimal digits each; 'top1' holds one text per budget whose hexadecimal digits are the images' bits, "
    "first image first, 1 for a right prediction of the learned policy."
)


def pack(results: Results, budgets: list[tuple[int, ...]]) -> dict[str, Any]:
    order = np.argsort(results["crc"], kind="stable")
    right = np.asarray(results["top1/learned"], dtype=bool)[order]
    return {
        "about": ABOUT,
        "images": results["crc"][order].astype(">u4").tobytes().hex(),
        "budgets": [list(budget) for budget in budgets],
        "top1": [np.packbits(right[:, column]).tobytes().hex() for column in range(len(budgets))],
    }


def unpack(packed: dict[str, Any], budget: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The crc32s of the images and whether each was right with this budget."""
    try:
        crc = np.frombuffer(bytes.fromhex(packed["images"]), dtype=">u4").astype(np.uint32)
        at = packed["budgets"].index(list(budget))
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(packed["top1"][at]), dtype=np.uint8))
    except (KeyError, TypeError, ValueError, IndexError):
        raise TNetError(f"The evaluation does not hold each image's result for the budget {list(budget)}.") from None
    if len(bits) < len(crc):
        raise TNetError("The evaluation's results per image are cut off.")
    return crc, bits[: len(crc)].astype(bool)


def paired(
    first: dict[str, Any], budget: tuple[int, ...], second: dict[str, Any], other: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Right or wrong of the images that two evaluations have in common, in the same order.

    A crc32 that occurs twice in one of them says nothing about which image it is and is left out.
    """
    (crc_a, right_a), (crc_b, right_b) = unpack(first, budget), unpack(second, other)
    unique_a, unique_b = _unique(crc_a), _unique(crc_b)
    _, at_a, at_b = np.intersect1d(crc_a[unique_a], crc_b[unique_b], assume_unique=True, return_indices=True)
    return right_a[unique_a][at_a], right_b[unique_b][at_b]


def _unique(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[inverse] == 1)
