"""Sorted tables of keys and values in LevelDB's file format: what a checkpoint's `.index` file is.

A file is a sequence of blocks and a footer. The footer points to the index block, whose values point to the
data blocks. Every block is followed by its compression type and a masked checksum of both.
Values are protocol buffers, of whose wire format just enough is read for the entries of an index. Written by hand:
LevelDB's own reader opens a whole database, a folder of tables and logs, and this is one table alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import google_crc32c
import numpy as np

from tnet_core.errors import TNetError

_FOOTER = 48
_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_TRAILER = 5  # compression type and checksum
_LONGEST_KEY = 4096
_MASK_DELTA = 0xA282EAD8  # of stored checksums
_GROWTH = 16  # keys may unfold to this many times the file: real ones reach 3


def compute_masked_crc(data: bytes | np.ndarray) -> int:
    """Return the CRC-32C as it is stored: rotated and shifted, so that data may itself contain checksums."""
    crc = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


class _Handle(NamedTuple):
    offset: int
    size: int


def read_table(data: bytes) -> dict[bytes, bytes]:
    """Return all entries of a table file in key order; anything inconsistent is `MalformedError`."""
    if len(data) < _FOOTER or data[-8:] != _MAGIC:
        raise MalformedError("it does not end like one")
    footer = data[-_FOOTER:-8]
    meta, at = _parse_handle(footer, 0)
    index, _ = _parse_handle(footer, at)
    _read_block(data, meta)  # holds nothing we need, but must be intact

    table: dict[bytes, bytes] = {}
    last = None
    end = 0
    key_bytes = 0
    for _, value in _read_entries(_read_block(data, index)):
        block, _ = _parse_handle(value, 0)
        # Blocks are written one after the other; this also keeps the work linear in the file's size.
        if block.offset < end:
            raise MalformedError("its blocks overlap")
        end = block.offset + block.size + _TRAILER
        for key, entry in _read_entries(_read_block(data, block)):
            if last is not None and key <= last:
                raise MalformedError("its names are not in order")
            last = key
            key_bytes += len(key)
            if key_bytes > _GROWTH * len(data):
                raise MalformedError("its names are longer than the file warrants")
            table[key] = entry
    return table


def _parse_handle(data: bytes, at: int) -> tuple[_Handle, int]:
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return _Handle(offset, size), at


def _read_block(data: bytes, handle: _Handle) -> bytes:
    """Return the entries of a block, checked, without its restart points."""
    end = handle.offset + handle.size
    if end + _TRAILER > len(data) - _FOOTER:
        raise MalformedError("a block lies outside the file")
    stored = int.from_bytes(data[end + 1 : end + _TRAILER], "little")
    if compute_masked_crc(data[handle.offset : end + 1]) != stored:
        raise MalformedError("a checksum does not match")
    compression = data[end]
    if compression:
        raise TNetError(
            f"The checkpoint index is compressed (type {compression}), which official checkpoints never are; "
            "save it again without compression."
        )
    restarts = int.from_bytes(data[max(handle.offset, end - 4) : end], "little")
    tail = 4 * (restarts + 1)
    if tail > handle.size:
        raise MalformedError("a block is too short")
    return data[handle.offset : end - tail]


def _read_entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values; keys share a prefix with the key before them, and only the rest is stored."""
    key = b""
    at = 0
    while at < len(block):
        shared, at = read_varint(block, at)
        rest, at = read_varint(block, at)
        size, at = read_varint(block, at)
        if shared > len(key) or rest + size > len(block) - at or shared + rest > _LONGEST_KEY:
            raise MalformedError("an entry does not fit its block")
        key = key[:shared] + block[at : at + rest]
        at += rest
        yield key, block[at : at + size]
        at += size


Message = dict[int, list[int | bytes]]  # field number -> its values in order

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class MalformedError(Exception):
    """Bytes that are not what they should be; callers turn it into a sentence that names the file."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned 64-bit number at a position, and the position after it."""
    value = 0
    for i, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            if value >> 64:
                break
            return value, at + i + 1
    raise MalformedError("a number is cut off or too long")


def parse_message(data: bytes) -> Message:
    message: Message = {}
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        value: int | bytes
        if wire_type == _VARINT:
            value, at = read_varint(data, at)
        elif wire_type == _BYTES:
            size, at = read_varint(data, at)
            value, at = _cut_bytes(data, at, size), at + size
        elif wire_type in (_FIXED32, _FIXED64):
            size = 4 if wire_type == _FIXED32 else 8
            value, at = int.from_bytes(_cut_bytes(data, at, size), "little"), at + size
        else:
            raise MalformedError("an entry has a field of unknown kind")
        message.setdefault(number, []).append(value)
    return message


def read_integer(message: Message, number: int) -> int:
    """Return a singular int64 (or fixed32) field; absent means 0."""
    value = message.get(number, [0])[-1]
    if isinstance(value, bytes):
        raise MalformedError("an entry holds text where a number belongs")
    return value - (1 << 64) if value >> 63 else value


def read_messages(message: Message, number: int) -> list[Message]:
    """Return all values of a field that holds messages."""
    found = []
    for value in message.get(number, []):
        if isinstance(value, int):
            raise MalformedError("an entry holds a number where a structure belongs")
        found.append(parse_message(value))
    return found


def _cut_bytes(data: bytes, at: int, size: int) -> bytes:
    if size > len(data) - at:
        raise MalformedError("an entry is cut off")
    return data[at : at + size]
