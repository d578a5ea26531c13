"""Traverse a list of images in shards, so that a run that was killed goes on where it was.

    OUT/run.json                  what is run: images, checkpoint, options; a later run must have the same
    OUT/looks/00000.parquet       a row per look of the shard's images
    OUT/images/00000.parquet      a row per image; written last, so that it says that the shard is complete

A shard is always the same images, whichever process takes them and however many there are. An unfinished one is taken
anew from its first image and its files appear in one step each: no image is in the tables twice, and none is missing.
Processes do not talk to one another. Each takes every N-th shard; on several machines they need the same folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tnet_core.batch.files import ImageList, ListedImage, match_label
from tnet_core.batch.tables import (
    IMAGE_COLUMNS,
    LOOK_COLUMNS,
    import_parquet,
    make_error_row,
    make_image_row,
    make_look_rows,
    write_rows,
)
from tnet_core.command import count_processes, read_number
from tnet_core.errors import TNetError, reason
from tnet_core.schemas.files import is_temporary_name, read_json, write_atomically
from tnet_core.trace import Trace

RUN_FILE, IMAGES, LOOKS = "run.json", "images", "looks"
DEFAULT_SHARD = 200  # images: what a killed process takes again at most, and what it holds in memory


@dataclass(frozen=True)
class Run:
    """What decides the rows of a run."""

    images: int
    images_sha256: str
    checkpoint: str
    weights_sha256: str
    budget: str | None
    levels: str | None
    policy: str
    sampling: str | None
    shard: int
    precision: str = "float32"  # that was asked for; what an image was computed in is in its row
    format: int = 1

    @property
    def shards(self) -> int:
        return -(-self.images // self.shard)

    def compare(self, found: object) -> list[tuple[str, Any, Any]] | None:
        """Return name and both values of all that is otherwise in a manifest; None where it is none of a run.

        The first manifests name no precision: there was float32 alone.
        """
        own = asdict(self)
        found = {"precision": "float32"} | found if isinstance(found, dict) else {}
        if found.keys() != own.keys():
            return None
        return [(name, found[name], value) for name, value in own.items() if found[name] != value]


class Process(NamedTuple):
    """Which of how many processes this is; one of one unless Accelerate started several."""

    rank: int = 0
    total: int = 1

    @classmethod
    def from_environment(cls) -> Process:
        return cls(read_number("RANK", 0), count_processes("RANK"))


ALONE = Process()


class Summary(NamedTuple):
    """What the tables of a complete run hold."""

    images: int
    looks: int
    known: int  # images whose true class the checkpoint knows
    correct: int
    unreadable: list[tuple[str, str]]  # file, why


def open_run(out: Path, run: Run) -> None:
    """Make the folder of a new run, or check that the one there is of the same run; write nothing anywhere else."""
    try:
        if out.exists() and not out.is_dir():
            raise TNetError(f"There is a file '{out}' already; name a new folder with --out.")
        # Listed before RUN_FILE is looked for: another process of the same run writes that file first, so that all
        # of its files that are in the list come with a RUN_FILE that is found afterwards.
        holds_other = out.is_dir() and any(not is_temporary_name(path.name) for path in out.iterdir())
        if not (out / RUN_FILE).exists():
            if holds_other:
                raise TNetError(f"The folder '{out}' holds something else already; name a new one with --out.")
            out.mkdir(exist_ok=True)
            text = json.dumps(asdict(run), indent=1, ensure_ascii=True)
            try:
                write_atomically(out / RUN_FILE, lambda path: path.write_text(text, encoding="utf-8"))
            except TNetError:
                with suppress(OSError):
                    out.rmdir()  # if it is empty, as it was made
                raise
        differences = run.compare(read_json(out / RUN_FILE, 1 << 20))
        if differences is None:
            raise TNetError(f"'{out / RUN_FILE}' is not of a run of this command; name a new folder with --out.")
        for name, before, now in differences:
            raise TNetError(
                f"'{out}' was begun with another {_TITLES.get(name, name)} ({before!s:.80}, now {now!s:.80}); repeat "
                "that command to continue it, or name a new folder with --out."
            )
        for name in (IMAGES, LOOKS):
            (out / name).mkdir(exist_ok=True)
    except OSError as error:
        raise TNetError(f"Cannot write '{out}': {reason(error)}.") from None


_TITLES = {
    "images": "number of images",
    "images_sha256": "list of images",
    "weights_sha256": "version of the checkpoint's weights",
    "shard": "size of shards",
}


def list_missing(out: Path, run: Run) -> list[int]:
    """Return the shards that are not complete."""
    return [shard for shard in range(run.shards) if not find_table(out, IMAGES, shard).exists()]


def find_table(out: Path, table: str, shard: int) -> Path:
    """Return where the rows of a shard are."""
    return out / table / f"{shard:05}.parquet"


def write_shards(
    out: Path,
    run: Run,
    found: ImageList,
    look: Callable[[Path], Trace],
    process: Process = ALONE,
    on_image: Callable[[], object] = lambda: None,
) -> None:
    """Traverse the images of this process's missing shards with `look` and write their tables."""
    for shard in list_missing(out, run):
        if shard % process.total != process.rank:
            continue
        images: list[dict[str, Any]] = []
        looks: list[dict[str, Any]] = []
        for number, image in _list_members(found, run, shard):
            try:
                trace = look(found.root / image.name)
            except (TNetError, OSError) as error:
                images.append(make_error_row(number, image, " ".join(str(error).splitlines())))
            else:
                true_class = match_label(image.label, trace.class_names)
                images.append(make_image_row(number, image, trace, true_class))
                looks += make_look_rows(number, image, trace, true_class)
            on_image()
        write_rows(find_table(out, LOOKS, shard), looks, LOOK_COLUMNS)
        try:
            write_rows(find_table(out, IMAGES, shard), images, IMAGE_COLUMNS)
        except TNetError:  # no room: what would stay is of no use without the other
            find_table(out, LOOKS, shard).unlink(missing_ok=True)
            raise


def _list_members(found: ImageList, run: Run, shard: int) -> Iterator[tuple[int, ListedImage]]:
    first = shard * run.shard
    yield from enumerate(found.images[first : first + run.shard], start=first)


def count_images(run: Run, shards: list[int], process: Process = ALONE) -> int:
    """Return how many images this process has in these shards."""
    own = [shard for shard in shards if shard % process.total == process.rank]
    return sum(min(run.shard, run.images - shard * run.shard) for shard in own)


def finish_run(out: Path, run: Run) -> Summary | None:
    """Return what the tables hold and remove what killed processes left; None while shards are missing."""
    if list_missing(out, run):
        return None
    parquet = import_parquet()
    images = looks = known = correct = 0
    unreadable: list[tuple[str, str]] = []
    for shard in range(run.shards):
        rows = parquet.read_table(find_table(out, IMAGES, shard), columns=["file", "correct", "error"]).to_pylist()
        images += len(rows)
        known += sum(row["correct"] is not None for row in rows)
        correct += sum(row["correct"] is True for row in rows)
        unreadable += [(row["file"], row["error"]) for row in rows if row["error"] is not None]
        looks += parquet.read_metadata(find_table(out, LOOKS, shard)).num_rows
    for folder in (out, out / IMAGES, out / LOOKS):
        for path in folder.iterdir():
            if is_temporary_name(path.name) and path.is_file():
                path.unlink(missing_ok=True)
    return Summary(images, looks - (images - len(unreadable)), known, correct, unreadable)
