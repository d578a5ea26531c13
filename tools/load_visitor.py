"""One visitor of a load test: does what people do on the page, and knows what each answer must be."""

from __future__ import annotations

import io
import random
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import numpy as np
from PIL import Image

from tools.load_answers import Cell, Known, Scene, is_close, read_look_numbers, read_message
from tools.queue_client import Answer, QueueClient, QueueError

STAY = 8  # actions on one page before it is opened anew
CELLS = 2  # of every picture that one visitor alone adds first, as far as the traversal leaves so many


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
        kind = self.chance.choice(["example", "example", "upload", "upload", "steer", "add", "add", "switch"])
        if kind == "example":
            self.example(self.chance.randrange(self.examples()))
        elif kind == "upload":
            self.upload(self.chance.choice(self.own))
        elif kind == "steer":
            self.steer(self.chance.sample(range(4), 2))
        elif kind == "add":
            self.add_any_look()
        else:
            self.switch(self.chance.choice([spec for spec in self.checkpoints if spec != self.spec]))

    def open(self) -> None:
        with self._time("open the page"):
            self.page = QueueClient(self.address)
            self.page.http.get("/").raise_for_status()
            [answer] = self.page.happens("load")
        self.spec = self.checkpoints[0]
        self._compare(0, answer)

    def list_checkpoints(self) -> list[str]:
        """Return what the page offers, that of the landing first."""
        page = QueueClient(self.address)
        chooser = page.components[page.component("explore-chooser")]["props"]
        page.close()
        return [chooser["value"], *(spec for _, spec in chooser["choices"] if spec != chooser["value"])]

    def examples(self) -> int:
        """Count the examples of the page's checkpoint; that of another one, to dive into, has no number."""
        return len(re.findall(r'data-example="\d+"', str(self.page.values[self.page.component("explore-gallery")])))

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
        """Put known looks in an order of its own: the answer must name exactly these."""
        with self._time("choose looks by hand"):
            [answer] = self.page.happens("steer", self.page.component("channel"), {"plan": plan})
        if (sent := read_message(answer, "steer")["plan"]) != plan:
            self.mixed_up.append(f"asked for the looks {plan}, was sent {sent}")

    def add_any_look(self) -> None:
        """Add a look that nobody took yet; where this checkpoint looks at every cell, open one that leaves some."""
        if not self.scene.free:
            leaving = {spec for (spec, _), scene in self.known.scenes.items() if scene.free} - {self.spec}
            if not leaving:
                return
            self.switch(self.chance.choice(sorted(leaving)))
        left = [cell for cell in self.scene.free[:CELLS] if cell not in self.added]
        if left:
            self.add(self.chance.choice(left))

    def add(self, cell: Cell) -> None:
        """Have a further cell looked at: its numbers must be those that it gave the lone visitor."""
        parent, index = cell
        plan, count = [] if parent is None else [parent], self.scene.count + len(self.added)
        asked = {"scene": self.scene.number, "plan": plan, "known": count, "add": {"parent": parent, "index": index}}
        with self._time("add a look"):
            [answer] = self.page.happens("steer", self.page.component("channel"), asked)
        self.added.append(cell)
        sent = read_message(answer, "steer")
        looks = [(look["parent"], look["index"]) for look in sent["looks"]]
        if (sent["plan"], sent["first"], looks) != ([*plan, count], count, [cell]):
            self.mixed_up.append(f"added {cell} as look {count}, was sent {looks} from look {sent['first']} on")
            return
        key, numbers = (self.spec, self.shown, cell), read_look_numbers(sent)
        if not is_close(self.known.added.setdefault(key, numbers), numbers):
            self.mixed_up.append(f"{key}: the look that was added is that of another picture")

    def add_free_cells(self) -> None:
        """Add the looks that the other visitors will add."""
        for cell in self.scene.free[:CELLS]:
            self.add(cell)

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
        """Remember a first answer; every later one must be the same."""
        scene, key = Scene.from_answer(answer), (self.spec, what)
        self.shown, self.scene, self.added = what, scene, list[Cell]()
        expected = self.known.scenes.setdefault(key, scene)
        if not expected.is_same(scene):
            self.mixed_up.append(f"{key}: expected '{expected.title}', was sent '{scene.title}'")


def learn_answers(address: str, pictures: Sequence[OwnPicture], checkpoints: Sequence[str]) -> Known:
    """Return what every picture gives each checkpoint while nobody else is there."""
    lone = Visitor(address, pictures, checkpoints, Known())
    lone.open()
    for spec in checkpoints:
        if spec != lone.spec:
            lone.switch(spec)
        for number in range(lone.examples()):
            lone.example(number)
            lone.add_free_cells()
        for picture in pictures:
            lone.upload(picture)
            lone.add_free_cells()
    lone.page.close()
    return lone.known
