"""Parts of a picture at native pixels: exactly its own, bounded, and only of the page's picture."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from pages.compare.service import Comparer
from pages.explore import service as explorers
from pages.explore.images import read_file, read_part
from pages.explore.service import Explorer
from pages.limits import MAX_PART_SIDE
from pages.sampling import SamplingMode
from pages.server.model_cache import ModelCache
from pages.server.sessions import Session
from tests.core.test_large_images import Counted
from tests.support.hashing import Hashing, hashing
from tests.support.large_files import as_large, scene, tiff
from tests.support.model_caches import build_model_cache
from tests.support.models import TINY_3L, picture, tiny

pytestmark = pytest.mark.slow

__all__ = ["as_large", "hashing"]


@pytest.fixture(scope="module")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> ModelCache:
    folder = tmp_path_factory.mktemp("deep")
    tn.save(tiny(TINY_3L), folder / "model")
    return build_model_cache(folder / "model")


@pytest.fixture
def explorer(model_cache: ModelCache) -> Explorer:
    return Explorer(model_cache)


@pytest.fixture
def brought(explorer: Explorer, tmp_path: Path) -> Session:
    Image.fromarray(picture(90, 120, seed=5)).save(tmp_path / "mine.png")
    return explorer.open_picture(explorer.landing, str(tmp_path / "mine.png"))[0]


def pixels(answer: dict[str, Any]) -> np.ndarray:
    assert answer["kind"] == "part"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(answer["image"].partition(",")[2]))).convert("RGB"))


def ask_for_part(session: Session, *box: Any) -> dict[str, Any]:
    return {"scene": session.scene, "box": list(box)}


def test_a_part_is_exactly_the_pictures_pixels(explorer: Explorer, brought: Session) -> None:
    whole = picture(90, 120, seed=5)
    for x0, y0, x1, y1 in ((0, 0, 120, 90), (0, 0, 1, 1), (119, 89, 120, 90), (7, 11, 60, 80)):
        answer = read_part(explorer, brought, ask_for_part(brought, x0, y0, x1, y1))
        assert answer["box"] == [x0, y0, x1, y1]
        np.testing.assert_array_equal(pixels(answer), whole[y0:y1, x0:x1])


def test_of_an_example_too(explorer: Explorer) -> None:
    session, _ = explorer.open_picture(explorer.landing, 0)
    source, _ = explorer.load_picture(explorer.landing, 0)
    answer = read_part(explorer, session, ask_for_part(session, 10, 20, 90, 70))
    np.testing.assert_array_equal(pixels(answer), source.gather(np.arange(20, 70), np.arange(10, 90)))


@pytest.mark.parametrize("name", ["tiles.tif", "lines.png"])
def test_of_a_file_that_is_read_in_parts_only_these_are_decoded(
    name: str, explorer: Explorer, tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scene(900, 1300)
    if name == "tiles.tif":
        tiff(tmp_path / name, whole, tile=128, pyramid=True)
    else:
        Image.fromarray(whole).save(tmp_path / name)
    session, _ = explorer.open_picture(explorer.landing, str(tmp_path / name))
    counted = Counted(monkeypatch)
    answer = read_part(explorer, session, ask_for_part(session, 300, 200, 400, 310))
    np.testing.assert_array_equal(pixels(answer), whole[200:310, 300:400])
    assert counted.pixels <= 3 * 110 * 100  # pieces of rows of tiles; lines were decoded before


@pytest.mark.parametrize(
    "box",
    [
        None, 5, "0,0,1,1", [], [0, 0, 1], [0, 0, 1, 1, 1], {"x0": 0}, [0, 0, 121, 90], [0, 0, 120, 91], [-1, 0, 5, 5],
        [0, -1, 5, 5], [5, 5, 5, 6], [5, 5, 4, 6], [120, 0, 121, 1], [0.5, 0, 5, 5], [True, 0, 5, 5], ["0", 0, 5, 5],
        [0, 0, 10**30, 5], [-(10**30), 0, 5, 5], [float("nan"), 0, 5, 5], [None] * 4, [[0], 0, 5, 5],
    ],
)  # fmt: skip
def test_nonsense_is_refused_before_anything_is_opened(
    explorer: Explorer, brought: Session, box: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer, "load_picture", lambda *_: pytest.fail("opened"))
    with pytest.raises(tn.TNetError, match=r"^[A-Z].*\.$"):
        read_part(explorer, brought, {"scene": brought.scene, "box": box})


def test_an_answer_has_an_end(explorer: Explorer, tmp_path: Path) -> None:
    Image.fromarray(picture(4, 3000, seed=5)).save(tmp_path / "long.png")
    session, _ = explorer.open_picture(explorer.landing, str(tmp_path / "long.png"))
    answer = read_part(explorer, session, ask_for_part(session, 0, 0, MAX_PART_SIDE, 4))
    assert pixels(answer).shape == (4, MAX_PART_SIDE, 3)
    with pytest.raises(tn.TNetError, match="1024 x 1024 pixels at most, not 1025 x 4"):
        read_part(explorer, session, ask_for_part(session, 0, 0, MAX_PART_SIDE + 1, 4))


def test_only_of_the_picture_the_page_shows(explorer: Explorer, brought: Session) -> None:
    other, _ = explorer.open_picture(explorer.landing, 0)
    for wrong in (other.scene, None, "1", -1, 10**30, [brought.scene]):
        with pytest.raises(tn.TNetError, match="Another picture was chosen meanwhile"):
            read_part(explorer, brought, {"scene": wrong, "box": [0, 0, 5, 5]})
    for nothing in (None, [], "x", 5):
        with pytest.raises(tn.TNetError, match="Another picture"):
            read_part(explorer, brought, nothing)
    with pytest.raises(tn.TNetError, match="left alone for too long"):
        read_part(explorer, None, ask_for_part(brought, 0, 0, 5, 5))


def test_a_file_that_has_changed_or_gone_is_not_shown_as_what_was_looked_at(
    explorer: Explorer, brought: Session
) -> None:
    file = Path(str(brought.where))
    Image.fromarray(picture(90, 120, seed=6)).save(file)
    with pytest.raises(tn.TNetError, match="has changed since it was opened"):
        read_part(explorer, brought, ask_for_part(brought, 0, 0, 5, 5))
    file.unlink()
    with pytest.raises(tn.TNetError, match="not here any more"):
        read_part(explorer, brought, ask_for_part(brought, 0, 0, 5, 5))
    missing = replace(brought, where=999)
    with pytest.raises(tn.TNetError, match="no such example"):
        read_part(explorer, missing, ask_for_part(missing, 0, 0, 5, 5))


def test_a_stranger_may_bring_fewer_pixels_than_the_person_at_this_machine(
    model_cache: ModelCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorers, "MAX_PUBLIC_PIXELS", 90 * 120 - 1)
    Image.fromarray(picture(90, 120, seed=5)).save(tmp_path / "mine.png")
    with pytest.raises(tn.TNetError, match=r"120 x 90 pixels; at most .* are opened here"):
        Explorer(model_cache).open_picture(model_cache.open_first(), str(tmp_path / "mine.png"))
    session, _ = Explorer(model_cache, local=True).open_picture(model_cache.open_first(), str(tmp_path / "mine.png"))
    assert session.trace.image.width == 120


def test_reading_many_pixels_is_told(
    explorer: Explorer, brought: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told: list[str] = []
    explorer.open_picture(explorer.landing, brought.where, told.append)
    assert told == []
    monkeypatch.setattr(explorers, "LARGE_PIXELS", 1000)
    explorer.open_picture(explorer.landing, brought.where, told.append)
    assert told == ["Reading 120 × 90 pixels"]


def count_pixels_read(explorer: Explorer, path: Path, monkeypatch: pytest.MonkeyPatch, **how: Any) -> tuple[int, int]:
    """Count the pixels read of a file before its traversal has its turn, and while it has it."""
    counted, during = Counted(monkeypatch), list[tuple[int, int]]()
    taken = explorer._compute

    def looking(*given: Any) -> tn.Trace:
        before = counted.pixels
        trace = taken(*given)
        during.append((before, counted.pixels - before))
        return trace

    monkeypatch.setattr(explorer, "_compute", looking)
    explorer.traverse(explorer.landing, tn.ImageSource.open(path), **how)
    [found] = during
    return found


def test_a_large_file_is_read_before_the_turn_of_its_traversal(
    explorer: Explorer, tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiff(tmp_path / "a.tif", scene(300, 420), tile=64)
    before, while_looking = count_pixels_read(explorer, path, monkeypatch)
    assert before > 0 and while_looking == 0


class HugePicture(tn.ImageSource):
    """A picture of somebody else that is read for as long as the test wants."""

    width = height = 10_000
    sha256, hashed = "0" * 64, "pixels"

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def gather(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        self.begun.set()
        assert self.go.wait(60)
        return np.zeros((len(rows), len(cols), 3), np.uint8)

    def resized(self, box: tuple[int, int, int, int], size: tuple[int, int]) -> np.ndarray:
        return np.zeros((*size[::-1], 3), np.uint8)


def test_a_small_picture_does_not_wait_until_a_large_file_of_another_visitor_is_read(
    explorer: Explorer, tmp_path: Path
) -> None:
    Image.fromarray(scene(90, 120)).save(tmp_path / "mine.png")
    huge, spec = HugePicture(), explorer.landing
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(explorer.traverse, spec, huge)
        try:
            assert huge.begun.wait(60)
            mine, _ = pool.submit(explorer.open_picture, spec, str(tmp_path / "mine.png")).result(30)
            assert mine.trace.locations and not other.done()
        finally:
            huge.go.set()
        assert other.result(60).locations


def test_a_large_file_is_hashed_for_a_trace_or_a_report_and_not_before(
    explorer: Explorer, tmp_path: Path, as_large: None, hashing: Hashing
) -> None:
    path = tiff(tmp_path / "a.tif", scene(900, 1300), tile=128, pyramid=True)
    session, sent = explorer.open_picture(explorer.landing, str(path))
    assert json.loads(sent)["evidence"]["image"] == {"sha256": None, "hashed": "file"}
    read_part(explorer, session, ask_for_part(session, 10, 20, 90, 70))
    comparer = Comparer(explorer)
    question = {"mode": "policies", "a": {"policy": "learned"}, "b": {"policy": "centre"}, "scene": session.scene}
    assert len(json.loads(comparer.build_pair(session, None, question, lambda *_: None))["pictures"]) == 1
    assert hashing.files == []
    known = read_file(explorer, session, {"what": "sha256", "scene": session.scene})["text"]
    assert known == hashlib.sha256(path.read_bytes()).hexdigest()
    trace = tn.Trace.from_json(read_file(explorer, session, {"what": "trace", "scene": session.scene})["text"])
    assert trace.image.sha256 == known and hashing.files == [str(path)]
    _, sent = explorer.open_picture(explorer.landing, str(path))
    assert json.loads(sent)["evidence"]["image"]["sha256"] == known  # it costs nothing any more


@pytest.mark.parametrize("name", ["a.png", "a.jpg"])
def test_a_file_of_lines_is_decoded_before_the_turn_of_native_looks(
    explorer: Explorer, tmp_path: Path, as_large: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    Image.fromarray(scene(600, 840)).save(tmp_path / name)
    before, while_looking = count_pixels_read(
        explorer, tmp_path / name, monkeypatch, mode=SamplingMode("native", "auto")
    )
    assert before > 0 and while_looking == 0
