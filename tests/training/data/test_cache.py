"""The cache of decoded images."""

from __future__ import annotations

import errno
import io
import os
import pickle
import resource
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.processes import PythonProcess
from tests.training.data_files import class_folders, write_picture
from tnet_core.errors import TNetError
from training.data import cache as cache_module
from training.data import open_split
from training.recipes.recipe import DataSection

ROOT = Path(__file__).parents[3]


@pytest.fixture
def data(tmp_path: Path) -> DataSection:
    class_folders(tmp_path / "data" / "train", images=5)
    (tmp_path / "data" / "boxes.csv").write_text("file,x,y,w,h,width,height\nant/ant_0.png,8,6,16,12,32,24\n")
    return DataSection(root=str(tmp_path / "data"), boxes="boxes.csv", cache=str(tmp_path / "cache"))


def left(data: DataSection) -> list[str]:
    folder = Path(data.cache or "")
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_cached_samples_equal_decoded_ones(data: DataSection) -> None:
    data = replace(data, shorter_side=13)
    plain, cached = open_split(replace(data, cache=None), "train"), open_split(data, "train")
    for i in range(len(plain)):
        a, b = plain[i], cached[i]
        assert np.array_equal(a.image, b.image) and np.array_equal(a.boxes, b.boxes)
        assert (a.label, a.name) == (b.label, b.name)
    assert not cached[0].image.flags.writeable
    assert len(left(data)) == 1


def test_a_finished_cache_is_used_without_decoding(data: DataSection, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_split(data, "train")
    monkeypatch.setattr("training.data.dataset.read_image", lambda *_: pytest.fail("decoded again"))
    again = open_split(data, "train")
    assert np.array_equal(first[3].image, again[3].image)


def test_other_files_or_options_get_a_cache_of_their_own(data: DataSection) -> None:
    open_split(data, "train")
    open_split(replace(data, shorter_side=13), "train")
    assert len(left(data)) == 2
    changed = Path(data.root) / "train" / "ant" / "ant_0.png"
    new = write_picture(changed, 77)
    os.utime(changed, ns=(1, 1))
    assert np.array_equal(open_split(data, "train")[0].image, new)


def test_loader_processes_map_the_file_instead_of_receiving_it(data: DataSection) -> None:
    split = open_split(replace(data, holdout=3), "train")
    sent = pickle.dumps(split)
    assert len(sent) < 5000
    assert np.array_equal(pickle.loads(sent)[1].image, split[1].image)


def test_a_damaged_cache_is_built_again(data: DataSection) -> None:
    split = open_split(data, "train")
    before = np.array(split[2].image)
    path = Path(data.cache or "") / left(data)[0]
    path.write_bytes(path.read_bytes()[:-30])
    assert np.array_equal(open_split(data, "train")[2].image, before)
    path.write_bytes(b"x" * 100)
    with pytest.raises(TNetError, match="is damaged; remove it"):
        cache_module.PixelCache(path)


def test_an_unreadable_image_is_named_and_leaves_no_cache(data: DataSection) -> None:
    (Path(data.root) / "train" / "bee" / "bee_4.png").write_bytes(b"broken")
    with pytest.raises(TNetError, match=r"bee_4\.png"):
        open_split(data, "train")
    assert left(data) == []


def test_an_interruption_leaves_no_cache(data: DataSection, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("training.data.dataset.read_image", interrupted)
        with pytest.raises(KeyboardInterrupt):
            open_split(data, "train")
    assert left(data) == []
    assert len(open_split(data, "train")) == 10


def test_a_full_disk_is_one_sentence_and_leaves_nothing(data: DataSection, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        def write(self, what: Any) -> int:
            if self.tell() > 5000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(what) or 0

    with monkeypatch.context() as patch:
        patch.setattr(cache_module, "open", lambda file, _mode: Full(file, "r+"), raising=False)
        with pytest.raises(TNetError, match=r"cannot be written to .*No space left.*data.cache"):
            open_split(data, "train")
    assert left(data) == []
    assert len(open_split(data, "train")) == 10


def test_a_real_limit_on_file_size_is_one_sentence_and_leaves_nothing(data: DataSection) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))
    try:
        with pytest.raises(TNetError, match="cannot be written to"):
            open_split(data, "train")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert left(data) == []


def test_a_cache_folder_that_is_a_file_is_refused(data: DataSection) -> None:
    Path(data.cache or "").write_text("in the way")
    with pytest.raises(TNetError, match="cannot be written to"):
        open_split(data, "train")


def test_processes_that_ask_at_once_decode_every_image_once(data: DataSection, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.data import dataset as files

    decoded = []
    original = files.read_image

    def slow(path: str, shorter_side: int | None = None) -> Any:
        decoded.append(path)
        time.sleep(0.01)
        return original(path, shorter_side)

    monkeypatch.setattr(files, "read_image", slow)
    with ThreadPoolExecutor(4) as pool:  # each opens the file anew, so the lock holds between threads as well
        splits = list(pool.map(lambda _: open_split(data, "train"), range(4)))
    assert len(decoded) == 10 and len(left(data)) == 1
    assert all(np.array_equal(split[7].image, splits[0][7].image) for split in splits)


@pytest.mark.slow
def test_a_build_that_was_killed_is_started_again(data: DataSection, tmp_path: Path) -> None:
    script = f"""
        import time
        from training.data import dataset as files, open_split
        from training.recipes.recipe import DataSection
        original, count = files.read_image, []
        def slow(*arguments):
            count.append(0)
            if len(count) == 4:
                print("reading", flush=True)
                time.sleep(60)
            return original(*arguments)
        files.read_image = slow
        open_split(DataSection(root={data.root!r}, boxes="boxes.csv", cache={data.cache!r}), "train")
    """
    said, complaints = tmp_path / "said.txt", tmp_path / "complaints.txt"
    process = PythonProcess("-c", textwrap.dedent(script), cwd=ROOT, env=os.environ, output=said, errors=complaints)
    deadline = time.monotonic() + 60
    while not (said.exists() and said.read_text() == "reading\n"):
        assert process.poll() is None and time.monotonic() < deadline, complaints.read_text()
        time.sleep(0.02)
    process.kill()
    process.wait(20)
    assert [Path(name).suffix for name in left(data)] == [".partial"]
    split = open_split(data, "train")
    assert len(split) == 10 and [Path(name).suffix for name in left(data)] == [".pixels"]
    plain = open_split(replace(data, cache=None), "train")
    assert all(np.array_equal(split[i].image, plain[i].image) for i in range(10))
