"""Whole data sets at length: a thousand images by one process, by two, and killed; memory that stays where it is."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import tiny
from tests.support.processes import ROOT, PythonProcess, run_python, run_ranks

COUNT = 1000
CHECKPOINT = "tnet-needles"  # the quickest of the bundled ones
LONGEST_SIDE = 128  # pixels: decoding is not what is tried here
LARGEST_GROWTH = 16  # MB, from 100 images on


def read_rows(out: Path, table: str) -> list[dict[str, Any]]:
    """Return all rows of a table, sorted by image and look."""
    rows = [row for path in sorted((out / table).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    return sorted(rows, key=lambda row: (row["image"], row.get("look", 0)))


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand copies of the photographs among the examples, in a folder per photograph."""
    root = tmp_path_factory.mktemp("copies")
    pictures = sorted((ROOT / "examples").glob("*.jpg"))
    small: list[bytes] = []
    for path in pictures:
        folder = root / path.stem
        folder.mkdir()
        with Image.open(path) as image:
            image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            image.convert("RGB").save(folder / "0000.png")
        small.append((folder / "0000.png").read_bytes())
    for number in range(len(pictures), COUNT):
        which = number % len(pictures)
        (root / pictures[which].stem / f"{number:04}.png").write_bytes(small[which])
    return root


@pytest.fixture(scope="module")
def arguments(copies: Path) -> list[str]:
    return ["-m", "tnet_core.batch", str(copies), "--checkpoint", CHECKPOINT, "--shard", "20", "--out"]


@pytest.fixture(scope="module")
def whole(arguments: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of one process that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    begun = time.monotonic()
    done = run_python(*arguments, str(folder / "out"), cwd=ROOT, env=os.environ, folder=folder, timeout=7200)
    print(f"one process: {time.monotonic() - begun:.0f} s", file=sys.__stdout__, flush=True)
    assert done.returncode == 0, done.stderr
    assert len(read_rows(folder / "out", "images")) == COUNT
    return folder / "out"


@pytest.mark.long
def test_a_thousand_images_by_two_processes_give_the_rows_of_one(
    whole: Path, arguments: list[str], tmp_path: Path
) -> None:
    out, begun = tmp_path / "out", time.monotonic()
    both = run_ranks(*arguments, str(out), cwd=ROOT, env=os.environ, folder=tmp_path, timeout=7200)
    print(f"two processes: {time.monotonic() - begun:.0f} s", file=sys.__stdout__, flush=True)
    assert [one.returncode for one in both] == [0, 0], both
    for table in ("images", "looks"):
        assert read_rows(out, table) == read_rows(whole, table)


@pytest.mark.long
def test_a_thousand_images_killed_at_three_random_moments_and_continued_give_the_same_rows(
    whole: Path, arguments: list[str], tmp_path: Path
) -> None:
    seed = os.getpid()
    draw, out, shards = random.Random(seed), tmp_path / "out", COUNT // 20
    moments = sorted(draw.sample(range(1, shards * 3 // 4), 3))  # shards that are complete when the kill is drawn
    print(f"killed after {moments} of {shards} shards (seed {seed})", file=sys.__stdout__, flush=True)
    for number, moment in enumerate(moments):
        process = PythonProcess(
            *arguments, str(out), cwd=ROOT, env=os.environ,
            output=tmp_path / f"{number}.out", errors=tmp_path / f"{number}.err",
        )  # fmt: skip
        while len([*out.glob("images/*.parquet")]) < moment and process.poll() is None:
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 1))
        process.kill()
        assert process.wait(60) == -signal.SIGKILL, (tmp_path / f"{number}.err").read_text()
    assert len([*out.glob("images/*.parquet")]) < shards
    done = run_python(*arguments, str(out), cwd=ROOT, env=os.environ, folder=tmp_path, timeout=7200)
    assert done.returncode == 0, done.stderr
    assert f"of {COUNT} images are there already" in done.stderr
    for table in ("images", "looks"):
        assert read_rows(out, table) == read_rows(whole, table)


def measure_peak(images: Path, checkpoint: Path, out: Path, folder: Path) -> float:
    """Return the largest memory of a run over a list of images, in MB."""
    code = (
        "import resource, sys; from tnet_core.batch.__main__ import main; code = main(sys.argv[1:]); "
        "print('peak', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
    )
    options = [str(images), "--checkpoint", str(checkpoint), "--shard", "50", "--out", str(out)]
    done = run_python("-c", code, *options, cwd=ROOT, env=os.environ, folder=folder, timeout=1800)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split("peak ")[1]) / 1024


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_images(tmp_path: Path) -> None:
    """Were pictures or traces kept, 300 more of 520 x 520 pixels would take 240 MB."""
    folder = tn.save(tiny(), tmp_path / "model")
    names = []
    for number in range(400):
        pixels = np.random.default_rng(number).integers(0, 256, (4, 4, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((520, 520), Image.Resampling.NEAREST).save(tmp_path / f"{number}.png")
        names.append(f"{number}.png")
    peaks = []
    for count in (100, len(names)):
        (tmp_path / f"{count}.txt").write_text("\n".join(names[:count]))
        peaks.append(measure_peak(tmp_path / f"{count}.txt", folder, tmp_path / f"out{count}", tmp_path))
    print(f"peak memory in MB: {peaks}", file=sys.__stdout__, flush=True)
    assert peaks[1] - peaks[0] < LARGEST_GROWTH, peaks
