"""Evaluations of visitors' own data: one at a time, cancelled at once, never in the way of the page."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pages.explore.service import Explorer
from pages.limits import MAX_WAITING_EVALUATIONS
from pages.your_data.service import NO_FOLDERS, CancelledError, Evaluator
from tests.support.checkpoints import save_birds
from tests.support.model_caches import build_model_cache
from tests.support.zips import zipped
from tests.training.data_files import class_folders, write_picture
from tnet_core.errors import TNetError

KNOWN_FIELDS = {
    "schema", "dataset", "budgets", "policies", "comparisons", "intervals", "attention", "trained_budget",
    "calibration", "stopping", "heat_map", "typical", "per_image", "run", "gap_closed", "gap_to_surest",
}  # fmt: skip


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    return Explorer(build_model_cache(save_birds(tmp_path_factory.mktemp("birds"))))


@pytest.fixture
def evaluator(explorer: Explorer) -> Evaluator:
    return Evaluator(explorer)


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    return class_folders(tmp_path / "garden", ("wren", "robin"), images=6)


def quiet(*_: Any) -> None:
    return


class Held:
    """An evaluation in a thread of its own that stands still after its first batch until it is let go."""

    def __init__(self, evaluator: Evaluator, session: str, file: Path, into: Path) -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self.error: Exception | None = None
        self.told: list[tuple[str, int, int]] = []
        wanted = evaluator.check_request(evaluator.explorer.landing, 3, [], 100)

        def report(*what: Any) -> None:
            self.told.append(what)
            if what[1]:
                self.began.set()
                self.go.wait(20)

        def run() -> None:
            try:
                evaluator.evaluate_zip(session, str(file), "garden", wanted, report, str(into))
            except TNetError as error:
                self.error = error

        self.thread = threading.Thread(target=run)
        self.thread.start()


@pytest.mark.slow
def test_it_is_cancelled_between_batches_and_leaves_nothing(evaluator: Evaluator, garden: Path, tmp_path: Path) -> None:
    class_folders(garden, ("wren", "robin"), images=60)
    into = tmp_path / "into"
    into.mkdir()
    held = Held(evaluator, "me", zipped(garden, tmp_path / "z.zip"), into)
    assert held.began.wait(30) and any(into.iterdir())
    assert evaluator.cancel("somebody else", seconds=0) is False
    threading.Timer(0.2, held.go.set).start()
    assert evaluator.cancel("me") is True
    held.thread.join(1)  # cancelling waited for its end
    done = held.told[-1][1]
    assert isinstance(held.error, CancelledError) and 0 < done < 120
    assert str(held.error).startswith("Cancelled after ") and str(held.error).endswith("; nothing was kept.")
    assert list(into.iterdir()) == [] and evaluator.cancel("me") is False


@pytest.mark.slow
def test_one_runs_at_a_time_and_few_wait(evaluator: Evaluator, garden: Path, tmp_path: Path) -> None:
    file = zipped(garden, tmp_path / "z.zip")
    first = Held(evaluator, "0", file, tmp_path)
    assert first.began.wait(30)
    waiting = [Held(evaluator, str(n), file, tmp_path) for n in range(1, 1 + MAX_WAITING_EVALUATIONS)]
    for held in waiting:
        held.go.set()
    until = time.monotonic() + 20
    while not all(held.told for held in waiting) and time.monotonic() < until:
        time.sleep(0.05)
    assert all(set(held.told) == {("Waiting for another evaluation to end", 0, 0)} for held in waiting)
    wanted = evaluator.check_request(evaluator.explorer.landing, 3, [], 5)
    with pytest.raises(TNetError, match="Several evaluations are waiting already"):
        evaluator.evaluate_zip("9", str(file), "garden", wanted, quiet, str(tmp_path))
    with pytest.raises(TNetError, match="An evaluation of yours is running"):
        evaluator.evaluate_zip("0", str(file), "garden", wanted, quiet, str(tmp_path))
    assert evaluator.cancel("1") is True  # one that waits
    assert isinstance(waiting[0].error, CancelledError)
    first.go.set()
    for held in (first, *waiting):
        held.thread.join(60)
        assert held.error is None or held is waiting[0]


@pytest.mark.slow
def test_the_page_looks_at_pictures_meanwhile(evaluator: Evaluator, garden: Path, tmp_path: Path) -> None:
    held = Held(evaluator, "me", zipped(garden, tmp_path / "z.zip"), tmp_path)
    assert held.began.wait(30)
    explorer = evaluator.explorer
    source, _ = explorer.load_picture(explorer.landing, 0)
    answered = threading.Thread(target=explorer.traverse, args=(explorer.landing, source), daemon=True)
    answered.start()
    answered.join(20)
    assert not answered.is_alive() and held.thread.is_alive()  # no lock is held between batches
    held.go.set()
    held.thread.join(60)


def test_unreadable_images_are_left_out_and_told(evaluator: Evaluator, garden: Path, tmp_path: Path) -> None:
    whole = (garden / "wren" / "wren_0.png").read_bytes()
    (garden / "wren" / "cut.png").write_bytes(whole[: len(whole) // 2])
    wanted = evaluator.check_request(evaluator.explorer.landing, 2, ["centre"], 100)
    found = evaluator.evaluate_zip("me", str(zipped(garden, tmp_path / "z")), "garden", wanted, quiet, str(tmp_path))
    assert found.content["dataset"]["size"] == 12 and found.content["dataset"]["unreadable"]["count"] == 1
    [notice] = found.notices
    assert notice.startswith("1 image was unreadable and left out: 'wren/cut' is damaged or cut off")


def test_failures_are_kept_for_one_session_and_removed_with_it(
    explorer: Explorer, garden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    (tmp_path / "uploads").mkdir()
    evaluator = Evaluator(explorer)
    wanted = evaluator.check_request(explorer.landing, 3, ["oracle"], 100, shows_failures=True)
    file = str(zipped(garden, tmp_path / "z.zip"))
    found = evaluator.evaluate_zip("me", file, "garden", wanted, quiet, str(tmp_path))
    shown = found.failures
    assert shown is not None and shown.images == 12 and shown.reference == "oracle"
    trained = found.content["trained_budget"]
    [right] = [entry["top1"] for entry in found.content["budgets"] if entry["budget"] == trained]
    assert shown.wrong == len(shown.pictures) == round(12 * (1 - right)) > 0
    assert sum(shown.confusions.values()) == 12 and sum(shown.causes.values()) == shown.wrong
    sureties = [one.surety for one in shown.pictures]
    assert sureties == sorted(sureties, reverse=True) and all(one.label != one.prediction for one in shown.pictures)
    # each opens with its label, for this session alone
    where = evaluator.pictures.find("me", 0)
    _, info = explorer.load_picture(explorer.landing, where)
    names = explorer.read_card(explorer.landing).class_names
    assert (info.title, names[info.label or 0]) == (shown.pictures[0].title, shown.pictures[0].label)
    for session, number in (("somebody else", 0), ("me", 99), ("me", "0"), ("me", None), ("me", True)):
        with pytest.raises(TNetError, match="not kept any more"):
            evaluator.pictures.find(session, number)
    # the one before stays, since it may be open; what is older goes, and all of it with the session
    for _ in range(2):
        evaluator.evaluate_zip("me", file, "garden", wanted, quiet, str(tmp_path))
    assert not Path(where).exists() and len(list((tmp_path / "uploads").iterdir())) == 2
    evaluator.pictures.release("me")
    assert list((tmp_path / "uploads").iterdir()) == []
    with pytest.raises(TNetError, match="not kept any more"):
        evaluator.pictures.find("me", 0)


def test_files_of_failures_are_bounded_and_a_folder_is_not_copied(
    explorer: Explorer, garden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    (tmp_path / "uploads").mkdir()
    local = Evaluator(explorer, local=True)
    wanted = local.check_request(explorer.landing, 2, [], 100, shows_failures=True)
    monkeypatch.setattr("pages.your_data.failure_pictures.MAX_FAILURES", 2)
    shown = local.evaluate_folder("me", str(garden), wanted, quiet).failures
    assert shown is not None and len(shown.pictures) == 2 < shown.wrong and shown.reference == ""
    assert Path(local.pictures.find("me", 1)).is_relative_to(garden)
    assert list((tmp_path / "uploads").iterdir()) == []
    local.pictures.release("me")
    assert len(list(garden.rglob("*.png"))) == 12
    monkeypatch.setattr("pages.your_data.failure_pictures.MAX_FAILURE_BYTES", 0)
    file = str(zipped(garden, tmp_path / "z.zip"))
    shown = local.evaluate_zip("me", file, "garden", wanted, quiet, str(tmp_path)).failures
    assert shown is not None and not any(one.can_open for one in shown.pictures) and shown.pictures[0].thumbnail
    with pytest.raises(TNetError, match="not kept any more"):
        local.pictures.find("me", 0)


def test_programs_get_what_they_got_before_and_nothing_is_kept(
    evaluator: Evaluator, garden: Path, tmp_path: Path
) -> None:
    wanted = evaluator.check_request(evaluator.explorer.landing, 2, [], 4)
    found = evaluator.evaluate_zip("me", str(zipped(garden, tmp_path / "z")), "garden", wanted, quiet, str(tmp_path))
    assert found.failures is None and set(found.content) <= KNOWN_FIELDS


def test_folders_are_opened_for_this_machine_alone(explorer: Explorer, evaluator: Evaluator, garden: Path) -> None:
    write_picture(garden / "dodo" / "1.png", 0)
    local = Evaluator(explorer, local=True)
    wanted = local.check_request(explorer.landing, 2, [], 1000)
    with pytest.raises(TNetError) as raised:
        evaluator.evaluate_folder("me", str(garden), wanted, quiet)
    assert str(raised.value) == NO_FOLDERS
    found = local.evaluate_folder("me", f" {garden} ", wanted, quiet)
    assert found.content["dataset"]["name"] == "garden" and found.content["dataset"]["size"] == 12
    assert found.notices == ["Left out: 1 image of a class that is not known ('dodo')."]
    for wrong in ("", None, 3):
        with pytest.raises(TNetError, match="Name a folder"):
            local.evaluate_folder("me", wrong, wanted, quiet)
    with pytest.raises(TNetError, match="does not exist"):
        local.evaluate_folder("me", str(garden / "nowhere"), wanted, quiet)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"spec": "nowhere"}, "The checkpoint 'nowhere' is not offered here"),
        ({"spec": None}, "A checkpoint is named by its id."),
        ({"budget": 0}, "The largest number of looks is 0, but must lie in 1…25."),
        ({"budget": "5"}, "The largest number of looks must be a whole number, not '5'."),
        ({"budget": float("nan")}, "The largest number of looks must be a whole number, not nan."),
        ({"budget": []}, "A budget is one number of looks, or one per level."),
        ({"limit": 1e308}, "The number of images must be a whole number, not 1e+308."),
        ({"limit": None}, "The number of images must be a whole number, not None."),
        ({"policies": ["learned", {}]}, "There is no policy {}; known are "),
    ],
)
def test_whatever_is_asked_is_checked(evaluator: Evaluator, change: dict[str, Any], sentence: str) -> None:
    asked = {"spec": evaluator.explorer.landing, "budget": 10, "policies": ["random"], "limit": 10} | change
    with pytest.raises(TNetError) as raised:
        evaluator.check_request(**asked)
    assert str(raised.value).startswith(sentence)
