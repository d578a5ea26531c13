"""Write small TensorFlow checkpoints, right ones and wrong ones, for tests of the reader."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tnet_core.official.table import compute_masked_crc

CKPT_NARROW = Path(__file__).parents[1] / "data" / "ckpt_narrow"

_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_CODES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "int64": 9,
    "uint16": 17, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip
STRING = 7


def unpack_narrow(folder: Path) -> Path:
    """The real checkpoint of the test data; returns its folder."""
    with tarfile.open(CKPT_NARROW / "ckpt_narrow.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "ckpt_narrow"


def variable_key(name: str) -> str:
    """The key TensorFlow gives a variable that is a direct child of the saved object."""
    return name.replace(".", "..").replace("/", ".S") + "/.ATTRIBUTES/VARIABLE_VALUE"


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are stored in two's complement
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value) if value else b""


def _nested(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def header(shards: int = 1, endianness: int = 0) -> bytes:
    return _number(1, shards) + _number(2, endianness) + _nested(3, _number(1, 1))


def entry(dtype: int, shape: Sequence[int], offset: int, size: int, crc: int = 0, shard: int = 0) -> bytes:
    dims = b"".join(_nested(2, _number(1, dim)) for dim in shape)
    numbers = _number(3, shard) + _number(4, offset) + _number(5, size)
    checksum = varint(6 << 3 | 5) + crc.to_bytes(4, "little") if crc else b""
    return _number(1, dtype) + _nested(2, dims) + numbers + checksum


def block(pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Entries with shared prefixes and a single restart point."""
    out, last = b"", b""
    for key, value in pairs:
        shared = 0
        while shared < min(len(key), len(last)) and key[shared] == last[shared]:
            shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return out + restarts(1)


def restarts(count: int) -> bytes:
    return bytes(4 * count) + count.to_bytes(4, "little")


def assemble(blocks: Sequence[bytes], index: bytes | None = None, compression: int = 0) -> bytes:
    """A table file of finished data blocks; `index` replaces the index block."""
    data = b""
    handles = []

    def add(content: bytes) -> bytes:
        nonlocal data
        handle = varint(len(data)) + varint(len(content))
        typed = content + bytes([compression])
        data += typed + compute_masked_crc(typed).to_bytes(4, "little")
        return handle

    for number, content in enumerate(blocks):
        handles.append((b"%08d" % number, add(content)))
    meta = add(restarts(1))
    footer = meta + add(block(handles) if index is None else index)
    return data + footer.ljust(40, b"\0") + _MAGIC


def table(pairs: Mapping[bytes, bytes], per_block: int = 16) -> bytes:
    ordered = sorted(pairs.items())
    return assemble([block(ordered[i : i + per_block]) for i in range(0, len(ordered), per_block)])


def write_index(prefix: Path, entries: Mapping[str, bytes], shards: int = 1) -> None:
    pairs = {b"": header(shards)} | {key.encode(): value for key, value in entries.items()}
    Path(f"{prefix}.index").write_bytes(table(pairs))


def write_bundle(prefix: Path, tensors: Mapping[str, np.ndarray | bytes], shards: int = 1) -> None:
    """A whole checkpoint; tensors go to the shards in turn, `bytes` become a string tensor's raw data."""
    files = [bytearray() for _ in range(shards)]
    entries = {}
    for number, (key, value) in enumerate(tensors.items()):
        shard = number % shards
        raw = value if isinstance(value, bytes) else value.tobytes()
        code, shape = (STRING, ()) if isinstance(value, bytes) else (_CODES[value.dtype.name], value.shape)
        entries[key] = entry(code, shape, len(files[shard]), len(raw), compute_masked_crc(raw), shard)
        files[shard] += raw
    write_index(prefix, entries, shards)
    for shard, content in enumerate(files):
        Path(f"{prefix}.data-{shard:05d}-of-{shards:05d}").write_bytes(content)
