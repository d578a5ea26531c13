"""`Shelf`: the checkpoints a person can choose from, opened at first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tnet_core.build import build
from tnet_core.checkpoints.card import CheckpointCard, card_of
from tnet_core.checkpoints.entry import Entry
from tnet_core.checkpoints.example_set import ExampleSet
from tnet_core.checkpoints.format import Notice
from tnet_core.checkpoints.loading import entry_card, load
from tnet_core.checkpoints.registry import Registry
from tnet_core.errors import TNetError
from tnet_core.inference.optimise.optimised import optimised
from tnet_core.modeling.presets import preset
from tnet_core.modeling.tnet import TNet

UNTRAINED = "untrained"
_KEPT = 4  # models in memory at once


@dataclass(frozen=True)
class Choice:
    """One checkpoint that is offered."""

    spec: str  # what `load` takes, or UNTRAINED
    title: str
    examples: ExampleSet | None = None


class Shelf:
    """The registry's checkpoints that take looks, and one more named by the user; a model is opened once.

    `complaints` collects a sentence for everything that should have been usable and was not.
    """

    def __init__(self, registry: Registry, *, stand_in: str, device: str | None = None) -> None:
        self.complaints: list[str] = []
        self._registry = registry
        self._stand_in = stand_in  # preset that is built, untrained, where no checkpoint is usable
        self._device = device
        self._models: dict[str, TNet] = {}  # the one used last at the end
        self._cards: dict[str, CheckpointCard] = {}
        self._lock = threading.RLock()
        self._choices = {entry.id: Choice(entry.id, entry.title, entry.examples) for entry in self._looking()}

    @classmethod
    def stocked(cls, registry: str | Path | None, *, stand_in: str, device: str | None = None) -> Shelf:
        """From registry files; one that cannot be read leaves the shelf empty and is complained about."""
        try:
            return cls(Registry.load(registry), stand_in=stand_in, device=device)
        except TNetError as error:
            empty = cls(Registry(), stand_in=stand_in, device=device)
            empty.complaints.append(str(error))
            return empty

    @property
    def choices(self) -> list[Choice]:
        """In the order of the registry."""
        return list(self._choices.values())

    def cards(self) -> list[CheckpointCard]:
        """What is known, without a download, about every checkpoint that was measured; models without looks too.

        A card that was made once stays the same object.
        """
        with self._lock:
            for entry in self._registry:
                if entry.id not in self._cards:
                    self._learn(entry.id, partial(entry_card, entry, on_notice=_ignore))
            for spec, model in self._models.items():
                if spec not in self._cards and spec != UNTRAINED:
                    self._learn(spec, partial(card_of, model))
            return list(self._cards.values())

    def _learn(self, spec: str, make: Callable[[], CheckpointCard]) -> None:
        try:
            card = make()
        except TNetError:
            return  # opening it will say what is wrong
        if card.evaluation is not None:
            self._cards[spec] = card

    def choice(self, spec: str) -> Choice:
        """One that is offered; nothing else can be opened."""
        if spec not in self._choices:
            raise TNetError(f"The checkpoint {spec!r:.80} is not offered here; {self._registry.known(spec)}.")
        return self._choices[spec]

    def add(self, spec: str, on_notice: Notice | None = None) -> Choice:
        """Open a checkpoint by id, folder or Hub repository and offer it, in front of the others."""
        if spec in self._choices:
            self.open(spec)
            chosen = self._choices.pop(spec)
        else:
            model = _looks(load(spec, registry=self._registry, device=self._device, on_notice=on_notice), spec)
            self._keep(spec, model)
            chosen = Choice(spec, card_of(model).title or model.source)
        self._choices = {chosen.spec: chosen} | self._choices
        return chosen

    def open(self, spec: str) -> TNet:
        """The model of a choice; nothing that is not offered is opened."""
        with self._lock:
            if spec in self._models:
                return self._keep(spec, self._models.pop(spec))
            self.choice(spec)
            if spec == UNTRAINED:
                return self._keep(spec, _fast(build(preset(self._stand_in), seed=0, device=self._device)))
            quiet: Notice = self._complain
            return self._keep(
                spec, _looks(load(spec, registry=self._registry, device=self._device, on_notice=quiet), spec)
            )

    def first(self) -> str:
        """The first choice that lies here and opens; where none does, an untrained model, offered from then on."""
        with self._lock:
            here = [spec for spec in self._choices if self._is_here(spec)]
            for spec in here:
                if self._opens(spec):
                    return spec
            stand_in = Choice(UNTRAINED, f"Untrained weights ({self._stand_in})")
            self._choices = {UNTRAINED: stand_in} | self._choices
            return UNTRAINED

    def _opens(self, spec: str) -> bool:
        try:
            self.open(spec)
        except TNetError as error:
            self._complain(str(error))
            del self._choices[spec]
            return False
        return True

    def _complain(self, sentence: str) -> None:
        if sentence not in self.complaints:
            self.complaints.append(sentence)

    def _is_here(self, spec: str) -> bool:
        """Whether opening needs no network: a start must not wait for one."""
        if spec in self._models or spec not in self._registry:
            return True
        entry = self._registry.get(spec)
        return entry.folder is not None and (entry.folder.is_dir() or entry.hub is None)

    def _looking(self) -> list[Entry]:
        """Entries whose model takes looks, as far as that is known without a download."""
        return [entry for entry in self._registry if not self._is_baseline(entry)]

    def _is_baseline(self, entry: Entry) -> bool:
        try:
            config = entry_card(entry, on_notice=_ignore).config
        except TNetError:
            return False  # opening it will say what is wrong
        return config is not None and config.is_baseline

    def _keep(self, spec: str, model: TNet) -> TNet:
        self._models[spec] = model
        while len(self._models) > _KEPT:
            del self._models[next(iter(self._models))]
        return model


def _looks(model: TNet, spec: str) -> TNet:
    if model.config.is_baseline:
        raise TNetError(f"'{spec}' is a baseline that sees the whole image at once: there are no looks to explore.")
    return _fast(model)


def _fast(model: TNet) -> TNet:
    # A copy stays on its device; a Space's lent GPU comes and goes.
    return optimised(model) if model.device.type == "cpu" else model


def _ignore(_: str) -> None:
    """Said again when the checkpoint is opened."""
