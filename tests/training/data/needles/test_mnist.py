"""The MNIST files: read as published, refused in one sentence when they are not what they should be."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from tnet_core.errors import TNetError
from training.data.needles import NeedlesDataset
from training.data.needles.mnist import read_idx, read_mnist
from training.recipes.recipe import NeedlesSection

MNIST = NeedlesSection(canvas=192, glyph=24, needles=2, decoys=1, distractors=1, source="mnist", train_size=20)


def write_idx(path: Path, values: np.ndarray) -> None:
    header = struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Thirty training and twenty test digits; digit d is a bar in row 4 + 2 d, test digits are brighter."""
    for part, count, ink in (("train", 30, 200), ("t10k", 20, 255)):
        labels = np.arange(count) % 10
        images = np.zeros((count, 28, 28), np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[4 + 2 * label : 6 + 2 * label, 4:24] = ink
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", labels)
    return tmp_path


def test_images_and_labels_are_read(folder: Path) -> None:
    images, labels = read_mnist(str(folder), "train")
    assert images.shape == (30, 28, 28) and images.dtype == np.uint8
    assert labels.tolist() == [i % 10 for i in range(30)]
    assert images[3, 10, 4] == 200
    assert read_mnist(str(folder), "test")[0].max() == 255


def test_needles_show_digits(folder: Path) -> None:
    dataset = NeedlesDataset(MNIST, "train", 0, str(folder))
    assert dataset.class_names == tuple("0123456789")
    sample = dataset[0]
    other = dataset.draw(0, (sample.label + 5) % 10).image
    changed = np.argwhere((sample.image != other).any(2))
    x0, y0, x1, y1 = np.split(sample.boxes * 192, 4, axis=1)
    inside = ((changed[:, 1] >= x0) & (changed[:, 1] < x1) & (changed[:, 0] >= y0) & (changed[:, 0] < y1)).any(0)
    assert len(changed) > 50 and inside.all()
    assert np.array_equal(sample.image, NeedlesDataset(MNIST, "train", 0, str(folder))[0].image)


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(TNetError, match=r"'nowhere' does not exist; set 'data\.root'"):
        NeedlesDataset(MNIST, "train", 0, "nowhere")
    with pytest.raises(TNetError, match=r"needs 'data\.root'"):
        NeedlesDataset(MNIST, "train", 0)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(TNetError, match=r"train-labels-idx1-ubyte\.gz is missing"):
        read_mnist(str(folder), "train")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no gzip at all", "cannot be read as a gzip file"),
        # mtime: every process must give these cases the same names
        (gzip.compress(b"x" * 5000, mtime=0)[:-12], "cannot be read as a gzip file"),
        (gzip.compress(b"<html>not found</html>", mtime=0), "no idx file"),
        (gzip.compress(b"", mtime=0), "no idx file"),
        (gzip.compress(struct.pack(">BBBBI", 0, 0, 8, 1, 7) + b"123", mtime=0), "number of bytes"),
        (gzip.compress(struct.pack(">BBBBI", 0, 0, 8, 3, 7), mtime=0), "number of bytes"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(TNetError, match=words):
        read_idx(path)


def test_files_that_do_not_belong_together_are_refused(folder: Path) -> None:
    write_idx(folder / "train-labels-idx1-ubyte.gz", np.arange(29) % 10)
    with pytest.raises(TNetError, match="do not belong together"):
        read_mnist(str(folder), "train")


def test_missing_digits_are_named(folder: Path) -> None:
    write_idx(folder / "t10k-labels-idx1-ubyte.gz", np.arange(20) % 8)
    with pytest.raises(TNetError, match=r"lack the digit\(s\) 8, 9"):
        read_mnist(str(folder), "test")
