"""One visitor of a load test: does what people do on the page, and knows what each answer must be."""

from __future__ import annotations

import base64
import io
import json
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import numpy as np
from PIL import Image

from tools.queue_client import Answer, QueueClient, QueueError

CLOSE = 1e-3  # of numbers that the same picture gave before
STAY = 8  # actions on one page before it is opened anew


@dataclass(frozen=True)
class OwnPicture:
    """A picture that nobody else has."""

    name: str
    content: bytes

    @classmethod
    def draw(cls, name: str, seed: int) -> OwnPicture:
        """Draw blocks of colour in a size of its own."""
        chance = np.random.default_rng(seed)
        coarse = chance.integers(0, 256, (*chance.integers(3, 9, 2), 3), dtype=np.uint8)
        width, height = (int(side) for side in chance.integers(300, 1300, 2))
        written = io.BytesIO()
        Image.fromarray(coarse).resize((width, height), Image.Resampling.NEAREST).save(written, "JPEG", quality=90)
        return cls(name, written.getvalue())


@dataclass(frozen=True)
class Scene:
    """What tells one traversal from another."""

    title: str
    size: tuple[int, int]
    numbers: np.ndarray  # every look's share of every class

    @classmethod
    def from_answer(cls, answer: Answer) -> Scene:
        """The traversal among the values of an answer, or the sentence that came instead."""
        texts = [value for value in answer.outputs.values() if isinstance(value, str)]
        for text in texts:
            if text.startswith("{") and (read := json.loads(text)).get("kind") == "scene":
                numbers = np.frombuffer(base64.b64decode(read["projections"]), "<f4")
                return cls(read["title"], (read["width"], read["height"]), numbers)
        raise QueueError(next((text for text in texts if "tn-problem" in text), "No traversal came back."))

    def is_same(self, other: Scene) -> bool:
        return (
            (self.title, self.size, self.numbers.shape) == (other.title, other.size, other.numbers.shape)
            and bool(np.allclose(self.numbers, other.numbers, atol=CLOSE, rtol=0))
        )  # fmt: skip


Known = dict[tuple[str, int | str], Scene]  # (checkpoint, example's number or picture's name) -> its traversal


@dataclass
class Visitor:
    """Acts until told to stop. What it is sent is compared with what the same picture gave before."""

    address: str
    own: Sequence[OwnPicture]
    checkpoints: Sequence[str]  # those it opens; the first is the one of the landing
    known: Known
    chance: random.Random = field(default_factory=random.Random)
    latency: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    mixed_up: list[str] = field(default_factory=list)

    def run(self, until: float) -> None:
        while time.monotonic() < until:
            try:
                self.open()
                for _ in range(STAY):
                    if time.monotonic() < until:
                        self.act()
                self.page.close()
            except (QueueError, httpx.HTTPError, ValueError) as error:
                self.errors.append(f"{type(error).__name__}: {error}")

    def act(self) -> None:
        """Do one of the things that people do, some of them more often."""
        kind = self.chance.choice(["example", "example", "upload", "upload", "steer", "switch"])
        if kind == "example":
            self.example(self.chance.randrange(self.examples()))
        elif kind == "upload":
            self.upload(self.chance.choice(self.own))
        elif kind == "steer":
            self.steer(self.chance.sample(range(4), 2))
        else:
            self.switch(self.chance.choice([spec for spec in self.checkpoints if spec != self.spec]))

    def open(self) -> None:
        with self._time("open the page"):
            self.page = QueueClient(self.address)
            self.page.http.get("/").raise_for_status()
            [answer] = self.page.happens("load")
        self.spec = self.checkpoints[0]
        self._compare(0, answer)

    def examples(self) -> int:
        return str(self.page.values[self.page.component("explore-gallery")]).count("data-example=")

    def example(self, number: int) -> None:
        with self._time("choose an example"):
            [answer] = self.page.happens("click", self.page.component("explore-gallery"), {"example": number})
        self._compare(number, answer)

    def upload(self, picture: OwnPicture) -> None:
        button = self.page.component("explore-upload")
        with self._time("upload a picture"):
            self.page.values[button] = self.page.upload(picture.name, picture.content)
            [answer] = self.page.happens("upload", button)
        self._compare(picture.name, answer)

    def steer(self, plan: list[int]) -> None:
        """Known looks in an order of its own: the answer must name exactly these."""
        with self._time("choose looks by hand"):
            [answer] = self.page.happens("steer", self.page.component("channel"), {"plan": plan})
        text = next(value for value in answer.outputs.values() if isinstance(value, str))
        if json.loads(text).get("plan") != plan:
            self.mixed_up.append(f"asked for the looks {plan}, was sent {text[:80]}")

    def switch(self, spec: str) -> None:
        """Another checkpoint, which looks at what is on the page: the upload, or its first example."""
        chooser = self.page.component("explore-chooser")
        self.page.values[chooser] = spec
        with self._time("open a checkpoint"):
            [answer] = self.page.happens("input", chooser)
        self.spec = spec
        self._compare(self.shown if isinstance(self.shown, str) else 0, answer)

    @contextmanager
    def _time(self, action: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.latency.setdefault(action, []).append(time.perf_counter() - start)

    def _compare(self, what: int | str, answer: Answer) -> None:
        """Remembers a first answer; every later one must be the same."""
        self.shown = what
        scene, key = Scene.from_answer(answer), (self.spec, what)
        if not self.known.setdefault(key, scene).is_same(scene):
            self.mixed_up.append(f"{key}: expected '{self.known[key].title}', was sent '{scene.title}'")


def learn_answers(address: str, pictures: Sequence[OwnPicture], checkpoints: Sequence[str]) -> Known:
    """Return what every picture gives each checkpoint while nobody else is there."""
    lone = Visitor(address, pictures, checkpoints, {})
    lone.open()
    for spec in checkpoints:
        if spec != lone.spec:
            lone.switch(spec)
        for number in range(lone.examples()):
            lone.example(number)
        for picture in pictures:
            lone.upload(picture)
    lone.page.close()
    return lone.known
