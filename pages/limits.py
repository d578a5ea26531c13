"""Page policy: how many looks the page takes and how deep they go, and the limits of everything else."""

from __future__ import annotations

from collections.abc import Sequence

from tnet_core import TNetConfig, Trace
from tnet_core.budget import MAX_LEVELS, budget_entries, extend_budget
from tnet_core.imageio.decode import MAX_PIXELS
from tnet_core.sampling.frame import Frame

MAX_LOOKS_PER_TRAVERSAL = 40  # with three levels or more; every one of them is drawn
MAX_LOOKS_PER_PAGE = 80  # those added by hand included
MAX_LOOKS_PER_GRID = 25  # of an evaluation
MAX_PUBLIC_PIXELS = (
    MAX_PIXELS  # of a stranger's picture, those that are read in parts too: looks touch each of its tiles
)
LARGE_PIXELS = 30_000_000  # reading them takes long enough to say so, and much memory for a moment
MAX_PART_SIDE = 1024  # pixels of a picture that are sent at a time
MAX_IMAGES_PUBLIC, MAX_IMAGES_LOCAL = 200, 5_000  # of one evaluation
MAX_FAILURES = 48  # of an evaluation, whose pictures are shown
MAX_FAILURE_BYTES = 12 * 1024**2  # of their files that are kept for one page; the first ones that fit
MAX_UPLOAD_BYTES = 50 * 1024**2
MAX_LOCAL_UPLOAD_BYTES = 2 * 1024**3  # of the person at this machine, who can name larger files by their path
UPLOAD_SECONDS = 3600  # that an upload is kept
MAX_SESSIONS = 200  # remembered at once, less than 1 MB each
MAX_WAITING_REQUESTS = 64  # in the queue; more are told to come back

# Requests that are answered, or wait for their turn at the cores, at the same time.
MAX_PARALLEL_TRAVERSALS = 8
MAX_PARALLEL_PARTS = 4  # traversals do not wait for them
MAX_PARALLEL_FILES = 2
MAX_PARALLEL_REPORTS = 2  # each uses all cores for a moment
MAX_PARALLEL_CALLS = 2  # of programs; visitors of the page do not wait for them
MAX_PARALLEL_EVALUATIONS = 8  # one of them runs
MAX_WAITING_EVALUATIONS = 3  # besides the one that runs; more are refused


def count_levels(config: TNetConfig, width: int, height: int) -> int:
    """Return after how many levels a picture's own pixels show nothing new: the core's rule for `levels="auto"`."""
    return config.levels if config.is_baseline else Frame(width, height, config, "native").depth(MAX_LEVELS)


def trained_budget(config: TNetConfig, levels: int | None = None, given: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the budget of training. Levels beyond it take fewer looks than the core would where these are too many.

    `given` are its first entries, where somebody chose them; these stay as they are.
    """
    if levels is None or levels <= config.levels:
        return config.budget
    unlimited = budget_entries(extend_budget(config, given or config.budget, levels) or ())
    budget = [*given, *(max(1, looks) for looks in unlimited[len(given) :])]
    for level in reversed(range(len(given), len(budget))):  # the looks that were trained with are kept for longest
        while budget[level] > 1 and count_looks(budget) > MAX_LOOKS_PER_TRAVERSAL:
            budget[level] -= 1
    return tuple(budget)


def largest_budget(config: TNetConfig, levels: int | None = None) -> tuple[int, ...]:
    """Return the budget a picture is traversed with: every smaller one follows from it.

    Two levels: every cell. More: the trained budget, its smallest entry raised while looks stay few enough; levels
    beyond those of training never take more looks than the one above them.
    """
    if (levels or config.levels) == 2:
        return (config.cells,)
    budget = [max(1, looks) for looks in trained_budget(config, levels)]
    raised = True
    while raised:
        raised = False
        for level in sorted(range(len(budget)), key=budget.__getitem__):
            more = [looks + (at == level) for at, looks in enumerate(budget)]
            deeper = level >= max(1, config.levels - 1)
            fits = not deeper or more[level] <= more[level - 1]
            if fits and more[level] <= config.cells and count_looks(more) <= MAX_LOOKS_PER_TRAVERSAL:
                budget, raised = more, True
                break
    return tuple(budget)


def opening_budget(trace: Trace) -> tuple[int, ...]:
    """Return the budget a page opens with: that of training, as far as the traversal goes."""
    trained = trained_budget(trace.config, trace.levels)
    return tuple(min(looks, most) for looks, most in zip(trained, trace.budget, strict=True))


def count_looks(budget: Sequence[int]) -> int:
    """Count the looks of a whole traversal."""
    total, width = 0, 1
    for looks in budget:
        width *= looks
        total += width
    return total
