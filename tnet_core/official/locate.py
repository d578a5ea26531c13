"""Find the index file of a checkpoint from what a user gives: a prefix, an `.index` file or a folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tnet_core.errors import TNetError

_STATE = "checkpoint"  # TensorFlow's text file that names the newest checkpoint of a folder
_LONGEST_STATE = 1 << 16


def locate_index(path: str | Path) -> Path:
    """The `.index` file meant by a path."""
    path = Path(path)
    try:
        if path.is_dir():
            return _in_folder(path)
        if path.suffix == ".index" and path.is_file():
            return path
        index = _index_of(path)
        if index.is_file():
            return index
    except OSError as error:
        raise TNetError(f"The checkpoint '{path}' cannot be opened: {error.strerror or error}.") from None
    raise TNetError(
        f"There is no TensorFlow checkpoint at '{path}': give its .index file, its name without that ending, "
        "or the folder it is in."
    )


def _index_of(prefix: Path) -> Path:
    return Path(f"{prefix}.index")


def _in_folder(folder: Path) -> Path:
    state = folder / _STATE
    if state.is_file():
        return _newest(folder, state)
    found = sorted(folder.glob("*.index"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise TNetError(
            f"The folder '{folder}' holds no TensorFlow checkpoint: there is neither a '{_STATE}' file nor an "
            ".index file."
        )
    names = ", ".join(index.name for index in found[:5]) + (", …" if len(found) > 5 else "")
    raise TNetError(f"The folder '{folder}' holds {len(found)} checkpoints ({names}): name one of them.")


def _newest(folder: Path, state: Path) -> Path:
    with state.open("rb") as file:
        text = file.read(_LONGEST_STATE).decode("utf-8", "replace")
    match = re.search(r'^\s*model_checkpoint_path\s*:\s*"([^"\\\0\n]+)"', text, re.MULTILINE)
    if match is None or not match[1].isprintable():
        raise TNetError(f"The file '{state}' does not name a checkpoint: give the .index file itself.")
    index = _index_of(folder / match[1])
    # By name, so that links a user made keep working; also stops full paths of the machine that wrote the file.
    if os.path.relpath(index, folder).startswith(os.pardir + os.sep):
        raise TNetError(f"The file '{state}' names a checkpoint outside its folder: give the .index file itself.")
    if not index.is_file():
        raise TNetError(f"The file '{state}' names {match[1]!r:.200}, but '{index.name:.200}' is not in the folder.")
    return index
