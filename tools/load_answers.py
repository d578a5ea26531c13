"""What the server sends to the visitors of a load test, read so far that one traversal can be told from another."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tools.queue_client import Answer, QueueError

CLOSE = 1e-3  # of numbers that the same picture gave before
Cell = tuple[int | None, int]  # the position of the look it lies in (None: the thumbnail) and its number in that grid


@dataclass(frozen=True)
class Scene:
    """A traversal as the page is sent it: what tells it from another, and which cells it leaves to look at."""

    title: str
    size: tuple[int, int]
    numbers: np.ndarray  # every look's share of every class
    number: int  # by which the page names it when it asks about it
    count: int  # of looks
    free: tuple[Cell, ...]  # cells that were not looked at, at most one of each grid

    @classmethod
    def from_answer(cls, answer: Answer) -> Scene:
        """Read the traversal among the values of an answer; the sentence that came instead is an error."""
        read = read_message(answer, "scene")
        taken = {(look["parent"], look["index"]) for look in read["looks"]}
        cells = range(read["grid"] ** 2)
        found = [[(grid["parent"], at) for at in cells if (grid["parent"], at) not in taken] for grid in read["grids"]]
        return cls(
            title=read["title"],
            size=(read["width"], read["height"]),
            numbers=decode_floats(read["projections"]),
            number=read["scene"],
            count=len(read["looks"]),
            free=tuple(cells[0] for cells in found if cells),
        )

    def is_same(self, other: Scene) -> bool:
        return (self.title, self.size) == (other.title, other.size) and is_close(self.numbers, other.numbers)


@dataclass
class Known:
    """The traversals that answered so far: (checkpoint, example's number or picture's name) -> its traversal.

    Of some cells that the traversal left, also the numbers of the look that was added.
    """

    scenes: dict[tuple[str, int | str], Scene] = field(default_factory=dict)
    added: dict[tuple[str, int | str, Cell], np.ndarray] = field(default_factory=dict)


def read_message(answer: Answer, kind: str) -> dict[str, Any]:
    """Return the message of this kind among the values of an answer; what came instead is an error."""
    texts = [value for value in answer.outputs.values() if isinstance(value, str)]
    messages = [json.loads(text) for text in texts if text.startswith("{")]
    for message in messages:
        if message.get("kind") == kind:
            return dict(message)
    sentences = [message["sentence"] for message in messages if "sentence" in message]
    sentences += [text for text in texts if "tn-problem" in text]
    raise QueueError(next(iter(sentences), f"No '{kind}' came back."))


def read_look_numbers(message: dict[str, Any]) -> np.ndarray:
    """Return what an added look gave: its share of every class, then the weights of the looks of the plan."""
    weights = message["weights"]
    parts = (message["projections"], weights["values"], weights["without"])
    return np.concatenate([decode_floats(part) for part in parts])


def decode_floats(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


def is_close(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether two answers hold the same numbers, as far as two runs of the same arithmetic do."""
    return a.shape == b.shape and bool(np.allclose(a, b, atol=CLOSE, rtol=0))
