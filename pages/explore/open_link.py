"""Opens what a visitor sees first: the landing page, or what a link asks for as far as it can be had."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import tnet_core as tn
from pages.explore.links import Link, make_slugs, name_checkpoint, parse_link
from pages.explore.service import Explorer, Tell
from pages.limits import opening_budget
from pages.server.sessions import Session, Where
from viz.explore.checkpoint import CheckpointPanel
from viz.explore.sampling import explain_no_choice

Opened = tuple[Session, str, dict[str, Any] | None]  # and what the stage is sent, and about looks chosen by hand

OWN_PICTURE = "This link was made with an uploaded picture, which is not in it: upload it to see the same."


@dataclass(frozen=True)
class OpenedLink:
    """A picture and how the page shows it."""

    spec: str
    panel: CheckpointPanel | None  # None: the one the page was built with
    where: int
    session: Session
    sent: str
    restore: dict[str, Any]  # budget, classes and looks of the link, for the stage
    wrong: str  # sentence about what could not be followed, or nothing


def open_link(explorer: Explorer, parameters: Iterable[tuple[str, str]], tell: Tell) -> OpenedLink:
    """Open the picture that the parameters name; what is wrong with them is told, and the rest is followed."""
    link, wrong = parse_link(parameters)
    spec, shown = explorer.landing, None
    target = link.checkpoint
    if target is None and link != Link() and "checkpoint" not in wrong:
        target = explorer.default  # numbers of classes and names of examples are about that one
    if target not in (None, spec):
        try:
            spec = _require_offered(explorer, str(target))
            tell("Opening the checkpoint")  # may wait for a download
            shown = explorer.build_panel(spec)
            tell("Looking at the picture")
        except tn.TNetError as error:
            spec, wrong["checkpoint"] = explorer.landing, strip_full_stop(error)
    if "checkpoint" in wrong:  # all but the picture was about that checkpoint
        link = Link(example=link.example, picture=link.picture)
        wrong = {name: sentence for name, sentence in wrong.items() if name in ("checkpoint", "example")}
        spec = _find_owner(explorer, link.example)
        shown = None if spec == explorer.landing else explorer.build_panel(spec)
    where, link = _find_example(explorer, spec, link, wrong)
    link = _check_mode(explorer, spec, where, link, wrong)
    session, sent, steer = _open_as_linked(explorer, spec, where, link, wrong)
    restore = _build_restore(session.trace, steer, link, wrong)
    sentences = [f"The link could not be followed completely: {'; '.join(wrong.values())}."] if wrong else []
    if link.picture is not None and link.example is None:
        sentences.append(OWN_PICTURE)
    return OpenedLink(spec, shown, where, session, sent, restore, " ".join(sentences))


def build_address(explorer: Explorer, spec: str, where: Where) -> dict[str, str | None]:
    """Return what a link to this page names: nothing about a picture that was brought."""
    example = _list_slugs(explorer, spec)[where] if isinstance(where, int) else None
    return {"checkpoint": name_checkpoint(spec), "example": example}


def strip_full_stop(error: tn.TNetError) -> str:
    """Return the sentence of an error as a part of another one."""
    return str(error).rstrip(".")


def _require_offered(explorer: Explorer, target: str) -> str:
    if target not in (choice.spec for choice in explorer.models.choices):
        raise tn.TNetError(f"the checkpoint '{target}' is not offered here")
    return target


def _find_owner(explorer: Explorer, example: str | None) -> str:
    """Return the checkpoint to show an example with where the link's own is not there: the landing one if it has it."""
    for spec in dict.fromkeys((explorer.landing, explorer.default)):
        with suppress(tn.TNetError):
            if example in _list_slugs(explorer, spec):
                return spec
    return explorer.landing


def _list_slugs(explorer: Explorer, spec: str) -> list[str]:
    return make_slugs([picture.title for picture in explorer.list_pictures(spec)])


def _find_example(explorer: Explorer, spec: str, link: Link, wrong: dict[str, str]) -> tuple[int, Link]:
    """Return the number of the example, and the link as far as it is about that."""
    if link.example is None:
        return 0, link.without_looks() if "example" in wrong else link
    try:
        names, more = _list_slugs(explorer, spec), make_slugs(explorer.list_more_titles(spec))
        if link.example not in names and link.example in more:
            explorer.fetch_more_pictures(spec)  # pictures that the registry names and nobody asked for yet
        names = _list_slugs(explorer, spec)
        if link.example in names:
            return names.index(link.example), link
        wrong["example"] = "this checkpoint has no example of that name"
    except tn.TNetError as error:
        wrong["example"] = strip_full_stop(error)
    return 0, link.without_looks()


def _check_mode(explorer: Explorer, spec: str, where: int, link: Link, wrong: dict[str, str]) -> Link:
    """Return the link, with looks as in training unless the picture can be looked at as it says.

    One that says nothing about it leaves the choice to the picture.
    """
    config, is_wrong = explorer.models.open(spec).config, bool(wrong.keys() & {"sampling", "levels"})
    if link.sampling is None and link.levels is None and not is_wrong:
        return link
    if not is_wrong:
        try:
            found = explorer.simplify_mode(spec, where, link.mode)
            if (link.sampling or config.sampling) == (found.sampling or config.sampling):
                return link
            wrong["sampling"] = explain_no_choice(config)
        except tn.TNetError as error:
            wrong["levels"] = strip_full_stop(error)
    return link.as_trained(config.levels)


def _open_as_linked(explorer: Explorer, spec: str, where: int, link: Link, wrong: dict[str, str]) -> Opened:
    if link.cells is not None:
        try:
            return explorer.open_with_cells(spec, where, link.cells, link.mode)
        except tn.TNetError as error:
            wrong["cells"] = strip_full_stop(error)
    return *explorer.open_picture(spec, where, mode=link.mode), None


def _build_restore(trace: tn.Trace, steer: dict[str, Any] | None, link: Link, wrong: dict[str, str]) -> dict[str, Any]:
    """Return what the stage opens with besides the scene."""
    budget, cls, versus, step = link.looks, link.cls, link.versus, link.step
    most, classes = trace.budget, len(trace.bias)
    if budget is not None and len(budget) != len(most):
        wrong["looks"] = f"its 'looks' are {len(budget)} numbers and the model takes {len(most)}"
        budget = None
    elif budget is not None and any(k > limit for k, limit in zip(budget, most, strict=True)):
        wrong["looks"] = f"its 'looks' are more than {','.join(map(str, most))}"
        budget = None
    for name, number in (("class", cls), ("against", versus)):
        if isinstance(number, int) and number >= classes:
            wrong[name] = f"its '{name}' is {number} and the last class is {classes - 1}"
    if wrong.keys() & {"class", "against"}:
        cls = versus = None  # one means something else without the other
    shown = trace.select(budget=budget or opening_budget(trace)) if steer is None else steer["plan"]
    if wrong.keys() & {"looks", "cells"}:
        step = None  # of looks that are not shown
    if step is not None and step > len(shown):
        wrong["step"] = f"its 'step' is {step} and there are {len(shown)} looks"
        step = None
    if versus is None and any(part is not None for part in (budget, cls, steer, step)):
        versus = "none"  # a link of the time when pages opened with the logit alone
    return {"budget": budget, "cls": cls, "versus": versus, "steer": steer, "step": step}
