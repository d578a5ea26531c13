"""Read TensorFlow checkpoints ("tensor bundles") without TensorFlow.

A bundle `ckpt-7` is `ckpt-7.index`, a table that says where each tensor lies, and one or more
`ckpt-7.data-00000-of-00001` with the raw tensors. The index is not trusted: every size and offset is compared
with the real files before anything is allocated, and every checksum is checked. Written by hand: what reads
bundles is TensorFlow itself, which nothing else here needs.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tnet_core.errors import TNetError
from tnet_core.official.table import (
    MalformedError,
    Message,
    compute_masked_crc,
    parse_message,
    read_integer,
    read_messages,
    read_table,
)

_LARGEST_INDEX = 2 << 20  # official ones stay below 200 KB

# TensorFlow's numbers of the types whose tensors are plain little-endian arrays.
_DTYPES = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 17: "<u2", 19: "<f2", 22: "<u4", 23: "<u8",
}  # fmt: skip
_STRING = 7


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Where a tensor lies; checked against the data file."""

    key: str
    dtype: np.dtype | None  # None: not a plain array, cannot be read
    is_string: bool
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int  # bytes
    crc: int  # masked


@dataclass(frozen=True)
class Bundle:
    """An opened checkpoint; tensors are read one by one."""

    index: Path
    shards: int
    entries: dict[str, TensorEntry] = field(repr=False)

    @property
    def name(self) -> str:
        return self.index.name.removesuffix(".index")

    def shard_path(self, shard: int) -> Path:
        return self.index.with_name(f"{self.name}.data-{shard:05d}-of-{self.shards:05d}")

    def read(self, key: str) -> np.ndarray:
        """Return one tensor, its checksum verified."""
        entry = self.entries.get(key)
        if entry is None:
            raise TNetError(f"The checkpoint '{self.name}' holds no tensor {key!r:.200}.")
        if entry.dtype is None:
            kind = "text" if entry.is_string else "a type that is not supported"
            raise TNetError(f"The tensor {key!r:.200} of the checkpoint '{self.name}' holds {kind}, not numbers.")
        path = self.shard_path(entry.shard)
        try:
            with path.open("rb") as file:
                file.seek(entry.offset)
                raw = np.fromfile(file, np.uint8, entry.size)
        except OSError as error:
            raise TNetError(f"The data file '{path}' cannot be read: {error.strerror or error}.") from None
        if raw.size != entry.size or compute_masked_crc(raw) != entry.crc:
            raise TNetError(
                f"The data file '{path}' is damaged: the checksum of {key!r:.200} does not match; get the file again."
            )
        return raw.view(entry.dtype).reshape(entry.shape)


def open_bundle(path: str | Path) -> Bundle:
    """Read and check the index of a checkpoint: a prefix, an `.index` file or a folder."""
    index = locate_index(path)
    try:
        with index.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > _LARGEST_INDEX:
                raise MalformedError(f"it is larger than {_LARGEST_INDEX >> 20} MB")
            data = file.read(size)
        bundle = _parse_index(index, data)
        _check_extents(bundle)
    except OSError as error:
        raise TNetError(f"The checkpoint '{index}' cannot be read: {error.strerror or error}.") from None
    except MalformedError as error:
        raise TNetError(
            f"The file '{index}' is damaged or not the index of a TensorFlow checkpoint ({error}); get it again."
        ) from None
    return bundle


