"""`python -m training.bundle CHECKPOINT FOLDER`: a checkpoint as it is shipped, in half precision and with its card.

python -m training.bundle runs/lite0-cub/checkpoint checkpoints/tnet-lite0-cub   # half-precision copy
python -m training.evaluate checkpoints/tnet-lite0-cub …                         # measures what is shipped
python -m training.bundle checkpoints/tnet-lite0-cub --title "…"                 # writes README.md, prints the
                                                                                 # registry entry
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import tnet_core as tn
from tnet_core.checkpoints.card import card_of
from tnet_core.checkpoints.drafting import draft, hash_files, make_id
from tnet_core.command import name_program, run_command
from tnet_core.errors import TNetError, reason
from tnet_core.schemas.files import REQUIRED_FILES, TENSOR_FILE
from training.publishing.model_card import read_card, write_card

MAX_PLAIN_GIT_BYTES = 10_000_000  # bytes: a Space takes larger files through Git LFS only


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(lambda: _run(_make_parser().parse_args(arguments)))


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("training.bundle"),
        description="Copy a checkpoint in half precision into FOLDER, to be shipped with the project; or, with one "
        "folder alone, write its card (README.md) from what it holds and print its registry entry.",
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="registry id, folder or hf:owner/name")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="where the copy goes")
    parser.add_argument("--title", help="title of the card (default: the folder's name)")
    parser.add_argument("--description", help="one line for the registry entry")
    parser.add_argument("--notes", metavar="FILE", help="Markdown sections for the card, before the numbers")
    return parser


def _run(options: argparse.Namespace) -> None:
    folder, notes = Path(options.folder or options.checkpoint), _read_notes(options.notes)
    title = options.title or folder.resolve().name
    is_new = not folder.exists()
    if options.folder is not None:
        check_target(options.checkpoint, folder)
        copy_in_half_precision(options.checkpoint, folder)
    try:
        card = read_card(folder)
        write_card(folder, card, title, notes)
    except BaseException:  # no room, or interrupted
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    size = (folder / TENSOR_FILE).stat().st_size
    if size > MAX_PLAIN_GIT_BYTES:
        print(f"Note: {TENSOR_FILE} has {size / 1e6:.1f} MB; a Space needs Git LFS for it.", file=sys.stderr)
    if card.evaluation is None:
        print(f"Not measured yet: run 'python -m training.evaluate {folder} DATA', then this again.", file=sys.stderr)
    given = {"id": make_id(folder.resolve().name), "title": title, "description": options.description}
    print(
        draft(card, {"folder": _name_in_registry(folder)}, hash_files(folder), Path("checkpoints.yaml"), given), end=""
    )


def check_target(checkpoint: str, folder: Path) -> None:
    """Refuse the checkpoint's own folder, and one that holds anything else than an earlier copy, which is replaced."""
    try:
        names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    except OSError as error:
        raise TNetError(f"Cannot read '{folder}': {reason(error)}.") from None
    if not names:
        return
    if folder.resolve() == Path(checkpoint).resolve():
        raise TNetError(f"'{folder}' is the checkpoint's own folder; name another one for the copy.")
    if not set(REQUIRED_FILES) <= names:
        raise TNetError(f"'{folder}' holds something else than a checkpoint; name a new folder.")
    print(f"The checkpoint in '{folder}' is replaced.", file=sys.stderr)


def _name_in_registry(folder: Path) -> str:
    """Return the folder as a registry in the current folder names it, or one beside it if it lies elsewhere."""
    whole, here = folder.resolve(), Path.cwd().resolve()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else whole.name


def copy_in_half_precision(checkpoint: str, folder: Path) -> None:
    """Save the same model with its weights rounded to half precision; computation stays float32."""
    model = tn.load(checkpoint, device="cpu")
    card = card_of(model)
    tn.save(model, folder, provenance=dict(card.provenance), half=True)


def _read_notes(path: str | None) -> str:
    if path is None:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").strip() + "\n"
    except (OSError, UnicodeDecodeError) as error:
        raise TNetError(f"Cannot read the notes in '{path}': {reason(error)}.") from None


if __name__ == "__main__":
    sys.exit(main())
