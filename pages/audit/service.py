"""The service behind Audit: audits of evaluated checkpoints, and reports on a picture. Knows no component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tnet_core as tn
from pages.explore.service import Explorer
from pages.limits import opening_budget
from pages.server.model_cache import Cards
from pages.server.sessions import Session, require_session
from tnet_core.checkpoints import CheckpointCard
from tnet_core.explain.faithfulness import OnStep, faithfulness
from tnet_core.explain.shapley import MAX_EXPLAINED_LOOKS
from viz.audit.faithfulness import ReportSubject, render_report
from viz.audit.page import render_audit, render_name
from viz.audit.reading import read_audit
from viz.common.payload import encode_webp, read_preview
from viz.common.text import list_class_names

PREDICTED, LABEL = "predicted", "label"  # classes that are not meant by their number
MIN_LOOKS = 2  # of a report
_START_LOOKS = 8
_PREVIEW = 160  # pixels of the longer side


@dataclass(frozen=True, eq=False)
class OpenReport:
    """One picture under one checkpoint, which a page's report is about."""

    session: Session
    subject: ReportSubject
    looks: tuple[int, ...]  # positions that may be asked for

    @property
    def classes(self) -> list[tuple[str, str]]:
        """Classes to choose from: the predicted one, the true one where it is known, then all in their order."""
        names = list_class_names(self.session.trace)
        special = [("the predicted class", PREDICTED)]
        if self.subject.label is not None:
            special.append((f"the true label: {names[self.subject.label]}", LABEL))
        return special + [(name, str(cls)) for cls, name in enumerate(names)]

    @property
    def usual(self) -> int:
        return choose_look_count(self.session.trace)


class Auditor:
    """Renders audits, once per card, and reports."""

    def __init__(self, explorer: Explorer, cards: Cards) -> None:
        self._explorer = explorer
        self._cards = cards
        self._boards: dict[str, tuple[CheckpointCard, str]] = {}

    def list_choices(self) -> list[tuple[str, str]]:
        """Return titles and names of the checkpoints that were evaluated."""
        return [(card.title or card.source, card.source) for card in self._find_evaluated().values()]

    def _find_evaluated(self) -> dict[str, CheckpointCard]:
        found: dict[str, CheckpointCard] = {}
        for card in self._cards():
            if card.evaluation is not None:
                found.setdefault(card.source, card)
        return found

    def render_explored(self, spec: str) -> tuple[str | None, str]:
        """Return the explored checkpoint's name among the choices, or None, and its audit."""
        about = self._explorer.read_card(spec)
        if about.source in self._find_evaluated():
            return about.source, self.render_audit(about.source)
        return None, render_audit(read_audit(about), about.title or about.source)

    def render_audit(self, name: Any) -> str:
        """Render the audit of one of the choices as HTML."""
        card = self._find_evaluated().get(name) if isinstance(name, str) else None
        if card is None:
            raise tn.TNetError(f"There is no evaluated checkpoint {name!r:.80} here.")
        known = self._boards.get(card.source)
        if known is None or known[0] is not card:
            known = self._boards[card.source] = (card, render_audit(read_audit(card)) + render_name(card.source))
        return known[1]

    def open_report(self, session: Session | None) -> OpenReport:
        """Return what can be asked about a session's picture."""
        session = require_session(session)
        looks = select_looks(session.trace)
        if len(looks) < MIN_LOOKS:
            raise tn.TNetError(f"A report needs at least {MIN_LOOKS} looks, and this picture has {len(looks)}.")
        source, info = self._explorer.load_picture(session.spec, session.where)
        about = self._explorer.read_card(session.spec)
        picture = encode_webp(read_preview(source, _PREVIEW), quality=80)
        return OpenReport(session, ReportSubject(info.title, about.title or about.source, picture, info.label), looks)

    def render_report(self, about: OpenReport, cls: Any, looks: Any, on_step: OnStep | None = None) -> str:
        """Render a report about the first looks and a class; both as a browser sends them."""
        most = len(about.looks)
        if isinstance(looks, bool) or not isinstance(looks, (int, float)) or looks not in range(MIN_LOOKS, most + 1):
            raise tn.TNetError(f"The number of looks must be a whole number in {MIN_LOOKS}…{most}.")
        trace = self._explorer.open_trace(about.session).only(about.looks[: int(looks)])
        found = faithfulness(trace, _find_class(trace, cls, about.subject.label), on_step=on_step)
        return render_report(found, trace, about.subject)


def _find_class(trace: tn.Trace, chosen: Any, label: int | None) -> int:
    if chosen == PREDICTED:
        return trace.prediction
    if chosen == LABEL and label is not None:
        return label
    if isinstance(chosen, str) and chosen.isascii() and chosen.isdigit() and len(chosen) < 10:
        return trace.class_index(int(chosen))
    raise tn.TNetError(f"There is no class {chosen!r:.80} to report on.")


def select_looks(trace: tn.Trace) -> tuple[int, ...]:
    """Return positions, in the network's order, that a report may take from the front.

    Two levels: all. More: those of the trained budget, since a page takes far more, level by level.
    """
    within = trace.select(budget=opening_budget(trace)) if trace.levels > 2 else ()
    return (within if len(within) >= MIN_LOOKS else trace.select())[:MAX_EXPLAINED_LOOKS]


def choose_look_count(trace: tn.Trace) -> int:
    """Return how many to begin with: as many as in training, and at least a handful."""
    return min(len(select_looks(trace)), max(_START_LOOKS, len(trace.select(budget=opening_budget(trace)))))
