"""Reading TensorFlow checkpoints: the real one, hand-made ones, and everything that can be wrong with one."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import tf_bundle as make
from tests.support.parity import fill
from tnet_core.errors import TNetError
from tnet_core.official import open_bundle, read_bundle
from tnet_core.official.convert import find_official_name
from tnet_core.official.table import compute_masked_crc

DATA = "ckpt-7.data-00000-of-00001"


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make.unpack_narrow(tmp_path_factory.mktemp("narrow"))


@pytest.fixture
def copy(narrow: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(narrow, tmp_path / "copy"))


def assert_refused(path: Path, match: str) -> None:
    with pytest.raises(TNetError, match=match) as caught:
        read_bundle(path)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence


def bytewise_crc32c(data: bytes) -> int:
    """The textbook definition, one bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# Checksums


def masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "crc"),
    [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)],
)
def test_checksums_have_the_published_check_values(data: bytes, crc: int) -> None:
    assert compute_masked_crc(data) == compute_masked_crc(np.frombuffer(data, np.uint8)) == masked(crc)


@given(st.binary(max_size=600))
def test_checksums_equal_the_bitwise_definition(data: bytes) -> None:
    assert compute_masked_crc(data) == masked(bytewise_crc32c(data))


# What is read


def test_real_checkpoint_holds_what_its_manifest_says(narrow: Path) -> None:
    manifest = json.loads((make.CKPT_NARROW / "manifest.json").read_text())["keys"]
    bundle = open_bundle(narrow)
    found = {
        key: {"shape": list(e.shape), "dtype": "string" if e.is_string else str(e.dtype)}
        for key, e in bundle.entries.items()
    }
    assert found == manifest


def test_real_checkpoint_holds_the_values_of_the_formula(narrow: Path) -> None:
    named = [(find_official_name(key), value) for key, value in read_bundle(narrow).items()]
    weights = [(name, value) for name, value in named if name is not None]
    assert len(weights) > 100
    for name, value in weights:
        np.testing.assert_array_equal(value, fill(name, value.shape), err_msg=name)


def test_every_way_to_name_a_checkpoint_reads_the_same(narrow: Path, copy: Path) -> None:
    reference = read_bundle(narrow)
    (copy / "checkpoint").unlink()  # now the only .index counts
    for path in (narrow / "ckpt-7", narrow / "ckpt-7.index", str(narrow), copy):
        found = read_bundle(path)
        assert found.keys() == reference.keys()
        assert all(np.array_equal(found[key], reference[key]) for key in reference)


def test_the_folder_s_state_file_picks_the_newest(copy: Path) -> None:
    make.write_bundle(copy / "ckpt-8", {"a": np.ones(3, np.float32)})
    assert open_bundle(copy).name == "ckpt-7"
    (copy / "checkpoint").write_text('model_checkpoint_path: "ckpt-8"\nall_model_checkpoint_paths: "ckpt-7"\n')
    assert open_bundle(copy).name == "ckpt-8"


TENSORS: Mapping[str, np.ndarray | bytes] = {
    "scalar": np.array(2.5, np.float32),
    "empty": np.empty((0, 3), np.float32),
    "step": np.array(-7, np.int64),
    "graph": b"\x05hello",
    **{f"typed_{t}": np.arange(6).astype(t).reshape(2, 3) for t in ("f8", "f2", "i4", "u1", "i1", "u2", "u8")},
    **{f"layer/{i:03d}": np.full((3, 2), i, np.float32) for i in range(40)},
}


@pytest.mark.parametrize("shards", [1, 3])
def test_tensors_of_all_kinds_survive_in_any_number_of_shards(tmp_path: Path, shards: int) -> None:
    make.write_bundle(tmp_path / "model", TENSORS, shards)
    found = read_bundle(tmp_path / "model")
    assert found.keys() == TENSORS.keys() - {"graph"}  # text is left out
    for key, value in found.items():
        expected = TENSORS[key]
        assert isinstance(expected, np.ndarray) and value.dtype == expected.dtype
        np.testing.assert_array_equal(value, expected)