def read_bundle(path: str | Path, keys: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Return the tensors of a checkpoint by key: the given ones, or all that hold numbers."""
    bundle = open_bundle(path)
    wanted = [e.key for e in bundle.entries.values() if e.dtype is not None] if keys is None else keys
    return {key: bundle.read(key) for key in wanted}


def _parse_index(index: Path, data: bytes) -> Bundle:
    table = read_table(data)
    header = table.pop(b"", None)
    if header is None:
        raise MalformedError("it has no header")
    message = parse_message(header)
    shards = read_integer(message, 1)
    if not 1 <= shards <= 99_999:
        raise MalformedError(f"it announces {shards} data files")
    if read_integer(message, 2):
        raise MalformedError("it was written in big-endian order")
    return Bundle(index, shards, {e.key: e for e in (_parse_entry(k, v, shards) for k, v in table.items())})


def _parse_entry(raw_key: bytes, value: bytes, shards: int) -> TensorEntry:
    try:
        key = raw_key.decode()
    except UnicodeDecodeError:
        key = ""
    if not key.isprintable() or not key:
        raise MalformedError("a name is not text")
    message = parse_message(value)
    code, shard, offset, size = (read_integer(message, number) for number in (1, 3, 4, 5))
    # Type 0 does not exist; field 7 would be slices of a partitioned variable, which official models do not have.
    if code <= 0 or not 0 <= shard < shards or offset < 0 or size < 0 or 7 in message:
        raise MalformedError(f"the entry of {key!r:.200} makes no sense")
    dtype = np.dtype(_DTYPES[code]) if code in _DTYPES else None
    shape = _parse_shape(message)
    if dtype is not None and not _fits_size(shape, dtype, size):
        raise MalformedError(f"shape and size of {key!r:.200} disagree")
    return TensorEntry(key, dtype, code == _STRING, shape, shard, offset, size, read_integer(message, 6))


def _parse_shape(message: Message) -> tuple[int, ...]:
    dims: list[int] = []
    for shape in read_messages(message, 2):
        dims += [read_integer(dim, 1) for dim in read_messages(shape, 2)]
    if len(dims) > 16 or any(dim < 0 for dim in dims):
        raise MalformedError("a shape makes no sense")
    return tuple(dims)


def _fits_size(shape: tuple[int, ...], dtype: np.dtype, size: int) -> bool:
    representable = math.prod(max(dim, 1) for dim in shape) * dtype.itemsize <= sys.maxsize
    return representable and math.prod(shape) * dtype.itemsize == size


def _check_extents(bundle: Bundle) -> None:
    """Refuse tensors that do not lie inside their data file, or overlap.

    Together this bounds what reading the whole checkpoint allocates by what is on disk.
    """
    ordered = sorted(bundle.entries.values(), key=lambda entry: (entry.shard, entry.offset, entry.size))
    for shard, entries in itertools.groupby(ordered, key=lambda entry: entry.shard):
        path = bundle.shard_path(shard)
        if not path.is_file():
            raise TNetError(
                f"The data file '{path.name}' of the checkpoint is missing: it belongs next to '{bundle.index}'."
            )
        available = path.stat().st_size
        end = 0
        for entry in entries:
            if entry.offset < end:
                raise MalformedError(f"{entry.key!r:.200} overlaps another tensor")
            end = entry.offset + entry.size
            if end > available:
                raise TNetError(
                    f"The data file '{path}' has {available:,} bytes, but {entry.key!r:.200} should end at byte "
                    f"{end:,}: one of the checkpoint's files is damaged or incomplete; get them again."
                )


_STATE = "checkpoint"  # TensorFlow's text file that names the newest checkpoint of a folder
_LONGEST_STATE = 1 << 16


def locate_index(path: str | Path) -> Path:
    """Return the `.index` file meant by a path."""
    path = Path(path)
    try:
        if path.is_dir():
            return _find_in_folder(path)
        if path.suffix == ".index" and path.is_file():
            return path
        index = _name_index(path)
        if index.is_file():
            return index
    except OSError as error:
        raise TNetError(f"The checkpoint '{path}' cannot be opened: {error.strerror or error}.") from None
    raise TNetError(
        f"There is no TensorFlow checkpoint at '{path}': give its .index file, its name without that ending, "
        "or the folder it is in."
    )


def _name_index(prefix: Path) -> Path:
    return Path(f"{prefix}.index")


def _find_in_folder(folder: Path) -> Path:
    state = folder / _STATE
    if state.is_file():
        return _find_newest(folder, state)
    found = sorted(folder.glob("*.index"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise TNetError(
            f"The folder '{folder}' holds no TensorFlow checkpoint: there is neither a '{_STATE}' file nor an "
            ".index file."
        )
    names = ", ".join(index.name for index in found[:5]) + (", …" if len(found) > 5 else "")
    raise TNetError(f"The folder '{folder}' holds {len(found)} checkpoints ({names}): name one of them.")


def _find_newest(folder: Path, state: Path) -> Path:
    with state.open("rb") as file:
        text = file.read(_LONGEST_STATE).decode("utf-8", "replace")
    match = re.search(r'^\s*model_checkpoint_path\s*:\s*"([^"\\\0\n]+)"', text, re.MULTILINE)
    if match is None or not match[1].isprintable():
        raise TNetError(f"The file '{state}' does not name a checkpoint: give the .index file itself.")
    index = _name_index(folder / match[1])
    # By name, so that links a user made keep working; also stops full paths of the machine that wrote the file.
    if os.path.relpath(index, folder).startswith(os.pardir + os.sep):
        raise TNetError(f"The file '{state}' names a checkpoint outside its folder: give the .index file itself.")
    if not index.is_file():
        raise TNetError(f"The file '{state}' names {match[1]!r:.200}, but '{index.name:.200}' is not in the folder.")
    return index
