"""Whatever bytes a checkpoint consists of, reading it gives small arrays or one sentence, and soon."""

from __future__ import annotations

import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import tf_bundle as make
from tnet_core.errors import TNetError
from tnet_core.official import read_bundle
from tnet_core.official.table import read_table

pytestmark = pytest.mark.slow

FUZZ = settings(max_examples=120, deadline=5000)


def survives(index: bytes, data: bytes) -> None:
    """Reading gives arrays no larger than the data, or a `TNetError`; never anything else."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.index").write_bytes(index)
        (Path(folder) / "x.data-00000-of-00001").write_bytes(data)
        tracemalloc.start()
        found, sentence = {}, ""
        try:
            found = read_bundle(folder)
        except TNetError as error:
            sentence = str(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert "\n" not in sentence
    assert sum(value.nbytes for value in found.values()) <= len(data)
    assert peak < (1 << 18) + 64 * len(index) + 4 * len(data)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    folder = make.unpack_narrow(tmp_path_factory.mktemp("narrow"))
    return (folder / "ckpt-7.index").read_bytes(), (folder / "ckpt-7.data-00000-of-00001").read_bytes()


@FUZZ
@given(index=st.binary(max_size=400), data=st.binary(max_size=64), footer=st.booleans())
def test_random_bytes_never_surprise_the_reader(index: bytes, data: bytes, footer: bool) -> None:
    survives(index + (0xDB4775248B80FB57).to_bytes(8, "little") if footer else index, data)


@FUZZ
@given(content=st.binary(max_size=200), index=st.none() | st.binary(max_size=60), data=st.binary(max_size=64))
def test_random_blocks_with_right_checksums_never_surprise_the_reader(
    content: bytes, index: bytes | None, data: bytes
) -> None:
    start = make.block([(b"", make.header())])[:-8]  # a valid header, then anything
    survives(make.assemble([start + content + make.restarts(1)], index and index + make.restarts(1)), data)


@FUZZ
@given(entries=st.dictionaries(st.text(max_size=8), st.binary(max_size=30), max_size=6), data=st.binary(max_size=64))
def test_random_entries_never_surprise_the_reader(entries: dict[str, bytes], data: bytes) -> None:
    survives(make.table({key.encode(): value for key, value in entries.items()} | {b"": make.header()}), data)


NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-2, 20)


@FUZZ
@given(
    values=st.lists(st.tuples(st.integers(0, 25), st.lists(NUMBERS, max_size=4), NUMBERS, NUMBERS), max_size=6),
    data=st.binary(max_size=64),
)
def test_random_shapes_and_offsets_never_surprise_the_reader(
    values: list[tuple[int, list[int], int, int]], data: bytes
) -> None:
    entries = {b"%d" % i: make.entry(*value) for i, value in enumerate(values)}
    survives(make.table(entries | {b"": make.header()}), data)


CHANGES = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=6)


def mutated(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    out = bytearray(data)
    for at, value in changes:
        out[at % len(out)] = value
    return bytes(out)


@settings(max_examples=60, deadline=5000)
@given(changes=CHANGES, cut=st.none() | st.integers(0, 15_000))
def test_mutations_of_a_real_index_never_surprise_the_reader(
    real: tuple[bytes, bytes], changes: list[tuple[int, int]], cut: int | None
) -> None:
    survives(mutated(real[0], changes)[:cut], real[1])


@settings(max_examples=60, deadline=5000)
@given(changes=CHANGES, pick=st.integers(0, 1 << 16))
def test_mutated_entries_with_right_checksums_never_surprise_the_reader(
    real: tuple[bytes, bytes], changes: list[tuple[int, int]], pick: int
) -> None:
    entries = read_table(real[0])
    key = sorted(entries)[pick % len(entries)]
    survives(make.table(entries | {key: mutated(entries[key], changes)}), real[1])


@FUZZ
@given(
    name=st.text(max_size=40) | st.sampled_from(["ckpt-7", "../ckpt-7", "/", "a" * 5000]), raw=st.binary(max_size=40)
)
def test_random_state_files_never_surprise_the_reader(name: str, raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for text in (f'model_checkpoint_path: "{name}"'.encode(), raw):
            (Path(folder) / "checkpoint").write_bytes(text)
            with pytest.raises(TNetError) as caught:
                read_bundle(folder)
            assert len(str(caught.value).splitlines()) == 1
