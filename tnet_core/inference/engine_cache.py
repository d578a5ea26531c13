"""Converted models that are kept, one folder each below `engine` in the project's cache folder (`TNET_CACHE`).

A folder's name is the sha256 of all that its content depends on. Everything here may be removed at any time, and where
nothing can be written, models are converted anew in each process and stay in its memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from tnet_core.checkpoints.digests import cache_folder
from tnet_core.inference import conversion, converter
from tnet_core.modeling.config import Precision, TNetConfig
from tnet_core.modeling.features import FeatureExtractionModule

MAX_CACHE_BYTES = 1 << 30
_FILES = (conversion.MODEL_FILE, conversion.WEIGHTS_FILE)
_MANIFEST = "sha256.json"
_NEW = ".new-"  # how the name of a folder begins that is being written
_MAX_SECONDS = 3600.0  # that a folder is being written; a conversion ends sooner


def engine_folder() -> Path:
    """Return the folder of all converted models."""
    return cache_folder() / "engine"


def make_key(config: TNetConfig, features: FeatureExtractionModule, precision: Precision) -> str:
    """Return the sha256 of weights and configuration, of what converts them, and of the precision they run in."""
    versions = {name: version(name) for name in ("openvino", "torch", "timm")} | {"ours": conversion.VERSION}
    made_from = {
        "config": config.to_dict(),
        "backbone": conversion.describe_backbone(features),
        "precision": precision,
        "versions": versions,
    }
    found = hashlib.sha256(json.dumps(made_from, sort_keys=True).encode())
    for name, tensor in sorted(features.state_dict().items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


@contextmanager
def open_converted(
    key: str, config: TNetConfig, features: FeatureExtractionModule, precision: Precision
) -> Iterator[Path | bytes]:
    """Give the file of a converted model, or the model itself where no file can be written.

    It is converted first where it is not kept; TNetError if that fails. Another process may remove what is kept.
    """
    if is_kept(key):
        converter.dismiss()
        folder = engine_folder() / key
        with suppress(OSError):
            os.utime(folder)  # the ones used last stay
        yield folder / conversion.MODEL_FILE
        return
    temporary = _make_folder()
    try:
        found = conversion.convert(config, features, precision, temporary)
        yield found if isinstance(found, bytes) else _keep(found.parent, engine_folder() / key) / found.name
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def is_kept(key: str) -> bool:
    """Tell whether a converted model is there, undamaged."""
    return _is_whole(engine_folder() / key)


def _make_folder() -> Path | None:
    try:
        engine_folder().mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=_NEW, dir=engine_folder()))
    except OSError:
        return None


def _keep(temporary: Path, kept: Path) -> Path:
    """Put a new folder in its place in one step; return where its files are."""
    try:
        (temporary / _MANIFEST).write_text(json.dumps(_hash_files(temporary)), encoding="utf-8")
        if _is_whole(kept):  # another process was first, and may be reading it
            return kept
        shutil.rmtree(kept, ignore_errors=True)  # a damaged one
        temporary.rename(kept)
    except OSError:  # another process was first all the same, or the disk is full
        return kept if _is_whole(kept) else temporary
    _remove_oldest(kept)
    return kept


def _hash_files(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in _FILES}


def _is_whole(folder: Path) -> bool:
    """Tell whether the files are those that were written: a damaged model would compute something else."""
    try:
        return bool(json.loads((folder / _MANIFEST).read_text(encoding="utf-8")) == _hash_files(folder))
    except (OSError, ValueError):
        return False


def _remove_oldest(newest: Path) -> None:
    """Remove the models not used for longest until the rest fits, never the one just made, and what was left behind."""
    with suppress(OSError):  # another process removes too
        for folder in newest.parent.glob(f"{_NEW}*"):
            if time.time() - folder.stat().st_mtime > _MAX_SECONDS:  # whoever made it was killed
                shutil.rmtree(folder, ignore_errors=True)
        models = (path for path in newest.parent.iterdir() if path.is_dir() and not path.name.startswith("."))
        total = 0
        for folder in sorted(models, key=lambda path: (path != newest, -path.stat().st_mtime)):
            total += sum(file.stat().st_size for file in folder.iterdir())
            if total > MAX_CACHE_BYTES and folder != newest:
                shutil.rmtree(folder, ignore_errors=True)
