"""Where commands write: a full disk, a place that is taken or cannot be written, names that are hard to write."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import picture, tiny
from tests.support.parity import fill
from tests.support.tf_bundle import variable_key, write_bundle
from tnet_core.batch.__main__ import main as traverse
from tnet_core.export import main as export
from tnet_core.official.__main__ import main as convert
from tnet_core.official.convert import list_official_shapes

pytestmark = pytest.mark.slow
Command = Callable[[Path, Path], int]


def look(place: Path, out: Path) -> int:
    from tnet_core.__main__ import main

    return main([str(place / "photo.png"), "--checkpoint", str(place / "model"), "--json", str(out)])


def write_tables(place: Path, out: Path) -> int:
    return traverse([str(place / "photographs"), "--checkpoint", str(place / "model"), "--out", str(out)])


def write_fiftyone(place: Path, out: Path) -> int:
    tables = place / "tables"
    return traverse([
        str(place / "photographs"), "--checkpoint", str(place / "model"), "--out", str(tables), "--fiftyone", str(out)
    ])  # fmt: skip


def write_graphs(place: Path, out: Path) -> int:
    return export([str(place / "model"), str(out)])


def write_converted(place: Path, out: Path) -> int:
    return convert([str(place / "official"), str(out), "--preset", "cub-b0"])


COMMANDS: list[Command] = [look, write_tables, write_fiftyone, write_graphs, write_converted]
NAMES = [command.__name__ for command in COMMANDS]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint, an official one, photographs, and tables of their looks."""
    folder = tmp_path_factory.mktemp("places")
    tn.save(tiny(), folder / "model")
    Image.fromarray(picture(90, 70)).save(folder / "photo.png")
    (folder / "photographs").mkdir()
    for number in range(20):
        Image.fromarray(picture(40, 30, seed=number)).save(folder / "photographs" / f"{number}.png")
    (folder / "official").mkdir()
    shapes = list_official_shapes(tn.preset("cub-b0"))
    tensors = {variable_key(name): fill(name, shape) for name, shape in shapes.items()}
    write_bundle(folder / "official" / "ckpt-1", tensors)
    assert write_tables(folder, folder / "tables") == 0
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 16 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small file system here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def list_all(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
@pytest.mark.parametrize("filled", [16384, 0], ids=["full", "too small"])
def test_a_full_disk_is_one_sentence_and_nothing_half_written_stays(
    command: Command, filled: int, place: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small_disk / "mine").write_bytes(b"x" * filled)
    if command is look and not filled:
        (small_disk / "mine").write_bytes(b"x" * 8192)  # a trace of a few looks is smaller than the rest
    capsys.readouterr()
    code = command(place, small_disk / "out")
    said = capsys.readouterr().err.splitlines()
    assert code == 2 and "No space left" in said[-1] and "Traceback" not in "".join(said), said
    # run.json, which is whole, lets the same command go on when there is room
    assert set(list_all(small_disk)) <= {"mine", "out", "out/run.json", "out/images", "out/looks"}
    if command is not write_tables or filled:
        assert list_all(small_disk) == ["mine"]
    (small_disk / "mine").unlink()


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_a_place_that_is_taken_or_cannot_be_written_is_refused_before_the_work(
    command: Command, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "diary.txt").write_text("mine")
    (tmp_path / "dead link").symlink_to("nowhere")
    before = list_all(tmp_path)
    refused = [
        tmp_path / "file",
        tmp_path / "folder",
        tmp_path / "dead link",
        tmp_path / "none" / "below",
        tmp_path / ("x" * 256),
        Path("/proc/x"),
    ]
    for out in refused:
        if command is write_converted and out == tmp_path / "none" / "below":
            continue  # it makes the folders above
        capsys.readouterr()
        code = command(place, out)
        said = capsys.readouterr().err.splitlines()
        assert code == 2 and "Traceback" not in "".join(said) and str(out.name)[:40] in said[-1], (out, said)
    assert (tmp_path / "dead link").is_symlink() and not (tmp_path / "dead link").exists()
    assert list_all(tmp_path) == before and (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_an_empty_folder_and_names_with_line_breaks_or_255_bytes_are_written(
    command: Command, place: Path, tmp_path: Path
) -> None:
    for name in ("a line\nbreak", "ä" * 127 + "x"):
        assert command(place, tmp_path / name) == 0
        assert (tmp_path / name).exists()
    if command is not look:
        (tmp_path / "empty").mkdir()
        assert command(place, tmp_path / "empty") == 0
        assert any((tmp_path / "empty").iterdir())
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]
