"""What the Audit tab asks for: audits of evaluated checkpoints, and reports on a picture. Knows no component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tnet_core as tn
from pages.explore.service import Explorer, Session
from pages.waiting import NO_PICTURE
from tnet_core.checkpoints import CheckpointCard
from tnet_core.explain.faithfulness import OnStep, faithfulness
from viz.audit.page import render_audit
from viz.audit.reading import read_audit
from viz.audit.report import MIN_LOOKS, ReportSubject, choose_look_count, render_report, select_looks
from viz.common.encode import data_uri, preview
from viz.common.names import class_names

Cards = Callable[[], Sequence[CheckpointCard]]
PREDICTED, LABEL = "predicted", "label"  # classes that are not meant by their number
_PREVIEW = 160  # pixels of the longer side


@dataclass(frozen=True, eq=False)
class Shown:
    """What a page's report is about: one picture under one checkpoint."""

    session: Session
    subject: ReportSubject
    looks: tuple[int, ...]  # positions that may be asked for

    @property
    def classes(self) -> list[tuple[str, str]]:
        """To choose from: the predicted one, the true one where it is known, then all in their order."""
        names = class_names(self.session.trace)
        special = [("the predicted class", PREDICTED)]
        if self.subject.label is not None:
            special.append((f"the true label: {names[self.subject.label]}", LABEL))
        return special + [(name, str(cls)) for cls, name in enumerate(names)]

    @property
    def usual(self) -> int:
        return choose_look_count(self.session.trace)


class Auditor:
    """Audits are made once per card."""

    def __init__(self, explorer: Explorer, cards: Cards) -> None:
        self._explorer = explorer
        self._cards = cards
        self._boards: dict[str, tuple[CheckpointCard, str]] = {}

    def choices(self) -> list[tuple[str, str]]:
        """Titles and names of the checkpoints that were evaluated."""
        return [(card.title or card.source, card.source) for card in self._evaluated().values()]

    def _evaluated(self) -> dict[str, CheckpointCard]:
        found: dict[str, CheckpointCard] = {}
        for card in self._cards():
            if card.evaluation is not None:
                found.setdefault(card.source, card)
        return found

    def of(self, spec: str) -> tuple[str | None, str]:
        """The checkpoint that is explored: its name among the choices, or None, and its audit."""
        about = self._explorer.about(spec)
        if about.source in self._evaluated():
            return about.source, self.audit(about.source)
        return None, render_audit(read_audit(about), about.title or about.source)

    def audit(self, name: Any) -> str:
        """One of the choices as HTML."""
        card = self._evaluated().get(name) if isinstance(name, str) else None
        if card is None:
            raise tn.TNetError(f"There is no evaluated checkpoint {name!r:.80} here.")
        known = self._boards.get(card.source)
        if known is None or known[0] is not card:
            known = self._boards[card.source] = (card, render_audit(read_audit(card)))
        return known[1]

    def show(self, session: Session | None) -> Shown:
        """What can be asked about a session's picture."""
        if session is None:
            raise tn.TNetError(NO_PICTURE)
        looks = select_looks(session.trace)
        if len(looks) < MIN_LOOKS:
            raise tn.TNetError(f"A report needs at least {MIN_LOOKS} looks, and this picture has {len(looks)}.")
        source, plate = self._explorer.picture(session.spec, session.where)
        about = self._explorer.about(session.spec)
        picture = data_uri(preview(source, _PREVIEW), quality=80)
        return Shown(session, ReportSubject(plate.title, about.title or about.source, picture, plate.label), looks)

    def report(self, shown: Shown, cls: Any, looks: Any, on_step: OnStep | None = None) -> str:
        """About the first looks and a class; both as a browser sends them."""
        most = len(shown.looks)
        if isinstance(looks, bool) or not isinstance(looks, (int, float)) or looks not in range(MIN_LOOKS, most + 1):
            raise tn.TNetError(f"The number of looks must be a whole number in {MIN_LOOKS}…{most}.")
        trace = shown.session.trace.only(shown.looks[: int(looks)])
        found = faithfulness(trace, _class(trace, cls, shown.subject.label), on_step=on_step)
        return render_report(found, trace, shown.subject)


def _class(trace: tn.Trace, asked: Any, label: int | None) -> int:
    if asked == PREDICTED:
        return trace.prediction
    if asked == LABEL and label is not None:
        return label
    if isinstance(asked, str) and asked.isascii() and asked.isdigit() and len(asked) < 10:
        return trace.class_index(int(asked))
    raise tn.TNetError(f"There is no class {asked!r:.80} to report on.")
