"""Named endpoints for programs: the questions of the page, asked with `gradio_client`.

They take the same uploads, budgets and checkpoints as the page and refuse the rest in one sentence. Gradio checks no
argument of theirs: whatever a program sends arrives here as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio.to_thread
import gradio as gr
from gradio.events import api as endpoint

import tnet_core as tn
from pages.explore.service import Explorer
from pages.limits import (
    MAX_LOOKS_PER_TRAVERSAL,
    MAX_PARALLEL_CALLS,
    MAX_PARALLEL_EVALUATIONS,
    count_looks,
    largest_budget,
    trained_budget,
)
from pages.sampling import check_mode, parse_mode
from pages.server.access import resolve_upload
from pages.server.rpc import read_session_id
from pages.your_data.service import Evaluator
from tnet_core.budget import budget_entries, check_budget
from viz.explore.answers import build_budget_curve, build_contributions, build_summary, find_class_index

Budget = list[int] | int | None
LARGEST = object()  # the budget that all others follow from


def build_api(explorer: Explorer, evaluator: Evaluator) -> None:
    """Build the endpoints in the current context."""

    def traverse(
        image: gr.FileData,
        checkpoint: str | None = None,
        budget: Budget = None,
        sampling: str | None = None,
        levels: str | None = None,
    ) -> dict[str, Any]:
        """Tell where the network looks, what it decides and what that costs, with the whole trace.

        `sampling="native"` cuts looks from the picture's own pixels, `levels="auto"` goes as deep as these go.
        """
        return build_summary(traverse_upload(image, checkpoint, budget, sampling, levels))

    def budget_curve(
        image: gr.FileData, checkpoint: str | None = None, sampling: str | None = None, levels: str | None = None
    ) -> list[dict[str, Any]]:
        """Prediction, probability and FLOPs at every budget the page offers, from one traversal."""
        return build_budget_curve(traverse_upload(image, checkpoint, LARGEST, sampling, levels))

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
        return explain_classes(traverse_upload(image, checkpoint, budget, sampling, levels), cls, versus)

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
        session = read_session_id(request)
        with report_errors():
            task = evaluator.check_request(
                find_checkpoint(explorer, checkpoint),
                10 if budget is None else budget,
                ["centre", "random"] if policies is None else policies,
                evaluator.max_images if limit is None else limit,
            )
            work = partial(evaluator.evaluate, session, data, None, task, lambda *_: None)
            try:
                # Gradio cancels what waits in its loop, but never a thread of its own.
                found = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            except asyncio.CancelledError:
                evaluator.cancel(session, seconds=0)
                raise
        return {"evaluation": found.content, "notices": found.notices}

    def traverse_upload(image: Any, *options: Any) -> tn.Trace:
        return traverse_file(explorer, lambda: resolve_upload(image, "The image"), *options)

    for function in (traverse, budget_curve, contributions):
        checked = report_errors()(function)
        endpoint(checked, api_name=function.__name__, concurrency_id="api", concurrency_limit=MAX_PARALLEL_CALLS)
    endpoint(evaluate, api_name="evaluate", concurrency_id="evaluate", concurrency_limit=MAX_PARALLEL_EVALUATIONS)


def traverse_file(
    explorer: Explorer, find_file: Callable[[], str], checkpoint: Any, budget: Any, sampling: Any, levels: Any
) -> tn.Trace:
    """Traverse a picture with the limits of the page; all other arguments are checked before the file is found."""
    spec = find_checkpoint(explorer, checkpoint)
    config = explorer.models.open(spec).config
    mode = check_mode(parse_mode(sampling, levels), config)
    if mode.levels is None:
        check_page_budget(config, budget)  # before anything is opened
    source, _ = explorer.load_picture(spec, find_file())
    depth = mode.levels_for(config, source.width, source.height)
    return explorer.traverse(spec, source, budget=check_page_budget(config, budget, depth), mode=mode)


def explain_classes(trace: tn.Trace, cls: Any, versus: Any) -> dict[str, Any]:
    """Return the shares of a class, by name or number; without one, of the predicted class."""
    target = trace.prediction if cls is None else find_class_index(trace, cls)
    return build_contributions(trace, target, None if versus is None else find_class_index(trace, versus))


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn a TNetError into the answer of a call: its sentence."""
    try:
        yield
    except tn.TNetError as error:
        raise gr.Error(str(error), print_exception=False) from None


def find_checkpoint(explorer: Explorer, checkpoint: Any) -> str:
    """Return a checkpoint of the page; without one, the first of the registry or the one the app was started with."""
    if checkpoint is None:
        return explorer.default
    if not isinstance(checkpoint, str):
        raise tn.TNetError("A checkpoint is named by its id.")
    return explorer.models.find_choice(checkpoint).spec


def check_page_budget(config: tn.TNetConfig, budget: Any, levels: int | None = None) -> tuple[int, ...]:
    """Return a budget that the page could show; None is that of training, and `LARGEST` the largest one.

    Levels beyond those of training that it does not name take the looks that the page would take there.
    """
    if budget is LARGEST:
        return largest_budget(config, levels)
    if levels is not None and levels > config.levels:
        budget = trained_budget(config, levels, () if budget is None else budget_entries(budget))
    checked = check_budget(config, budget, levels)
    looks, most = count_looks(checked), max(MAX_LOOKS_PER_TRAVERSAL, count_looks(largest_budget(config)))
    if looks > most:
        raise tn.TNetError(f"A budget of {looks} looks is too large here; at most {most} are taken.")
    return checked
