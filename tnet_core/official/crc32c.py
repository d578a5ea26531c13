"""CRC-32C (Castagnoli) with numpy, as TensorFlow uses it to guard checkpoints.

A CRC is linear over GF(2): appending n zero bytes to a message is a fixed 32 x 32 bit matrix Z(n), and
crc(A + B) = Z(len B) crc(A) xor crc(B). So all neighbouring words of a chunk are merged at once, then all
neighbouring pairs, and so on: log2 vectorised steps instead of one step per byte.
"""

from __future__ import annotations

from functools import cache

import numpy as np

_POLYNOMIAL = 0x82F63B78  # reflected
_MASK_DELTA = 0xA282EAD8
_CHUNK = 1 << 20  # bytes merged at a time: bounds the working memory and stays in cache

Matrix = tuple[int, ...]  # images of the 32 unit vectors, lowest bit first


def crc32c(data: bytes | np.ndarray) -> int:
    """The plain checksum of bytes (or of a contiguous array's bytes)."""
    values = np.frombuffer(data, dtype=np.uint8) if len(data) else np.empty(0, np.uint8)
    crc = 0xFFFFFFFF
    for start in range(0, values.size, _CHUNK):
        chunk = values[start : start + _CHUNK]
        crc = _append_zeros(crc, chunk.size) ^ _remainder(chunk)
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes | np.ndarray) -> int:
    """The checksum as it is stored: rotated and shifted, so that data may itself contain checksums."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def _remainder(chunk: np.ndarray) -> int:
    """CRC of (n,) uint8 with initial value 0; leading zeros do not change it."""
    padded = np.zeros(-(-chunk.size // 4) * 4, np.uint8)
    padded[padded.size - chunk.size :] = chunk
    words = padded.view("<u4")
    power = 2  # each word stands for 2 ** power bytes
    while words.size > 1:
        if words.size % 2:
            words = np.concatenate([np.zeros(1, "<u4"), words])
        words = _times(words[0::2], power) ^ words[1::2]
        power += 1
    return int(_times(words, 2)[0])


def _times(words: np.ndarray, power: int) -> np.ndarray:
    """Z(2 ** power) applied to each of (n,) words, one table per byte of a word."""
    parts = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 4)
    tables = _tables(power)
    product = tables[0].take(parts[:, 0])
    for i in (1, 2, 3):
        product ^= tables[i].take(parts[:, i])
    return product


def _append_zeros(crc: int, count: int) -> int:
    """Z(count) applied to one value."""
    for power in range(count.bit_length()):
        if count >> power & 1:
            crc = _product(_matrix(power), crc)
    return crc


def _product(matrix: Matrix, vector: int) -> int:
    result = 0
    for i, column in enumerate(matrix):
        if vector >> i & 1:
            result ^= column
    return result


@cache
def _matrix(power: int) -> Matrix:
    """Z(2 ** power); power -3 is a single bit."""
    if power == -3:
        return (_POLYNOMIAL, *(1 << i for i in range(31)))
    half = _matrix(power - 1)
    return tuple(_product(half, column) for column in half)


@cache
def _tables(power: int) -> np.ndarray:
    """(4, 256) images of every value of each byte of a word under Z(2 ** power)."""
    tables = np.zeros((4, 256), "<u4")
    for i, column in enumerate(_matrix(power)):
        byte, bit = divmod(i, 8)
        tables[byte, 1 << bit : 2 << bit] = tables[byte, : 1 << bit] ^ np.uint32(column)
    return tables
