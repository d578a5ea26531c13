"""Hashes of files and the memory of those found good."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

import tnet_core as tn
from tnet_core.checkpoints import digests
from tnet_core.checkpoints.digests import check_digest, digest, is_remembered, matches_etag, remember
from tnet_core.schemas.registry import FileDigest

pytest_plugins = ["tests.support.checkpoint_fixtures"]
pytestmark = pytest.mark.usefixtures("own_caches")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.bin"
    path.write_bytes(b"content")
    time.sleep(0.12)  # a file that has just been written is not remembered
    return path


def _expected(data: bytes = b"content") -> FileDigest:
    return FileDigest(hashlib.sha256(data).hexdigest(), len(data))


def test_a_good_file_is_hashed_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_remembered(file)
    assert check_digest(file, _expected()) is None
    assert is_remembered(file)
    monkeypatch.setattr(digests.hashlib, "file_digest", None)  # hashing would fail now
    assert check_digest(file, _expected()) is None


def test_a_wrong_file_is_described_and_not_remembered(file: Path) -> None:
    assert "has 7 bytes instead of 8" in str(check_digest(file, _expected(b"content2")))
    problem = check_digest(file, _expected(b"CONTENT"))
    assert problem is not None
    assert _expected().sha256 in problem
    assert _expected(b"CONTENT").sha256 in problem
    assert not is_remembered(file)


def test_a_changed_file_is_hashed_again_even_if_its_time_was_put_back(file: Path) -> None:
    assert check_digest(file, _expected()) is None
    before = file.stat()
    file.write_bytes(b"CONTENT")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert not is_remembered(file)
    assert check_digest(file, _expected()) is not None


def test_a_remembered_file_still_has_to_match_what_is_asked(file: Path) -> None:
    assert check_digest(file, _expected()) is None
    assert check_digest(file, _expected(b"CONTENT")) is not None


def test_a_file_written_a_moment_ago_is_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "new.bin"
    path.write_bytes(b"content")
    assert check_digest(path, _expected()) is None
    assert not is_remembered(path)


def test_full_verification_does_not_trust_the_memory(file: Path) -> None:
    remember(file, "0" * 64)  # a wrong verdict, as a program with access to the cache could store
    assert digest(file).sha256 == "0" * 64
    assert digest(file, remembered=False) == _expected()
    assert check_digest(file, _expected(), remembered=False) is None


@pytest.mark.parametrize("memory", [b"", b"[]", b"{", b'{"x": 1}', b"\xff"])
def test_a_damaged_memory_is_only_a_lost_memory(file: Path, memory: bytes) -> None:
    digests.cache_folder().mkdir(parents=True)
    (digests.cache_folder() / "verdicts.json").write_bytes(memory)
    assert check_digest(file, _expected()) is None
    assert is_remembered(file)


def test_a_cache_that_cannot_be_written_is_only_slower(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TNET_CACHE", str(file / "impossible"))
    assert check_digest(file, _expected()) is None
    assert not is_remembered(file)


def test_the_memory_is_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_MEMORY_ENTRIES", 2)
    for index in range(3):
        copy = file.with_name(f"{index}.bin")
        copy.write_bytes(b"content")
    time.sleep(0.12)
    for index in range(3):
        remember(file.with_name(f"{index}.bin"), _expected().sha256)
    assert [is_remembered(file.with_name(f"{index}.bin")) for index in range(3)] == [False, True, True]


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    assert "cannot be read" in str(check_digest(tmp_path / "nothing", _expected()))
    with pytest.raises(tn.TNetError, match="Cannot read"):
        digest(tmp_path / "nothing")


def test_content_ids_of_the_hub_are_understood(file: Path) -> None:
    sha256 = _expected().sha256
    blob = hashlib.sha1(b"blob 7\0content").hexdigest()
    assert matches_etag(file, sha256, sha256) is True
    assert matches_etag(file, sha256, "0" * 64) is False
    assert matches_etag(file, sha256, blob) is True
    assert matches_etag(file, sha256, hashlib.sha1(b"content").hexdigest()) is True
    assert matches_etag(file, sha256, "0" * 40) is False
    assert matches_etag(file, sha256, "version-5") is None
