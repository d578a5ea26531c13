"""Command line: take the looks of many images and write them as Parquet tables.

tnet traverse FOLDER|LIST --out looks.parquet [--checkpoint ID|FOLDER|hf:…]          or python -m tnet_core.batch …
accelerate launch --multi_gpu --num_processes 2 -m tnet_core.batch FOLDER --out …    two processes
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from tnet_core import checkpoints
from tnet_core.batch.fiftyone import check_place, write_dataset
from tnet_core.batch.files import list_images
from tnet_core.batch.shards import (
    DEFAULT_SHARD,
    Process,
    Run,
    Summary,
    count_images,
    finish_run,
    list_missing,
    open_run,
    write_shards,
)
from tnet_core.batch.tables import import_parquet
from tnet_core.command import (
    name_program,
    parse_budget,
    parse_levels,
    parse_policy,
    read_number,
    run_command,
    warn_of_lone_process,
)
from tnet_core.errors import TNetError
from tnet_core.inference.conversion import PRECISIONS
from tnet_core.inference.engine import optimised
from tnet_core.inference.traversal import traverse
from tnet_core.modeling.tnet import TNet
from tnet_core.trace import Trace

_MAX_NAMED = 10  # unreadable images that the summary names; the table of images names all


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    return run_command(lambda: _run(_make_parser().parse_args(arguments)), "Interrupted; the same command continues.")


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("tnet_core.batch"),
        description="Traverse many images and write two tables into the folder OUT: OUT/images, a row per image, and "
        "OUT/looks, a row per look, as Parquet files. A run that was ended goes on with the same command. "
        "For several processes: accelerate launch --multi_gpu --num_processes N -m tnet_core.batch ….",
    )
    add = parser.add_argument
    add("source", metavar="FOLDER|LIST", type=Path, help="a folder of images, or of class folders; a text file with a "
        "path per line; or a CSV file with the columns file and label")  # fmt: skip
    add("--out", metavar="OUT", type=Path, required=True, help="folder to make, such as looks.parquet, or to continue")
    add("--checkpoint", metavar="ID|FOLDER|hf:…", help="default: the first of the registry, for any photograph")
    add("--registry", metavar="FILE", help="a further registry of checkpoints")
    add("--budget", metavar="K[,K…]", help="looks per grid, one number per level below the first")
    add("--levels", metavar="N|auto", help="processing levels (default: those of training)")
    add("--policy", default="learned", help="learned, random[:SEED], centre, raster, or cells: 3,7")
    add("--sampling", choices=("official", "native"), help="default: that of the checkpoint")
    add("--precision", choices=tuple(PRECISIONS), default="float32",
        help="bfloat16: faster on CPUs that have it, less exact; recorded")  # fmt: skip
    add("--shard", metavar="N", type=int, default=DEFAULT_SHARD, help=f"images per file (default {DEFAULT_SHARD})")
    add("--fiftyone", metavar="OUT", type=Path, help="also write all of it as a FiftyOne data set into this new folder")
    add("--device", help="cpu or cuda (default: cuda where present)")
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.shard < 1:
        raise TNetError(f"--shard is {options.shard}, but must be at least 1.")
    import_parquet()  # before the long work
    warn_of_lone_process()
    process = Process.from_environment()
    found = list_images(options.source)
    model = _load(options)
    budget, levels = parse_budget(options.budget), parse_levels(options.levels)
    policy = parse_policy(options.policy)

    def look(image: object) -> Trace:
        return traverse(model, image, budget, policy, levels, sampling=options.sampling)

    look(np.zeros((64, 64, 3), np.uint8))  # an impossible budget or policy is no fault of the images
    run = Run(
        images=len(found.images),
        images_sha256=found.digest(),
        checkpoint=model.source,
        weights_sha256=hash_weights(model),
        budget=options.budget,
        levels=options.levels,
        policy=options.policy,
        sampling=options.sampling,
        shard=options.shard,
        precision=options.precision,
    )
    if options.fiftyone is not None:
        check_places(options.out, options.fiftyone)
        check_place(options.fiftyone, run)
    open_run(options.out, run)
    missing = list_missing(options.out, run)
    done = run.images - count_images(run, missing)
    if done and process.rank == 0:
        print(f"{done} of {run.images} images are there already.", file=sys.stderr)
    own = count_images(run, missing, process)
    with tqdm(total=own, desc="traversing", unit="image", disable=True if process.rank else None) as bar:
        write_shards(options.out, run, found, look, process, bar.update)
    summary = finish_run(options.out, run)
    if summary is not None:  # in the process that ends last
        print(describe_summary(options.out, summary))
        if options.fiftyone is not None:
            left_out = 0
            if not check_place(options.fiftyone, run):
                left_out = write_dataset(options.fiftyone, options.out, run, found, tuple(model.class_names))
            print(describe_dataset(options.fiftyone, left_out))


def check_places(out: Path, fiftyone: Path) -> None:
    """Refuse one folder, or one inside the other, for the tables and for FiftyOne's data set."""
    tables, dataset = (path.resolve() for path in (out, fiftyone))
    if tables.is_relative_to(dataset) or dataset.is_relative_to(tables):
        raise TNetError("--out and --fiftyone are two folders, neither inside the other.")


def _load(options: argparse.Namespace) -> TNet:
    name, device = options.checkpoint, options.device
    if name is None:
        name = next(iter(checkpoints.Registry.load(options.registry).ids), "")
    if device is None and torch.cuda.is_available():
        device = f"cuda:{read_number('LOCAL_RANK', 0) % torch.cuda.device_count()}"
    model = checkpoints.load(name, registry=options.registry, device=device)
    return optimised(model, precision=options.precision)


def hash_weights(model: TNet) -> str:
    """Return the sha256 of a model's configuration and of all its tensors."""
    found = hashlib.sha256(repr(model.config).encode())
    for name, tensor in sorted(model.state_dict().items()):
        found.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def describe_summary(out: Path, summary: Summary) -> str:
    """Return what the tables hold, and the names of images that could not be read."""
    lines = [f"'{out}' holds {summary.images} images and {summary.looks} looks."]
    if summary.known:
        lines.append(f"The true class is known of {summary.known} images; {summary.correct} are classified correctly.")
    if summary.unreadable:
        count = len(summary.unreadable)
        lines.append(f"{count} image{'' if count == 1 else 's'} could not be read (column 'error' of the images):")
        lines += ["  " + " ".join(f"{file}: {why}".splitlines()) for file, why in summary.unreadable[:_MAX_NAMED]]
        lines += [f"  and {count - _MAX_NAMED} more"] if count > _MAX_NAMED else []
    return "\n".join(lines)


def describe_dataset(out: Path, left_out: int) -> str:
    """Return how to open a FiftyOne data set, and how many images it lacks."""
    text = f"'{out}' opens with fiftyone.Dataset.from_dir('{out}', dataset_type=fiftyone.types.FiftyOneDataset)."
    return text + (f" {left_out} images are not in it: their names are not UTF-8." if left_out else "")


if __name__ == "__main__":
    sys.exit(main())
