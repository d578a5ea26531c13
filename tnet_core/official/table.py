"""Sorted tables of keys and values in LevelDB's file format: what a checkpoint's `.index` file is.

A file is a sequence of blocks and a footer. The footer points to the index block, whose values point to the
data blocks. Every block is followed by its compression type and a masked checksum of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tnet_core.errors import TNetError
from tnet_core.official.crc32c import masked_crc32c
from tnet_core.official.protobuf import MalformedError, read_varint

_FOOTER = 48
_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_TRAILER = 5  # compression type and checksum
_LONGEST_KEY = 4096
_GROWTH = 16  # keys may unfold to this many times the file: real ones reach 3


class _Handle(NamedTuple):
    offset: int
    size: int


def read_table(data: bytes) -> dict[bytes, bytes]:
    """All entries of a table file in key order; anything inconsistent is `MalformedError`."""
    if len(data) < _FOOTER or data[-8:] != _MAGIC:
        raise MalformedError("it does not end like one")
    footer = data[-_FOOTER:-8]
    meta, at = _handle(footer, 0)
    index, _ = _handle(footer, at)
    _block(data, meta)  # holds nothing we need, but must be intact

    table: dict[bytes, bytes] = {}
    last = None
    end = 0
    key_bytes = 0
    for _, value in _entries(_block(data, index)):
        block, _ = _handle(value, 0)
        # Blocks are written one after the other; this also keeps the work linear in the file's size.
        if block.offset < end:
            raise MalformedError("its blocks overlap")
        end = block.offset + block.size + _TRAILER
        for key, entry in _entries(_block(data, block)):
            if last is not None and key <= last:
                raise MalformedError("its names are not in order")
            last = key
            key_bytes += len(key)
            if key_bytes > _GROWTH * len(data):
                raise MalformedError("its names are longer than the file warrants")
            table[key] = entry
    return table


def _handle(data: bytes, at: int) -> tuple[_Handle, int]:
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return _Handle(offset, size), at


def _block(data: bytes, handle: _Handle) -> bytes:
    """The entries of a block, checked, without its restart points."""
    end = handle.offset + handle.size
    if end + _TRAILER > len(data) - _FOOTER:
        raise MalformedError("a block lies outside the file")
    stored = int.from_bytes(data[end + 1 : end + _TRAILER], "little")
    if masked_crc32c(data[handle.offset : end + 1]) != stored:
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


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys share a prefix with the key before them; only the rest is stored."""
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
