"""Convert an official TensorFlow checkpoint: `python -m tnet_core.official PATH OUT --preset NAME`."""

from __future__ import annotations

import argparse
import hashlib
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tnet_core.command import name_program, run_command
from tnet_core.errors import TNetError, reason
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.presets import preset
from tnet_core.official.bundle import locate_index
from tnet_core.official.convert import convert, list_official_presets

_LARGEST_LABELS = 16 << 20
_DATASETS = {"cub": "CUB-200-2011", "nabirds": "NABirds", "fmow": "fMoW"}  # by the first part of a preset's name


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(lambda: _convert(_parser().parse_args(arguments)))


def _convert(options: argparse.Namespace) -> None:
    try:
        print(_run(options))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TNetError(f"'{options.out}' cannot be written: {reason(error)}.") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("tnet_core.official"),
        description="Convert an official TensorFlow checkpoint into a checkpoint folder; TensorFlow is not needed.",
        epilog=textwrap.fill(f"Presets: {', '.join(list_official_presets())}.", 79, break_on_hyphens=False),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", help="the .index file, its name without that ending, or the folder it is in")
    parser.add_argument("out", type=Path, help="folder to write")
    parser.add_argument("--preset", required=True, metavar="NAME", help="the model that was trained, e.g. cub-b0")
    parser.add_argument(
        "--labels", type=Path, metavar="FILE", help="class names, one per line, in the order of the training labels"
    )
    parser.add_argument("--half", action="store_true", help="store weights in half precision")
    parser.add_argument("--force", action="store_true", help="write into OUT even if it is not empty")
    return parser


def _run(options: argparse.Namespace) -> str:
    from tnet_core.checkpoints import save

    # What can be refused at once is refused before the long work.
    config = preset(options.preset)
    class_names = None if options.labels is None else read_labels(options.labels, config)
    _check_out(options.out, options.force)
    index = locate_index(options.path)
    model = convert(index, config, progress=True)
    provenance = {
        "origin": "official TensorFlow checkpoint, converted",
        "checkpoint": index.name.removesuffix(".index"),
        # The index holds a checksum of every tensor, so its hash stands for the whole checkpoint.
        "index_sha256": hashlib.sha256(index.read_bytes()).hexdigest(),
        "preset": config.name,
        "dataset": _DATASETS.get(config.name.partition("-")[0], "ImageNet"),
        "licence": "published by its authors without a licence; not for redistribution",
        "citation": "Papadopoulos, Korus, Memon: Hard-Attention for Scalable Image Classification, NeurIPS 2021",
    }
    folder = save(model, options.out, class_names=class_names, provenance=provenance, half=options.half)
    return f"Converted '{index.name}' ({config.name}) to '{folder}'."


def read_labels(path: Path, config: TNetConfig) -> list[str]:
    """Return class names from a text file, one per line."""
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST_LABELS).decode("utf-8-sig")
    except OSError as error:
        raise TNetError(f"The labels file '{path}' cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise TNetError(f"The labels file '{path}' is not UTF-8 text.") from None
    names = [line.strip() for line in text.rstrip().split("\n")] if text.strip() else []
    if len(names) != config.num_classes:
        raise TNetError(
            f"The labels file '{path}' has {len(names)} lines, but '{config.name}' has {config.num_classes} classes."
        )
    if "" in names:
        raise TNetError(f"Line {names.index('') + 1} of the labels file '{path}' is empty.")
    return names


def _check_out(out: Path, force: bool) -> None:
    if out.exists() and not out.is_dir():
        raise TNetError(f"'{out}' is a file; name a folder to write.")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise TNetError(f"The folder '{out}' is not empty; choose another or add --force.")


if __name__ == "__main__":
    sys.exit(main())
