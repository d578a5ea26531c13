"""Evaluations of visitors' own data: one at a time, beside the page, by the code of `python -m training.evaluate`."""

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
from tnet_core.numbers import whole
from training.data.archive import describe_left_out_files, unpack_zip
from training.data.dataset import FileDataset
from training.data.folders import open_folder
from training.evaluation.classes import describe_left_out_classes, select_known
from training.evaluation.evaluate import evaluate
from training.evaluation.plan import POLICIES, Options

MOST_PUBLIC, MOST_LOCAL = 200, 5_000  # images of one evaluation
MOST_LOOKS = 25  # per grid
AT_ONCE = 2  # images: between two batches the page has its turn at the cores, and cancelling is heard
STOPS_WITHIN = 30.0  # seconds that one waits for its predecessor, which was cancelled
MOST_WAITING = 3  # evaluations, besides the one that runs
RESAMPLES = 2_000  # of the bootstrap
NO_FOLDERS = "Folders of this machine can be evaluated only where the app listens to this machine alone."

Report = Callable[[str, int, int], None]  # what is done, images done, images in all


class CancelledError(tn.TNetError):
    """The visitor wanted it to end."""


@dataclass(frozen=True)
class Wanted:
    """What to measure, checked."""

    spec: str
    budget: int | tuple[int, ...] = 10
    policies: tuple[str, ...] = ("learned", "centre", "random")
    limit: int = MOST_PUBLIC


@dataclass(frozen=True)
class Evaluated:
    content: dict[str, Any]  # of evaluation.json
    notices: list[str]  # what was left out


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
        self.most_images = MOST_LOCAL if local else MOST_PUBLIC
        self._runs: dict[str, _Run] = {}  # by session
        self._lock = threading.Lock()  # of the runs
        self._turn = threading.Lock()  # who holds it computes

    def wanted(self, spec: Any, budget: Any, policies: Any, limit: Any) -> Wanted:
        """Anybody can send anything."""
        if not isinstance(spec, str):
            raise tn.TNetError("A checkpoint is named by its id.")
        chosen = policies if isinstance(policies, (list, tuple)) else ()
        if unknown := [name for name in chosen if name not in POLICIES]:
            raise tn.TNetError(f"There is no policy {unknown[0]!r:.40}; known are {', '.join(POLICIES)}.")
        most = [_count(k, "The largest number of looks", MOST_LOOKS) for k in _listed(budget)]
        return Wanted(
            spec=self.explorer.shelf.choice(spec).spec,
            budget=most[0] if len(most) == 1 else tuple(most),
            policies=("learned", *(name for name in POLICIES if name in chosen and name != "learned")),
            limit=_count(limit, "The number of images", self.most_images),
        )

    def of_zip(self, session: str, file: str, name: str, wanted: Wanted, report: Report, into: str) -> Evaluated:
        """`into`: where to unpack for the time being."""
        with self._running(session, report) as run, unpack_zip(file, name, into, run.check) as found:
            return self._evaluated(found.dataset, wanted, run, report, describe_left_out_files(found.left_out))

    def of_folder(self, session: str, folder: Any, wanted: Wanted, report: Report) -> Evaluated:
        if not self.local:
            raise tn.TNetError(NO_FOLDERS)
        if not isinstance(folder, str) or not folder.strip():
            raise tn.TNetError("Name a folder that holds one folder per class.")
        with self._running(session, report) as run:
            return self._evaluated(open_folder(Path(folder.strip())), wanted, run, report)

    def cancel(self, session: str, seconds: float = 10.0) -> bool:
        """Ends this session's evaluation and waits for its end; False if there is none."""
        run = self._runs.get(session)
        if run is None:
            return False
        run.stop.set()
        run.over.wait(seconds)
        return True

    @contextmanager
    def _running(self, session: str, report: Report) -> Iterator[_Run]:
        """Waits for its turn; ends early if cancelled meanwhile."""
        run = _Run()
        ending = self._runs.get(session)
        if ending is not None and ending.stop.is_set():
            ending.over.wait(STOPS_WITHIN)
        with self._lock:
            if session in self._runs:
                raise tn.TNetError("An evaluation of yours is running: wait for it or cancel it.")
            if len(self._runs) > MOST_WAITING:
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

    def _evaluated(self, data: FileDataset, wanted: Wanted, run: _Run, report: Report, left_out: str = "") -> Evaluated:
        # A copy: the page's traversals go on with the model itself, and wait for nothing here.
        model = copy.deepcopy(self.explorer.shelf.open(wanted.spec))
        if os.environ.get("SPACES_ZERO_GPU"):  # a lent GPU is there for seconds only
            model = model.cpu()
        known = select_known(model, data)
        run.total = min(len(known.dataset), wanted.limit)
        run.check()

        def progress(what: str, done: int, total: int) -> None:
            run.done, run.total = (done, total) if what == "looks" else (0, total)
            run.check()
            report("Looking at your images" if what == "looks" else "Thumbnails first", done, total)

        options = Options(
            budget=wanted.budget, policies=wanted.policies, limit=wanted.limit, resamples=RESAMPLES, workers=0,
            skip_unreadable=True, equivariance=False, timing=False,
            batch_size=None if model.device.type == "cuda" else AT_ONCE,
        )  # fmt: skip
        content = evaluate(model, known.dataset, options, progress)
        notices = [left_out, describe_left_out_classes(known.left_out), _limited(len(known.dataset), wanted.limit)]
        return Evaluated(content, [*filter(None, notices), *_unreadable(content)])


def _listed(budget: Any) -> list[Any]:
    """One number for every grid, or one per level."""
    listed = list(budget) if isinstance(budget, (list, tuple)) else [budget]
    if not 1 <= len(listed) <= 11:
        raise tn.TNetError("A budget is one number of looks, or one per level.")
    return listed


def _count(value: Any, what: str, most: int) -> int:
    """A slider may send 3.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        value = int(value)
    return whole(value, what, 1, most)


def _limited(found: int, limit: int) -> str:
    return f"Measured on {limit} of {found} images, evenly spread over the classes." if found > limit else ""


def _unreadable(content: dict[str, Any]) -> list[str]:
    about = content["dataset"].get("unreadable")
    if not about:
        return []
    count = about["count"]
    return [f"{count} image{' was' if count == 1 else 's were'} unreadable and left out: {about['first'][0]}"]
