"""Named endpoints for programs: the questions of the page, asked with `gradio_client`.

They take the same uploads, budgets and checkpoints as the page and refuse the rest in one sentence. Gradio checks no
argument of theirs: whatever a program sends arrives here as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
import gradio as gr
from gradio.events import api as endpoint

import tnet_core as tn
from pages.explore.service import Explorer
from pages.sampling import checked, wanted
from pages.server.access import given_file
from pages.your_data.service import Evaluator
from pages.your_data.tab import EVALUATIONS, measured, session_of
from tnet_core.budget import budget_entries, check_budget
from viz import answers
from viz.budgets import MOST_LOOKS, largest, looks_of, trained

AT_ONCE = 2  # calls that are answered at the same time; visitors of the page do not wait for them

P = ParamSpec("P")
R = TypeVar("R")
Budget = list[int] | int | None
EVERY = object()  # the budget that all others follow from


def api(explorer: Explorer, evaluator: Evaluator) -> None:
    """Builds the endpoints in the current context."""

    def traverse(
        image: gr.FileData,
        checkpoint: str | None = None,
        budget: Budget = None,
        sampling: str | None = None,
        levels: str | None = None,
    ) -> dict[str, Any]:
        """Where the network looks, what it decides and what that costs, and the whole trace.

        `sampling="native"` cuts looks from the picture's own pixels, `levels="auto"` goes as deep as these go.
        """
        return answers.summary(looks(image, checkpoint, budget, sampling, levels))

    def budget_curve(
        image: gr.FileData, checkpoint: str | None = None, sampling: str | None = None, levels: str | None = None
    ) -> list[dict[str, Any]]:
        """Prediction, probability and FLOPs at every budget the page offers, from one traversal."""
        return answers.budget_curve(looks(image, checkpoint, EVERY, sampling, levels))

    def contributions(
        image: gr.FileData,
        checkpoint: str | None = None,
        cls: str | int | None = None,
        versus: str | int | None = None,
        budget: Budget = None,
        sampling: str | None = None,
        levels: str | None = None,
    ) -> dict[str, Any]:
        """Exact signed share of every look in the logit of a class (the predicted one), or in its lead over another.

        `without` says what would be left of that class without the look: a share is not an effect.
        """
        trace = looks(image, checkpoint, budget, sampling, levels)
        target = trace.prediction if cls is None else answers.class_of(trace, cls)
        return answers.contributions(trace, target, None if versus is None else answers.class_of(trace, versus))

    async def evaluate(
        data: gr.FileData,
        request: gr.Request,
        checkpoint: str | None = None,
        budget: Budget = None,
        limit: int | None = None,
        policies: list[str] | None = None,
    ) -> dict[str, Any]:
        """Accuracy on a zip of class folders, as evaluation.json has it, and sentences about what was left out.

        A job that is cancelled ends with the images it is looking at.
        """
        session = session_of(request)
        with told():
            asked = evaluator.wanted(
                offered(explorer, checkpoint),
                10 if budget is None else budget,
                ["centre", "random"] if policies is None else policies,
                evaluator.most_images if limit is None else limit,
            )
            work = partial(measured, evaluator, session, data, None, asked, lambda *_: None)
            try:
                # Gradio cancels what waits in its loop, but never a thread of its own.
                found = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            except asyncio.CancelledError:
                evaluator.cancel(session, seconds=0)
                raise
        return {"evaluation": found.content, "notices": found.notices}

    def looks(image: Any, checkpoint: Any, budget: Any, sampling: Any, levels: Any) -> tn.Trace:
        spec = offered(explorer, checkpoint)
        config = explorer.shelf.open(spec).config
        mode = checked(wanted(sampling, levels), config)
        if mode.levels is None:
            bounded(config, budget)  # before anything is opened
        source, _ = explorer.picture(spec, given_file(image, "The image"))
        depth = mode.levels_for(config, source.width, source.height)
        return explorer.looks(spec, source, budget=bounded(config, budget, depth), mode=mode)

    for function in (traverse, budget_curve, contributions):
        endpoint(telling(function), api_name=function.__name__, concurrency_id="api", concurrency_limit=AT_ONCE)
    endpoint(evaluate, api_name="evaluate", concurrency_id="evaluate", concurrency_limit=EVALUATIONS)


@contextmanager
def told() -> Iterator[None]:
    """The sentence of an error is the answer."""
    try:
        yield
    except tn.TNetError as error:
        raise gr.Error(str(error), print_exception=False) from None


def telling(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def answered(*values: P.args, **named: P.kwargs) -> R:
        with told():
            return function(*values, **named)

    return answered


def offered(explorer: Explorer, checkpoint: Any) -> str:
    """A checkpoint of the page; without one, the one it opens with."""
    if checkpoint is None:
        return explorer.landing
    if not isinstance(checkpoint, str):
        raise tn.TNetError("A checkpoint is named by its id.")
    return explorer.shelf.choice(checkpoint).spec


def bounded(config: tn.TNetConfig, budget: Any, levels: int | None = None) -> tuple[int, ...]:
    """A budget that the page could show; None is that of training, and `EVERY` the largest one.

    Levels beyond those of training that it does not name take the looks that the page would take there.
    """
    if budget is EVERY:
        return largest(config, levels)
    if levels is not None and levels > config.levels:
        budget = trained(config, levels, () if budget is None else budget_entries(budget))
    asked, most = check_budget(config, budget, levels), max(MOST_LOOKS, looks_of(largest(config)))
    if looks_of(asked) > most:
        raise tn.TNetError(f"A budget of {looks_of(asked)} looks is too large here; at most {most} are taken.")
    return asked
