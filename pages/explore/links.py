"""What a link asks for, read from query parameters that anybody may have written. Knows no model.

    ?checkpoint=tnet-needles&example=needles-1&looks=3,1&class=4&against=second&cells=12,7,12.3&step=2
    ?checkpoint=tnet-lite0-cub&example=nuthatch&sampling=native&levels=auto&looks=2,1
    ?checkpoint=tnet-lite0-cub&picture=own&looks=3

`cells` are looks chosen by hand, in their order, each as the cells that lead to it from the thumbnail's grid; `step`
says how many of the looks are shown; `against` is what a class is compared with, and a link that names looks or a class
without it is an old one and compares with nothing; `picture=own` says that an uploaded picture was shown, which no link
holds.
The open tab and its settings are other parameters (`viz/web/ui/address.js`). A parameter that is not as it should be
is left out and complained about. What it said is never repeated on the page, numbers and ids aside: a link must not put
words into the app's mouth.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import tnet_core as tn
from pages.sampling import AUTO, SAMPLINGS, SamplingMode
from pages.server.sessions import Cell
from tnet_core.budget import MAX_LEVELS

NAMES = ("checkpoint", "example", "picture", "sampling", "levels", "looks", "class", "against", "cells", "step")
VERSUS = ("rival", "second", "none")  # what the thumbnail says or the runner-up; the runner-up; no class
NOTHING = "none"  # cells of somebody who removed every look
MAX_VALUE_CHARACTERS = 1000  # of one value
MAX_PARAMETERS = 40

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NUMBER = r"[0-9]{1,4}"  # not \d: digits of other scripts are not meant
_DEEPER = MAX_LEVELS - 2  # numbers after the first of a budget, or of a path
_NUMBERS = re.compile(rf"{_NUMBER}(,{_NUMBER}){{0,{_DEEPER}}}")
_CELLS = re.compile(rf"{_NUMBER}(\.{_NUMBER}){{0,{_DEEPER}}}(,{_NUMBER}(\.{_NUMBER}){{0,{_DEEPER}}})*")

Path = tuple[int, ...]  # cells from the thumbnail's grid inwards


@dataclass(frozen=True)
class Link:
    """Every part may be missing. Numbers are numbers here, whether they exist is seen when the checkpoint is open."""

    checkpoint: str | None = None
    example: str | None = None  # as `slugs` calls it
    picture: Literal["own"] | None = None  # the link was made of an uploaded picture
    looks: tuple[int, ...] | None = None
    cls: int | None = None
    versus: int | Literal["rival", "second", "none"] | None = None
    cells: tuple[Path, ...] | None = None
    step: int | None = None
    sampling: Literal["official", "native"] | None = None
    levels: Literal["auto", "trained"] | None = None

    @property
    def mode(self) -> SamplingMode:
        """The pixels that looks are cut from, and how deep they go."""
        return SamplingMode(self.sampling, AUTO if self.levels == AUTO else None)

    def without_looks(self) -> Link:
        """Return the link for another picture than it means."""
        return replace(self, cells=None, step=None)

    def as_trained(self, levels: int) -> Link:
        """Return the link for looks that are cut as in training, so many levels deep."""
        fits = self.looks is not None and len(self.looks) == levels - 1
        return replace(self.without_looks(), looks=self.looks if fits else None, sampling=None, levels=None)


def parse_link(parameters: Iterable[tuple[str, str]]) -> tuple[Link, dict[str, str]]:
    """Return the link, and what is wrong with it, by parameter."""
    given: dict[str, list[str]] = {}
    for number, (name, value) in enumerate(parameters):
        if number >= MAX_PARAMETERS:
            return Link(), {"": f"it has more than {MAX_PARAMETERS} parameters"}
        if name in NAMES:
            given.setdefault(name, []).append(value)
    found: dict[str, object] = {}
    wrong: dict[str, str] = {}
    for name in NAMES:
        values = given.get(name, [])
        if len(values) > 1:
            wrong[name] = f"it gives '{name}' more than once"
        elif values and len(values[0]) > MAX_VALUE_CHARACTERS:
            wrong[name] = f"its '{name}' is too long"
        elif values:
            field, make, expected = _PARTS[name]
            found[field] = make(values[0])
            if found[field] is None:
                wrong[name] = f"its '{name}' is not {expected}"
    return Link(**found), wrong  # type: ignore[arg-type]


def _match_pattern(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    return lambda text: text if pattern.fullmatch(text) else None


def _match_word(*words: str) -> Callable[[str], str | None]:
    return lambda text: text if text in words else None


def _parse_number(text: str) -> int | None:
    return int(text) if re.fullmatch(_NUMBER, text) else None


def _parse_numbers(text: str) -> tuple[int, ...] | None:
    return tuple(map(int, text.split(","))) if _NUMBERS.fullmatch(text) else None


def _parse_versus(text: str) -> int | str | None:
    return text if text in VERSUS else _parse_number(text)


def _parse_cells(text: str) -> tuple[Path, ...] | None:
    if text == NOTHING:
        return ()
    return tuple(tuple(map(int, path.split("."))) for path in text.split(",")) if _CELLS.fullmatch(text) else None


_PARTS: dict[str, tuple[str, Callable[[str], object], str]] = {
    "checkpoint": ("checkpoint", _match_pattern(_ID), "the id of a checkpoint"),
    "example": ("example", _match_pattern(_SLUG), "the name of an example"),
    "picture": ("picture", _match_word("own"), "'own'"),
    "sampling": ("sampling", _match_word(*SAMPLINGS), "'official' or 'native'"),
    "levels": ("levels", _match_word(AUTO, "trained"), "'auto' or 'trained'"),
    "looks": ("looks", _parse_numbers, "a number of looks per level, such as 3 or 3,1"),
    "class": ("cls", _parse_number, "the number of a class"),
    "against": ("versus", _parse_versus, "the number of a class, 'rival', 'second' or 'none'"),
    "cells": ("cells", _parse_cells, "a list of cells, such as 12,7,12.3"),
    "step": ("step", _parse_number, "a number of looks"),
}


def name_checkpoint(spec: str) -> str | None:
    """Return the id by which a link names a checkpoint; None for a folder of this machine."""
    return spec if _ID.fullmatch(spec) else None


def make_slugs(titles: Sequence[str]) -> list[str]:
    """Name examples for links: by their titles, numbered where several are the same."""
    found: list[str] = []
    for title in titles:
        plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
        base = "-".join(re.findall(r"[a-z0-9]+", plain)) or "picture"
        name, count = base, 1
        while name in found:
            count += 1
            name = f"{base}-{count}"
        found.append(name)
    return found


def plan_cells(trace: tn.Trace, cells: Sequence[Path], most: int) -> tuple[tuple[int, ...], tuple[Cell, ...]]:
    """Return positions of looks chosen by hand, and the looks to take first; there may be `most` altogether."""
    positions = {(look.parent, look.index): at for at, look in enumerate(trace.locations)}
    known = len(positions)
    plan: dict[Path, int] = {}
    added: list[Cell] = []
    for path in cells:
        if len(path) > trace.levels - 1:
            raise tn.TNetError(f"it looks {len(path)} levels deep and the model has {trace.levels - 1}")
        if max(path) >= trace.config.cells:
            raise tn.TNetError(f"it asks for cell {max(path)} and the last one is {trace.config.cells - 1}")
        if path in plan:
            raise tn.TNetError("it asks for the same cell twice")
        if len(path) > 1 and path[:-1] not in plan:
            raise tn.TNetError("it looks inside a cell that it did not look at before")
        cell = (plan[path[:-1]] if len(path) > 1 else None, path[-1])
        if cell not in positions:
            positions[cell] = known + len(added)
            added.append(cell)
        plan[path] = positions[cell]
    if known + len(added) > most:
        raise tn.TNetError(f"it asks for more looks than the {most} a page holds")
    return tuple(plan.values()), tuple(added)
