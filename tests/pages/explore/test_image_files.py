"""Files that only the server can make; anything else is refused in one sentence."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from pages.explore.images import read_file
from pages.explore.service import Explorer
from pages.server.model_cache import UNTRAINED
from tests.support.model_caches import build_model_cache
from tests.support.models import TINY_3L, picture, tiny
from tnet_core.inference.replay import replay
from viz.examples import draw_picture as drawn


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Explorer, Path]:
    folder = tmp_path_factory.mktemp("deep")
    tn.save(tiny(TINY_3L), folder / "model")
    Image.fromarray(picture(90, 120, seed=5)).save(folder / "mine.jpg")
    return Explorer(build_model_cache(folder / "model")), folder / "mine.jpg"


@pytest.mark.slow
def test_the_trace_has_the_looks_that_were_added_by_hand(deep: tuple[Explorer, Path]) -> None:
    explorer, file = deep
    session, _ = explorer.open_picture(explorer.landing, str(file))
    taken = {look.index for look in session.trace.locations if look.parent == 0}
    cell = next(index for index in range(9) if index not in taken)
    session, _ = explorer.steer(session, {"plan": [0], "add": {"parent": 0, "index": cell}})
    answer = read_file(explorer, session, {"what": "trace", "scene": session.scene})
    trace = tn.Trace.from_json(answer["text"])
    assert (trace.locations[-1].parent, trace.locations[-1].index) == (0, cell)
    replay(trace, tiny(TINY_3L), file)
    original = read_file(explorer, session, {"what": "original", "scene": session.scene})
    assert base64.b64decode(original["base64"]) == file.read_bytes()
    assert (original["extension"], original["type"]) == ("jpg", "image/jpeg")


@pytest.mark.slow
def test_a_drawn_example_comes_as_a_file_without_loss() -> None:
    explorer = Explorer(build_model_cache())
    assert explorer.landing == UNTRAINED
    session, _ = explorer.open_picture(UNTRAINED, 1)
    answer = read_file(explorer, session, {"what": "original", "scene": session.scene})
    data = base64.b64decode(answer["base64"])
    assert answer["extension"] == "png"
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), drawn(1))
    session.trace.check_image(tn.ImageSource.open(data))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (None, "Another picture"),
        ([], "Another picture"),
        ({"what": "trace"}, "Another picture"),
        ({"what": "trace", "scene": -1}, "Another picture"),
        ({"what": "trace", "scene": {}}, "Another picture"),
        ({"what": "secrets", "scene": 0}, "no such file"),
        ({"what": ["trace"], "scene": 0}, "no such file"),
        ({"scene": 0}, "no such file"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(deep: tuple[Explorer, Path], asked: Any, sentence: str) -> None:
    explorer, file = deep
    session, _ = explorer.open_picture(explorer.landing, str(file))
    if isinstance(asked, dict) and asked.get("scene") == 0:
        asked = asked | {"scene": session.scene}
    with pytest.raises(tn.TNetError, match=sentence):
        read_file(explorer, session, asked)


def test_what_is_not_there_any_more_is_told(deep: tuple[Explorer, Path], tmp_path: Path) -> None:
    explorer, file = deep
    with pytest.raises(tn.TNetError, match="reload it"):
        read_file(explorer, None, {"what": "trace", "scene": 1})
    mine = tmp_path / "mine.jpg"
    mine.write_bytes(file.read_bytes())
    session, _ = explorer.open_picture(explorer.landing, str(mine))
    mine.unlink()
    with pytest.raises(tn.TNetError, match="not here any more"):
        read_file(explorer, session, {"what": "original", "scene": session.scene})
    read_file(explorer, session, {"what": "trace", "scene": session.scene})  # the trace holds no pixels


def test_a_picture_too_large_to_be_sent_back_is_kept_by_its_owner(deep: tuple[Explorer, Path], tmp_path: Path) -> None:
    explorer, file = deep
    mine = tmp_path / "mine.jpg"
    mine.write_bytes(file.read_bytes())
    session, _ = explorer.open_picture(explorer.landing, str(mine))
    with mine.open("ab") as end:
        end.truncate(13 * 2**20)
    with pytest.raises(tn.TNetError, match="has 13 MB and is not sent back"):
        read_file(explorer, session, {"what": "original", "scene": session.scene})


def test_a_scene_tells_where_it_comes_from(deep: tuple[Explorer, Path]) -> None:
    explorer, file = deep
    _, sent = explorer.open_picture(explorer.landing, str(file))
    told = json.loads(sent)["evidence"]
    assert told["source"] == "model" and told["weights"] == "--checkpoint FOLDER"
    assert told["image"] == {"sha256": tn.ImageSource.open(file).sha256, "hashed": "file"}
    assert "torch" in told["versions"]
