"""Example pictures: those that this package draws, for a model that knows nothing, and those listed in `examples/`.

A drawing is one quiet composition with details that only show from close by. It is the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tnet_core import TNetError
from viz.examples import circuit_board, city, farmland, harbour

EXAMPLES_FOLDER = Path(__file__).resolve().parents[2] / "examples"
LIST_FILE = "examples.yaml"
PICTURE_KINDS = ("photo", "bird", "pet", "needles")


@dataclass(frozen=True)
class Drawing:
    title: str
    draw: Callable[[], np.ndarray]


DRAWINGS: tuple[Drawing, ...] = (
    Drawing("Harbour at dusk", harbour.draw),
    Drawing("Farmland", farmland.draw),
    Drawing("City at night", city.draw),
    Drawing("Circuit board", circuit_board.draw),
)


@lru_cache(maxsize=len(DRAWINGS))
def draw_picture(index: int) -> np.ndarray:
    """Draw picture `index` of `DRAWINGS` as (H, W, 3) uint8, read-only because it is shared."""
    pixels = DRAWINGS[index].draw()
    pixels.setflags(write=False)
    return pixels


@dataclass(frozen=True)
class ListedPicture:
    """One picture: what it shows, who made it, and what may be done with it."""

    file: str  # in the folder of the list
    title: str
    kinds: tuple[str, ...]  # which checkpoints it suits
    author: str
    licence: str
    statement: str  # words of the source about author and licence
    source: Mapping[str, str] = field(hash=False)  # a file of a package, or the module that draws it
    sha256: str  # of the file; empty for what is drawn, which can be drawn again
    link: str = ""
    label: str = ""  # class it shows, where that is known
    stories: Mapping[str, str] = field(default_factory=dict, hash=False)  # why it was chosen, by kind of checkpoint
    deep: bool = False  # shown in its own pixels, as deep as they go
    box: tuple[float, ...] = ()  # x0, y0, x1, y1 of its main object, drawn by eye; nothing learns from it


@lru_cache(maxsize=4)
def read_picture_list(folder: Path = EXAMPLES_FOLDER) -> tuple[ListedPicture, ...]:
    """Read all pictures, in the order of the gallery; none where the folder has no list."""
    path = folder / LIST_FILE
    if not path.is_file():
        return ()
    try:
        return tuple(_read_picture(item) for item in yaml.safe_load(path.read_text(encoding="utf-8"))["pictures"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise TNetError(f"The list of examples '{path}' cannot be used ({type(error).__name__}: {error}).") from None


def list_pictures_of_kind(kind: str, folder: Path = EXAMPLES_FOLDER) -> tuple[ListedPicture, ...]:
    """List the pictures for one kind of checkpoint."""
    return tuple(picture for picture in read_picture_list(folder) if kind in picture.kinds)


def _read_picture(item: dict[str, Any]) -> ListedPicture:
    source = {str(key): str(value) for key, value in item["source"].items()}
    texts = {key: str(item[key]) for key in ("file", "title", "author", "licence", "statement")}
    more = {key: str(item.get(key, "")) for key in ("sha256", "link", "label")}
    box = tuple(float(share) for share in item.get("box", ()))
    stories = {str(kind): str(words) for kind, words in item.get("stories", {}).items()}
    return ListedPicture(
        kinds=tuple(item["kinds"]),
        source=source,
        box=box,
        deep=bool(item.get("deep")),
        stories=stories,
        **texts,
        **more,
    )
