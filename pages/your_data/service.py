"""The service behind Your data: evaluations, one at a time, by the code of `python -m training.evaluate`."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tnet_core as tn
from pages.explore.service import Explorer
from pages.limits import MAX_IMAGES_LOCAL, MAX_IMAGES_PUBLIC, MAX_LOOKS_PER_GRID, MAX_WAITING_EVALUATIONS
from pages.server.access import resolve_upload, upload_root
from pages.your_data.failure_pictures import FailurePictures
from tnet_core.numbers import check_whole
from training.data.archive import describe_left_out_files, unpack_zip
from training.data.dataset import FileDataset
from training.data.folders import open_folder
from training.evaluation.classes import describe_left_out_classes, select_known
from training.evaluation.failures import find_failures
from training.evaluation.plan import POLICIES, Options, make_plan
from training.evaluation.run import collect, evaluate
from viz.your_data.page import FailureGallery

IMAGES_PER_BATCH = 2  # between two batches the page has its turn at the cores, and cancelling is heard
STOP_SECONDS = 30.0  # that one waits for its predecessor, which was cancelled
RESAMPLES = 2_000  # of the bootstrap
NO_FOLDERS = "Folders of this machine can be evaluated only where the app listens to this machine alone."

Report = Callable[[str, int, int], None]  # what is done, images done, images in all


class CancelledError(tn.TNetError):
    """The visitor ended the evaluation."""


@dataclass(frozen=True)
class EvaluationRequest:
    """What to measure; it was checked."""

    spec: str
    budget: int | tuple[int, ...] = 10
    policies: tuple[str, ...] = ("learned", "centre", "random")
    limit: int = MAX_IMAGES_PUBLIC
    shows_failures: bool = False  # the pictures of failures are kept until the session is released


@dataclass(frozen=True)
class EvaluationResult:
    content: dict[str, Any]  # of evaluation.json
    notices: list[str]  # what was left out
    failures: FailureGallery | None = None  # None: nobody wanted to see them


@dataclass(eq=False)
class _Run:
    stop: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    done: int = 0
    total: int = 0

    def check(self) -> None:
        if self.stop.is_set():
            raise CancelledError(f"Cancelled after {self.done} of {self.total} images; nothing was kept.")


class Evaluator:
    """`local`: nobody but the person at this machine can ask, so folders may be named and more images measured."""

    def __init__(self, explorer: Explorer, *, local: bool = False) -> None:
        self.explorer, self.local = explorer, local
        self.max_images = MAX_IMAGES_LOCAL if local else MAX_IMAGES_PUBLIC
        self.pictures = FailurePictures()
        self._runs: dict[str, _Run] = {}  # by session
        self._lock = threading.Lock()  # of the runs
        self._turn = threading.Lock()  # who holds it computes

    def check_request(
        self, spec: Any, budget: Any, policies: Any, limit: Any, *, shows_failures: bool = False
    ) -> EvaluationRequest:
        """Check what to measure; anybody can send anything."""
        if not isinstance(spec, str):
            raise tn.TNetError("A checkpoint is named by its id.")
        chosen = policies if isinstance(policies, (list, tuple)) else ()
        if unknown := [name for name in chosen if name not in POLICIES]:
            raise tn.TNetError(f"There is no policy {unknown[0]!r:.40}; known are {', '.join(POLICIES)}.")
        most = [_check_count(k, "The largest number of looks", MAX_LOOKS_PER_GRID) for k in _list_looks(budget)]
        return EvaluationRequest(
            spec=self.explorer.models.find_choice(spec).spec,
            budget=most[0] if len(most) == 1 else tuple(most),
            policies=("learned", *(name for name in POLICIES if name in chosen and name != "learned")),
            limit=_check_count(limit, "The number of images", self.max_images),
            shows_failures=shows_failures,
        )

    def evaluate(
        self, session: str, file: Any, folder: Any, request: EvaluationRequest, report: Report
    ) -> EvaluationResult:
        """Evaluate the folder, where one is named, else the uploaded zip."""
        if isinstance(folder, str) and folder.strip():
            return self.evaluate_folder(session, folder, request, report)
        if file is None:
            raise tn.TNetError("Choose a zip of class folders first.")
        path = resolve_upload(file, "The data")
        name = file.get("orig_name") if isinstance(file, dict) else None
        called = Path(name if isinstance(name, str) and name else path).name
        return self.evaluate_zip(session, path, Path(called).stem[:80], request, report, upload_root())

    def evaluate_zip(
        self, session: str, file: str, name: str, request: EvaluationRequest, report: Report, into: str
    ) -> EvaluationResult:
        """Evaluate a zip of class folders, unpacked for the time being below `into`."""
        with self._run_in_turn(session, report) as run, unpack_zip(file, name, into, run.check) as found:
            left_out = describe_left_out_files(found.left_out)
            return self._evaluate(session, found.dataset, request, run, report, left_out, is_lent=True)

    def evaluate_folder(
        self, session: str, folder: Any, request: EvaluationRequest, report: Report
    ) -> EvaluationResult:
        """Evaluate a folder of this machine, where the app is for the person at it alone."""
        if not self.local:
            raise tn.TNetError(NO_FOLDERS)
        if not isinstance(folder, str) or not folder.strip():
            raise tn.TNetError("Name a folder that holds one folder per class.")
        with self._run_in_turn(session, report) as run:
            return self._evaluate(session, open_folder(Path(folder.strip())), request, run, report)

    def cancel(self, session: str, seconds: float = 10.0) -> bool:
        """End this session's evaluation and wait for its end; return False if there is none."""
        run = self._runs.get(session)
        if run is None:
            return False
        run.stop.set()
        run.over.wait(seconds)
        return True

    @contextmanager
    def _run_in_turn(self, session: str, report: Report) -> Iterator[_Run]:
        """Wait for this session's turn; end early if cancelled meanwhile."""
        run = _Run()
        ending = self._runs.get(session)
        if ending is not None and ending.stop.is_set():
            ending.over.wait(STOP_SECONDS)
        with self._lock:
            if session in self._runs:
                raise tn.TNetError("An evaluation of yours is running: wait for it or cancel it.")
            if len(self._runs) > MAX_WAITING_EVALUATIONS:
                raise tn.TNetError("Several evaluations are waiting already: try again in a few minutes.")
            self._runs[session] = run
        try:
            while not self._turn.acquire(timeout=0.2):
                report("Waiting for another evaluation to end", 0, 0)
                run.check()
            try:
                yield run
            finally:
                self._turn.release()
        finally:
            with self._lock:
                del self._runs[session]
            run.over.set()

    def _evaluate(
        self,
        session: str,
        data: FileDataset,
        request: EvaluationRequest,
        run: _Run,
        report: Report,
        left_out: str = "",
        *,
        is_lent: bool = False,  # whether the files of the data vanish afterwards
    ) -> EvaluationResult:
        # A copy: the page's traversals go on with the model itself, and wait for nothing here.
        model = copy.deepcopy(self.explorer.models.open(request.spec))
        if os.environ.get("SPACES_ZERO_GPU"):  # a lent GPU is there for seconds only
            model = model.cpu()
        known = select_known(model, data)
        run.total = min(len(known.dataset), request.limit)
        run.check()

        def progress(what: str, done: int, total: int) -> None:
            run.done, run.total = (done, total) if what == "looks" else (0, total)
            run.check()
            report("Looking at your images" if what == "looks" else "Thumbnails first", done, total)

        options = Options(
            budget=request.budget, policies=request.policies, limit=request.limit, resamples=RESAMPLES, workers=0,
            skip_unreadable=True, equivariance=False, timing=False,
            batch_size=None if model.device.type == "cuda" else IMAGES_PER_BATCH,
        )  # fmt: skip
        plan = make_plan(model.config, options, fast=model.device.type == "cuda")
        collected = collect(model, known.dataset, plan, options, progress)
        content = evaluate(model, known.dataset, options, collected=collected)
        gallery = None
        if request.shows_failures:
            found = find_failures(collected.results, plan, model.config.cells)
            gallery = self.pictures.show(session, found, known.dataset, model.class_names, copies=is_lent)
        notices = [
            left_out,
            describe_left_out_classes(known.left_out),
            _describe_limit(len(known.dataset), request.limit),
        ]
        return EvaluationResult(content, [*filter(None, notices), *_describe_unreadable(content)], gallery)


def _list_looks(budget: Any) -> list[Any]:
    """Return a budget as a list: one number for every grid, or one per level."""
    listed = list(budget) if isinstance(budget, (list, tuple)) else [budget]
    if not 1 <= len(listed) <= 11:
        raise tn.TNetError("A budget is one number of looks, or one per level.")
    return listed


def _check_count(value: Any, what: str, most: int) -> int:
    """Check a count; a slider may send 3.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        value = int(value)
    return check_whole(value, what, 1, most)


def _describe_limit(found: int, limit: int) -> str:
    return f"Measured on {limit} of {found} images, evenly spread over the classes." if found > limit else ""


def _describe_unreadable(content: dict[str, Any]) -> list[str]:
    about = content["dataset"].get("unreadable")
    if not about:
        return []
    count = about["count"]
    return [f"{count} image{' was' if count == 1 else 's were'} unreadable and left out: {about['first'][0]}"]