def test_only_the_asked_tensors_are_read(tmp_path: Path) -> None:
    make.write_bundle(tmp_path / "model", TENSORS)
    assert list(read_bundle(tmp_path / "model", ["step"])) == ["step"]
    with pytest.raises(TNetError, match="holds no tensor 'missing'"):
        read_bundle(tmp_path / "model", ["missing"])
    with pytest.raises(TNetError, match=r"'graph'.* holds text, not numbers"):
        read_bundle(tmp_path / "model", ["graph"])


# What is refused: files


def test_a_missing_checkpoint_is_one_sentence(tmp_path: Path) -> None:
    assert_refused(tmp_path / "nothing", "no TensorFlow checkpoint at")
    assert_refused(tmp_path, "neither a 'checkpoint' file nor an .index file")
    assert_refused(tmp_path / ("x" * 300), "cannot be opened")


def test_several_checkpoints_without_a_state_file_must_be_named(tmp_path: Path) -> None:
    for name in ("ckpt-1", "ckpt-2"):
        make.write_bundle(tmp_path / name, {"a": np.ones(3, np.float32)})
    assert_refused(tmp_path, r"2 checkpoints \(ckpt-1.index, ckpt-2.index\)")


@pytest.mark.parametrize("name", ["../other/ckpt-7", "/ckpt-7", "/", "sub/../../ckpt-7"])
def test_a_state_file_cannot_point_outside_its_folder(narrow: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copytree(narrow, tmp_path / "other")
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{name}"\n')
    assert_refused(folder, "outside its folder")


def test_state_files_may_name_full_paths_and_linked_files(narrow: Path, tmp_path: Path) -> None:
    for name in ("ckpt-7.index", DATA):
        (tmp_path / name).symlink_to(narrow / name)
    (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{tmp_path / "ckpt-7"}"')
    assert open_bundle(tmp_path).entries == open_bundle(narrow).entries


def test_links_in_circles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ckpt-7.index").symlink_to("ckpt-7.index")
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-7"\n')
    assert_refused(tmp_path, "is not in the folder")


@pytest.mark.parametrize(
    "text", ["", "\xff\xfe", 'all_model_checkpoint_paths: "ckpt-7"', 'model_checkpoint_path: "a\0b"']
)
def test_a_state_file_that_names_nothing_is_refused(copy: Path, text: str) -> None:
    (copy / "checkpoint").write_text(text, encoding="latin-1")
    assert_refused(copy, "does not name a checkpoint")


def test_a_state_file_that_names_a_missing_checkpoint_is_refused(copy: Path) -> None:
    (copy / "checkpoint").write_text('model_checkpoint_path: "ckpt-9"')
    assert_refused(copy, "names 'ckpt-9', but 'ckpt-9.index' is not in the folder")


def test_a_missing_shard_is_named(copy: Path, tmp_path: Path) -> None:
    (copy / DATA).unlink()
    assert_refused(copy, f"data file '{DATA}' of the checkpoint is missing")
    make.write_bundle(tmp_path / "model", TENSORS, 3)
    (tmp_path / "model.data-00001-of-00003").unlink()
    assert_refused(tmp_path / "model", "'model.data-00001-of-00003' of the checkpoint is missing")


# What is refused: damage


def test_a_flipped_byte_anywhere_in_the_index_is_noticed(copy: Path) -> None:
    index = copy / "ckpt-7.index"
    good = index.read_bytes()
    for at in [*range(0, len(good) - 48, 97), len(good) - 48, len(good) - 1]:
        index.write_bytes(good[:at] + bytes([good[at] ^ 0x11]) + good[at + 1 :])
        assert_refused(copy, "damaged or not the index of a TensorFlow checkpoint")


@pytest.mark.parametrize("at", [0, 700_000, -1])
def test_a_flipped_byte_in_the_data_is_noticed(copy: Path, at: int) -> None:
    extents = sorted((e.offset, e.offset + e.size) for e in open_bundle(copy).entries.values() if e.dtype is not None)
    position = extents[-1][1] - 1 if at < 0 else max(start for start, _ in extents if start <= at)
    data = bytearray((copy / DATA).read_bytes())
    data[position] ^= 1
    (copy / DATA).write_bytes(data)
    assert_refused(copy, "is damaged: the checksum of")


def test_a_truncated_data_file_is_noticed_before_reading(copy: Path) -> None:
    data = (copy / DATA).read_bytes()
    (copy / DATA).write_bytes(data[: len(data) // 2])
    with pytest.raises(TNetError, match="damaged or incomplete"):
        open_bundle(copy)


@pytest.mark.parametrize("keep", [0, 47, 48, 5000, -1])
def test_a_truncated_index_is_noticed(copy: Path, keep: int) -> None:
    index = copy / "ckpt-7.index"
    index.write_bytes(index.read_bytes()[:keep])
    assert_refused(copy, "damaged or not the index")


def test_a_data_file_cut_after_opening_is_noticed(copy: Path) -> None:
    bundle = open_bundle(copy)
    (copy / DATA).write_bytes(b"")
    key = next(e.key for e in bundle.entries.values() if e.size and e.dtype is not None)
    with pytest.raises(TNetError, match="is damaged"):
        bundle.read(key)


def test_other_files_are_not_taken_for_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "a.index").write_bytes(b"PK\x03\x04" * 100)
    assert_refused(tmp_path / "a", "it does not end like one")
    with (tmp_path / "large.index").open("wb") as file:
        file.truncate(1 << 40)  # sparse: takes no space, but nobody may read it whole
    assert_refused(tmp_path / "large", "larger than 2 MB")


def test_a_compressed_index_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.index").write_bytes(make.assemble([make.block([(b"", make.header())])], compression=1))
    assert_refused(tmp_path / "a", r"compressed \(type 1\)")


# What is refused: indexes that lie. Their checksums are right.

HUGE = 1 << 62
LIES = {
    "huge shape": (make.entry(1, [1 << 31, 1 << 31], 0, 16), "shape and size of 'a' disagree"),
    "huge shape and size": (make.entry(1, [HUGE], 0, 4 * HUGE), "makes no sense|disagree"),
    "size beyond the file": (make.entry(1, [1 << 20], 0, 4 << 20), "damaged or incomplete"),
    "offset beyond the file": (make.entry(1, [4], 1 << 60, 16), "damaged or incomplete"),
    "overflowing end": (make.entry(1, [4], (1 << 63) - 8, 16), "damaged or incomplete"),
    "negative offset": (make.entry(1, [4], -16, 16), "entry of 'a' makes no sense"),
    "negative size": (make.entry(1, [4], 0, -16), "entry of 'a' makes no sense"),
    "negative dimensions": (make.entry(1, [-2, -2], 0, 16), "a shape makes no sense"),
    "many dimensions": (make.entry(1, [1] * 60, 0, 4), "a shape makes no sense"),
    "empty but huge": (make.entry(1, [0, HUGE, HUGE], 0, 0), "disagree"),
    "shard that does not exist": (make.entry(1, [4], 0, 16, shard=5), "entry of 'a' makes no sense"),
    "negative shard": (make.entry(1, [4], 0, 16, shard=-1), "entry of 'a' makes no sense"),
    "no type": (b"", "entry of 'a' makes no sense"),
    "slices": (make.entry(1, [4], 0, 16) + b"\x3a\x00", "entry of 'a' makes no sense"),
    "text for a number": (b"\x0a\x01x", "text where a number belongs"),
    "number for a shape": (b"\x08\x01\x10\x01", "number where a structure belongs"),
    "cut off": (make.entry(1, [4], 0, 16)[:-1] + b"\x80", "cut off"),
    "unknown wire type": (b"\x0b", "unknown kind"),
    "wrong checksum": (make.entry(1, [4], 0, 16, crc=1), "checksum of 'a' does not match"),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_entry_that_lies_is_refused(tmp_path: Path, lie: str) -> None:
    value, match = LIES[lie]
    make.write_index(tmp_path / "model", {"a": value})
    (tmp_path / "model.data-00000-of-00001").write_bytes(bytes(16))
    tracemalloc.start()
    try:
        assert_refused(tmp_path / "model", match)
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
    finally:
        tracemalloc.stop()


def test_unsupported_types_are_refused_when_read(tmp_path: Path) -> None:
    make.write_index(tmp_path / "model", {"a": make.entry(20, [4], 0, 16)})
    (tmp_path / "model.data-00000-of-00001").write_bytes(bytes(16))
    assert read_bundle(tmp_path / "model") == {}
    with pytest.raises(TNetError, match=r"'a'.* a type that is not supported"):
        open_bundle(tmp_path / "model").read("a")


def test_tensors_may_not_share_bytes(tmp_path: Path) -> None:
    """Otherwise a small file could ask for any amount of memory."""
    crc = compute_masked_crc(bytes(16))
    make.write_index(tmp_path / "model", {name: make.entry(1, [4], 0, 16, crc) for name in "ab"})
    (tmp_path / "model.data-00000-of-00001").write_bytes(bytes(16))
    assert_refused(tmp_path / "model", "'b' overlaps another tensor")


def _raw_entry(shared: int, rest: bytes) -> bytes:
    return make.varint(shared) + make.varint(len(rest)) + make.varint(0) + rest


def _endless_names() -> bytes:
    names = (_raw_entry(4000, i.to_bytes(3, "big")) for i in range(5000))
    return make.assemble([_raw_entry(0, b"a" * 4000) + b"".join(names) + make.restarts(1)])


def _same_block_twice() -> bytes:
    content = make.block([(b"", make.header()), (b"a", b"")])
    handle = make.varint(0) + make.varint(len(content))
    return make.assemble([content], index=make.block([(b"%04d" % i, handle) for i in range(1000)]))


TABLES: dict[str, tuple[Callable[[], bytes], str]] = {
    "names that unfold without end": (_endless_names, "longer than the file warrants"),
    "one long name": (lambda: make.assemble([make.block([(b"a" * 5000, b"")])]), "does not fit its block"),
    "a block used twice": (_same_block_twice, "blocks overlap"),
    "names out of order": (lambda: make.assemble([make.block([(b"b", b""), (b"a", b"")])]), "not in order"),
    "names twice": (lambda: make.assemble([make.block([(b"a", b""), (b"a", b"")])]), "not in order"),
    "prefix of nothing": (lambda: make.assemble([_raw_entry(3, b"a") + make.restarts(1)]), "does not fit its block"),
    "too many restarts": (lambda: make.assemble([b"\xff" * 4]), "a block is too short"),
    "no restarts": (lambda: make.assemble([b""]), "a block is too short"),
    "no header": (lambda: make.table({b"a": b""}), "it has no header"),
    "no entries": (lambda: make.assemble([]), "it has no header"),
    "no shards": (lambda: make.table({b"": make.header(0)}), "announces 0 data files"),
    "endless shards": (lambda: make.table({b"": make.header(1 << 40)}), "announces 1099511627776 data files"),
    "big-endian": (lambda: make.table({b"": make.header(1, 1)}), "big-endian"),
    "binary name": (lambda: make.table({b"": make.header(), b"\xff\x00": b""}), "a name is not text"),
    "control characters": (lambda: make.table({b"": make.header(), b"a\nb": b""}), "a name is not text"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_malformed_table_is_refused(tmp_path: Path, kind: str) -> None:
    build, match = TABLES[kind]
    (tmp_path / "model.index").write_bytes(build())
    assert_refused(tmp_path / "model", match)
