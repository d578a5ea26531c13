"""The sha256 of a large file: not taken for a traversal, taken once for whoever asks, never of another file."""

from __future__ import annotations

import copy
import dataclasses
import gc
import hashlib
import json
import os
import pickle
import shutil
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tnet_core as tn
from tests.support.hashing import Hashing, hashing
from tests.support.large_files import as_large, scene, tiff
from tests.support.models import tiny
from tnet_core.__main__ import main
from tnet_core.compare import same_image
from tnet_core.imageio.info import ImageInfo
from tnet_core.imageio.source import LargeSource
from tnet_core.inference.replay import replay

pytestmark = pytest.mark.slow

__all__ = ["as_large", "hashing"]

CHANGED = "^'a.tif' changed after it was opened .*: open it again and repeat what was done with it.$"
GONE = "^'a.tif' cannot be read any more .*: open it again from where it is now.$"


@pytest.fixture(params=[True, False], ids=["pyramid", "tiled"])
def path(request: pytest.FixtureRequest, tmp_path: Path, as_large: None) -> Path:
    """With smaller versions inside, or without, so that they must be built."""
    return tiff(tmp_path / "a.tif", scene(391, 523), pyramid=request.param)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rewritten(path: Path, seed: int = 9) -> None:
    """Another picture of the same name, later."""
    tiff(path, scene(391, 523, seed))
    os.utime(path, (1, 1))


@pytest.mark.parametrize("sampling", ["native", "official"])
def test_a_traversal_hashes_nothing(path: Path, sampling: str, hashing: Hashing) -> None:
    trace = tn.traverse(tiny(), path, sampling=sampling)
    again = tn.traverse(tiny(), path, sampling=sampling)
    trace.logits(), trace.weights(), trace.crops, trace.cost(), trace.contributions(trace.prediction)
    assert same_image(trace, again) and trace.image == again.image
    assert str(path) in repr(trace.image) and trace.image.known_sha256 is None
    assert hashing.files == []


def test_it_is_that_of_the_files_bytes_taken_once(path: Path, hashing: Hashing) -> None:
    source = tn.ImageSource.open(path)
    trace, again = tn.traverse(tiny(), source), tn.traverse(tiny(), path)
    assert trace.image.sha256 == sha256(path) and isinstance(trace.image.sha256, str)
    assert source.hashed == trace.image.hashed == "file"
    assert source.sha256 == source.sha256_of("file") == again.image.sha256 == trace.image.sha256
    assert again.image.known_sha256 == trace.image.sha256
    assert hashing.files == [str(path)]
    rewritten(path)
    assert tn.ImageSource.open(path).sha256 == sha256(path) != trace.image.sha256


def test_a_name_in_the_current_folder_is_the_same_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    trace = tn.traverse(tiny(), path.name)
    monkeypatch.chdir("/")
    assert trace.image.sha256 == sha256(path)


def test_threads_that_ask_at_once_wait_for_one_hash(path: Path, hashing: Hashing) -> None:
    hashing.slowly = 0.2
    trace, source = tn.traverse(tiny(), path), tn.ImageSource.open(path)
    asked = [lambda: trace.image.sha256, lambda: source.sha256, lambda: tn.ImageSource.open(path).sha256] * 2
    with ThreadPoolExecutor(len(asked)) as threads:
        found = list(threads.map(lambda ask: ask(), asked))
    assert set(found) == {sha256(path)} and len(hashing.files) == 1


def test_a_file_that_changed_is_refused_with_one_sentence(path: Path) -> None:
    source = tn.ImageSource.open(path)
    trace = tn.traverse(tiny(), source)
    before = path.read_bytes()
    rewritten(path)
    for ask in (lambda: trace.image.sha256, lambda: source.sha256, trace.to_json, lambda: pickle.dumps(trace)):
        with pytest.raises(tn.TNetError, match=CHANGED):
            ask()
    path.write_bytes(before)  # it may be the same by chance, but nothing tells
    with pytest.raises(tn.TNetError, match=CHANGED):
        replay(trace, tiny(), path)
    with pytest.raises(tn.TNetError, match=CHANGED):
        pickle.loads(pickle.dumps(source))
    path.unlink()
    with pytest.raises(tn.TNetError, match=GONE):
        trace.to_json()
    assert trace.logits().shape == (7,)  # all that needs no hash is still there


