"""The checkpoints a visitor can choose from, and their models, opened at first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cachetools import LRUCache

from tnet_core.building import build
from tnet_core.checkpoints.card import CheckpointCard, card_of
from tnet_core.checkpoints.format import Notice
from tnet_core.checkpoints.loading import entry_card, load
from tnet_core.checkpoints.registry import Registry
from tnet_core.errors import TNetError
from tnet_core.inference.engine import optimised
from tnet_core.modeling.config import Precision
from tnet_core.modeling.presets import preset
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.registry import Entry, ExampleSet

Cards = Callable[[], Sequence[CheckpointCard]]  # may wait for a download
UNTRAINED = "untrained"
MAX_MODELS = 4  # in memory at once


@dataclass(frozen=True)
class Choice:
    """One checkpoint that is offered."""

    spec: str  # what `load` takes, or UNTRAINED
    title: str
    examples: ExampleSet | None = None


class ModelCache:
    """The registry's checkpoints that take looks, and one more named by the user; a model is opened once.

    `problems` collects a sentence for everything that should have been usable and was not.
    """

    def __init__(
        self, registry: Registry, *, fallback: str, device: str | None = None, precision: Precision = "float32"
    ) -> None:
        self.problems: list[str] = []
        self._precision = precision
        self._registry = registry
        self._fallback = fallback  # preset that is built, untrained, where no checkpoint is usable
        self._device = device
        self._models: LRUCache[str, TNet] = LRUCache(MAX_MODELS)
        self._cards: dict[str, CheckpointCard] = {}
        self._named: str | None = None  # by the user, at the start
        self._lock = threading.Lock()  # never held while a file is read for long, or fetched
        self._opening: dict[str, threading.Lock] = {}  # by spec: who holds one is opening that model
        self._choices = {entry.id: Choice(entry.id, entry.title, entry.examples) for entry in self._list_entries()}

    @classmethod
    def from_file(cls, registry: str | Path | None, *, fallback: str, device: str | None = None) -> ModelCache:
        """Read registry files; where one cannot be read, nothing is offered and `problems` says why."""
        try:
            return cls(Registry.load(registry), fallback=fallback, device=device)
        except TNetError as error:
            empty = cls(Registry(), fallback=fallback, device=device)
            empty.problems.append(str(error))
            return empty

    @property
    def choices(self) -> list[Choice]:
        """The checkpoints that are offered, in the order of the registry."""
        return list(self._choices.values())

    def list_cards(self) -> list[CheckpointCard]:
        """Return what is known, without a download, about every measured checkpoint; models without looks too.

        A card that was made once stays the same object.
        """
        with self._lock:
            for entry in self._registry:
                if entry.id not in self._cards:
                    self._add_card(entry.id, partial(entry_card, entry, on_notice=_ignore))
            for spec in self._models.keys() - self._cards.keys() - {UNTRAINED}:
                self._add_card(spec, partial(card_of, self._models[spec]))
            return list(self._cards.values())

    def _add_card(self, spec: str, make: Callable[[], CheckpointCard]) -> None:
        try:
            card = make()
        except TNetError:
            return  # opening it will say what is wrong
        if card.evaluation is not None:
            self._cards[spec] = card

    def find_choice(self, spec: str) -> Choice:
        """Return a checkpoint that is offered; nothing else can be opened."""
        if spec not in self._choices:
            raise TNetError(f"The checkpoint {spec!r:.80} is not offered here; {self._registry.list_known_ids(spec)}.")
        return self._choices[spec]

    def add(self, spec: str, on_notice: Notice | None = None) -> Choice:
        """Open a checkpoint by id, folder or Hub repository and offer it, in front of the others."""
        if spec in self._choices:
            self.open(spec)
            chosen = self._choices.pop(spec)
        else:
            model = self._remember(spec, self._load(spec, on_notice))
            chosen = Choice(spec, card_of(model).title or model.source)
        self._choices = {chosen.spec: chosen} | self._choices
        self._named = chosen.spec
        return chosen

    def open(self, spec: str) -> TNet:
        """Return the model of a choice; nothing that is not offered is opened.

        Who asks for a model that is being opened waits for it, and nobody waits for another one: it may be downloaded.
        """
        model = self._find_model(spec)
        if model is not None:
            return model
        self.find_choice(spec)
        with self._lock:
            opening = self._opening.setdefault(spec, threading.Lock())
        with opening:
            model = self._find_model(spec)
            if model is None and spec == UNTRAINED:
                model = self._optimise(build(preset(self._fallback), seed=0, device=self._device))
            return self._remember(spec, model or self._load(spec, self._add_problem))

    def _find_model(self, spec: str) -> TNet | None:
        with self._lock:  # reading notes the use, too
            return self._models.get(spec)

    def _load(self, spec: str, on_notice: Notice | None) -> TNet:
        model = load(spec, registry=self._registry, device=self._device, on_notice=on_notice)
        if model.config.is_baseline:
            raise TNetError(f"'{spec}' is a baseline that sees the whole image at once: there are no looks to explore.")
        return self._optimise(model)

    def _optimise(self, model: TNet) -> TNet:
        if model.device.type != "cpu":
            return model  # a copy stays on its device; a Space's lent GPU comes and goes
        made = optimised(model, precision=self._precision)
        if made.features.precision != "float32":
            self._add_problem(
                f"Looks are computed in {made.features.precision}: sooner, and less exact than published."
            )
        return made

    def open_first(self, preferred: str | None = None) -> str:
        """Open the first choice that is on disk; where none opens, offer an untrained model. Return its spec.

        `preferred` comes before the others, unless the user named a checkpoint at the start.
        """
        first = self._named or preferred
        for spec in sorted(filter(self._is_on_disk, list(self._choices)), key=lambda spec: spec != first):
            if self._try_to_open(spec):
                return spec
        self._choices = {UNTRAINED: Choice(UNTRAINED, f"Untrained weights ({self._fallback})")} | self._choices
        return UNTRAINED

    def _try_to_open(self, spec: str) -> bool:
        try:
            self.open(spec)
        except TNetError as error:
            self._add_problem(str(error))
            self._choices.pop(spec, None)
            return False
        return True

    def _add_problem(self, sentence: str) -> None:
        if sentence not in self.problems:
            self.problems.append(sentence)

    def _is_on_disk(self, spec: str) -> bool:
        """Tell whether opening needs no network: a start must not wait for one."""
        if spec in self._models or spec not in self._registry:
            return True
        entry = self._registry.get(spec)
        return entry.folder is not None and (entry.folder.is_dir() or entry.hub is None)

    def _list_entries(self) -> list[Entry]:
        """Return the entries whose model takes looks, as far as that is known without a download."""
        return [entry for entry in self._registry if not self._is_baseline(entry)]

    def _is_baseline(self, entry: Entry) -> bool:
        try:
            config = entry_card(entry, on_notice=_ignore).config
        except TNetError:
            return False  # opening it will say what is wrong
        return config is not None and config.is_baseline

    def _remember(self, spec: str, model: TNet) -> TNet:
        with self._lock:
            self._models[spec] = model
        return model


def _ignore(_: str) -> None:
    """Drop a notice: it comes again when the checkpoint is opened."""
