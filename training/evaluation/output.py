"""Writing `evaluation.json`, and a progress bar while it is made."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tnet_core.checkpoints.files import EVALUATION_FILE, MAX_BYTES, write_atomically
from tnet_core.errors import TNetError


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_text(content: dict[str, Any]) -> str:
    """One line per field: small, and still legible in a diff."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {compact(value)}" for key, value in content.items()) + "\n}\n"


def write_evaluation(content: dict[str, Any], path: Path) -> None:
    """In one step: the file is the old one or the new one, never half of it."""
    data = to_text(content).encode("utf-8")
    if len(data) > MAX_BYTES[EVALUATION_FILE]:
        raise TNetError(f"The result has {len(data)} bytes, more than an evaluation may have; use a smaller budget.")
    write_atomically(path, lambda temporary: temporary.write_bytes(data))


def check_place(path: Path) -> None:
    """Before an hour of work, not after it."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise TNetError(f"The result cannot be written to '{path}'; name a file in a folder you may write to (--out).")


class Bar:
    """A progress bar per pass over the images."""

    def __init__(self, *, shown: bool) -> None:
        self._shown, self._what = shown, ""
        self._bar: tqdm[Any] | None = None

    def __enter__(self) -> Bar:
        return self

    def update(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self.__exit__()
            self._what = what
            self._bar = tqdm(total=total, desc=what, unit="image", disable=not self._shown, mininterval=0.5)
        assert self._bar is not None
        self._bar.update(done - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