def test_one_that_changes_while_it_is_hashed_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tn.traverse(tiny(), path)
    digest, asked = hashlib.file_digest, []

    def meanwhile(file: Any, name: str) -> Any:
        asked.append(file.name)
        with path.open("ab") as end:
            end.write(b" ")
        return digest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", meanwhile)
    with pytest.raises(tn.TNetError, match=CHANGED):
        _ = trace.image.sha256
    assert len(asked) == 1


def test_a_trace_keeps_no_picture_open(path: Path) -> None:
    source = tn.ImageSource.open(path)
    trace = tn.traverse(tiny(), source)
    held = weakref.ref(source)
    del source
    gc.collect()
    assert held() is None
    assert tn.Trace.from_json(trace.to_json()).image.is_same(trace.image)


def test_the_file_of_a_trace_is_what_it_always_was(path: Path, as_large: None) -> None:
    """Of a picture read in parts as of one that was hashed when it was opened."""
    trace = tn.traverse(tiny(), path)
    written = json.loads(trace.to_json())
    assert list(written["image"]) == ["sha256", "hashed", "width", "height"]
    assert written["image"] == {"sha256": sha256(path), "hashed": "file", "width": 523, "height": 391}
    eager = dataclasses.replace(trace, image=ImageInfo(sha256(path), "file", 523, 391))
    assert eager.to_json() == trace.to_json()
    read = tn.Trace.from_json(trace.to_json())
    replay(read, tiny(), path)
    read.attach(tiny(), path)
    np.testing.assert_array_equal(read.crops, trace.crops)


def test_it_behaves_as_a_frozen_record(path: Path, hashing: Hashing) -> None:
    lazy = tn.traverse(tiny(), path).image
    assert copy.deepcopy(lazy) is lazy
    assert dataclasses.replace(tn.traverse(tiny(), path), seen=None).image == lazy
    assert lazy != ImageInfo("0" * 64, "pixels", 523, 391) and lazy != ImageInfo("0" * 64, "file", 5, 391)
    assert lazy != "a" and hashing.files == []
    eager = ImageInfo(sha256(path), "file", 523, 391)
    assert lazy != eager and eager != lazy and {lazy, eager, lazy} == {eager, lazy} and hashing.files == []
    assert lazy.is_same(eager) and eager.is_same(lazy) and hashing.files == [str(path)]
    assert lazy != eager  # two records of one image, one by its file and one by its hash
    assert not lazy.is_same(ImageInfo(sha256(path), "file", 5, 391))
    with pytest.raises(dataclasses.FrozenInstanceError):
        lazy.width = 5  # type: ignore[misc]
    with pytest.raises(AttributeError, match="no attribute 'depth'"):
        _ = lazy.depth
    with pytest.raises(AttributeError, match="no attribute 'depth'"):
        _ = eager.depth


def test_copies_of_a_file_are_the_same_picture(path: Path, hashing: Hashing) -> None:
    other = Path(shutil.copy(path, path.with_name("b.tif")))
    with path.with_name("c.tif").open("wb") as file:
        file.write(path.read_bytes() + b" ")
    trace, same, longer = (tn.traverse(tiny(), at) for at in (path, other, path.with_name("c.tif")))
    assert not same_image(trace, longer) and hashing.files == []  # their lengths tell
    assert same_image(trace, same) and sorted(hashing.files) == [str(path), str(other)]


def test_pickling_takes_the_hash_along(path: Path, hashing: Hashing) -> None:
    trace = tn.traverse(tiny(), path)
    expected, written = sha256(path), pickle.dumps(trace.image)
    assert hashing.files == [str(path)]
    path.unlink()
    assert pickle.loads(written).sha256 == expected
    assert pickle.loads(written) == ImageInfo(expected, "file", 523, 391)


def test_a_source_is_sent_to_another_process_unhashed(path: Path, hashing: Hashing) -> None:
    source = tn.ImageSource.open(path)
    again = pickle.loads(pickle.dumps(source))
    assert isinstance(again, LargeSource) and again.info() == source.info() and again.identity == source.identity
    assert hashing.files == []
    assert again.sha256 == sha256(path)


def test_the_command_line_hashes_for_a_written_trace_alone(path: Path, tmp_path: Path, hashing: Hashing) -> None:
    folder = str(tn.save(tiny(), tmp_path / "tiny"))
    assert main([str(path), "--checkpoint", folder, "--sampling", "native"]) == 0
    assert hashing.files == []
    assert main([str(path), "--checkpoint", folder, "--sampling", "native", "--json", str(tmp_path / "t.json")]) == 0
    assert json.loads((tmp_path / "t.json").read_text())["image"]["sha256"] == sha256(path)
    assert hashing.files == [str(path)]
