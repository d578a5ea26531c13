"""What a link leads to: the page it was made from, or what is left of it and a sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tnet_core as tn
from pages.explore.open_link import OpenedLink, build_address, open_link
from pages.explore.service import Explorer
from pages.server.model_cache import ModelCache
from pages.server.sessions import Session
from tests.support.checkpoints import entry_fields, save_birds, write_registry
from tests.support.models import TINY_3L, BackboneCalls, tiny
from tnet_core.checkpoints import Registry

DEEP = replace(TINY_3L, num_classes=3)
NOTHING = {"budget": None, "cls": None, "versus": None, "steer": None, "step": None}


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    """Birds, and a model with three levels that takes any photograph."""
    folder = tmp_path_factory.mktemp("stocked")
    birds = save_birds(folder / "birds")
    tn.save(tiny(DEEP), folder / "deep", class_names=("hook", "ring", "star"))
    gone = entry_fields(birds, id="gone", title="Gone", source={"folder": "nowhere"})
    path = write_registry(
        folder / "mine.yaml",
        entry_fields(birds, source={"folder": "birds"}),
        entry_fields(folder / "deep", id="deep", title="Three levels", source={"folder": "deep"}),
        gone,
    )
    return Explorer(ModelCache(Registry.load(path, shipped=None), fallback="lite0-cub", device="cpu"))


def follow(explorer: Explorer, query: str) -> OpenedLink:
    pairs = [tuple(pair.split("=", 1)) for pair in query.split("&") if pair]
    return open_link(explorer, pairs, lambda _: None)  # type: ignore[arg-type]


def leave_out_scene(session: Session, sent: str) -> tuple[Any, ...]:
    """What a page is sent and what is remembered of it, but for the number that every scene has for itself."""
    scene = json.loads(sent)
    assert scene.pop("scene") == session.scene
    return session.spec, session.where, session.trace, scene


@pytest.mark.slow
def test_without_a_link_the_landing_page_is_shown(explorer: Explorer) -> None:
    found = follow(explorer, "__theme=dark")
    assert (found.spec, found.where, found.panel, found.wrong) == (explorer.landing, 0, None, "")
    assert found.restore == NOTHING
    assert leave_out_scene(found.session, found.sent) == leave_out_scene(*explorer.open_picture(explorer.landing, 0))


@pytest.mark.slow
def test_a_link_leads_to_its_checkpoint_example_budget_and_classes(explorer: Explorer) -> None:
    names = [build_address(explorer, "deep", where)["example"] for where in range(len(explorer.list_pictures("deep")))]
    assert len(set(names)) == len(names) > 2
    found = follow(explorer, f"checkpoint=deep&example={names[2]}&looks=1,2&class=2&against=second&step=1")
    assert (found.spec, found.where, found.wrong) == ("deep", 2, "")
    assert found.panel is not None and found.panel.chooser["value"] == "deep"
    assert found.restore == {"budget": (1, 2), "cls": 2, "versus": "second", "steer": None, "step": 1}
    assert json.loads(found.sent)["title"] == explorer.list_pictures("deep")[2].title


@pytest.mark.parametrize(
    ("query", "versus"),
    [
        ("checkpoint=deep", None),  # a picture, as a visit shows it
        ("checkpoint=deep&looks=1,1", "none"),  # links were like that when pages opened with the logit of one class
        ("checkpoint=deep&class=1", "none"),
        ("checkpoint=deep&cells=1", "none"),
        ("checkpoint=deep&looks=1,1&against=rival", "rival"),
        ("checkpoint=deep&looks=1,1&against=none", "none"),
        ("checkpoint=deep&against=0", 0),
    ],
)
def test_an_older_link_keeps_its_ledger(explorer: Explorer, query: str, versus: str | int | None) -> None:
    found = follow(explorer, query)
    assert (found.restore["versus"], found.wrong) == (versus, "")


def test_cells_of_a_link_are_looked_at_where_the_network_did_not(explorer: Explorer) -> None:
    trace = explorer.open_picture("deep", 0)[0].trace
    first = trace.locations[0].index
    taken = {look.index for look in trace.locations if look.parent == 0}
    cell = next(index for index in range(9) if index not in taken)
    with BackboneCalls(explorer.models.open("deep")) as calls:
        known = follow(explorer, f"checkpoint=deep&cells={first},{first}.{min(taken)}")
    assert calls.batches == []  # all of it was known
    assert known.restore["steer"]["plan"][0] == 0 and known.restore["steer"]["weights"]["sets"]
    found = follow(explorer, f"checkpoint=deep&cells={first},{first}.{cell}&step=1")
    assert found.wrong == ""
    assert found.restore["steer"]["plan"] == [0, len(trace.locations)]
    assert [look["index"] for look in found.restore["steer"]["looks"]] == [cell]
    added = [(look.parent, look.index) for look in found.session.trace.locations[len(trace.locations) :]]
    assert added == [(0, cell)]
    _, answer = explorer.steer(found.session, {"plan": [len(trace.locations)], "scene": found.session.scene})
    assert answer["kind"] == "steer"  # the page can go on from there


@pytest.mark.parametrize(
    ("query", "spec", "sentence"),
    [
        ("checkpoint=unknown&looks=1", "landing", "'unknown' is not offered here"),
        ("checkpoint=gone&looks=1", "landing", "'gone' is not what the registry promises"),
        ("checkpoint=<script>alert(1)</script>", "landing", "its 'checkpoint' is not the id of a checkpoint"),
        ("checkpoint=deep&looks=-1", "deep", "its 'looks' is not a number of looks per level"),
        ("checkpoint=deep&looks=3", "deep", "its 'looks' are 1 numbers and the model takes 2"),
        ("checkpoint=deep&looks=1,9", "deep", "its 'looks' are more than"),
        ("checkpoint=deep&class=3", "deep", "its 'class' is 3 and the last class is 2"),
        ("checkpoint=deep&class=1&against=17", "deep", "its 'against' is 17 and the last class is 2"),
        ("checkpoint=deep&example=no-such", "deep", "no example of that name"),
        ("checkpoint=deep&example=0&cells=1", "deep", "no example of that name"),
        ("checkpoint=deep&cells=999", "deep", "cell 999 and the last one is 8"),
        ("checkpoint=deep&cells=1.2", "deep", "inside a cell that it did not look at"),
        ("checkpoint=deep&step=999", "deep", "its 'step' is 999"),
        ("looks=3&looks=3", "landing", "it gives 'looks' more than once"),
    ],
)
def test_what_cannot_be_followed_is_said_and_runs_nothing(
    explorer: Explorer, query: str, spec: str, sentence: str
) -> None:
    spec = explorer.landing if spec == "landing" else spec
    expected = explorer.open_picture(spec, 0)
    with BackboneCalls(explorer.models.open(spec)) as calls:
        found = follow(explorer, query)
    assert calls.batches == []
    assert sentence in found.wrong
    assert found.wrong.startswith("The link could not be followed completely: ") and found.wrong.endswith(".")
    assert (found.spec, found.where) == (spec, 0)
    assert leave_out_scene(found.session, found.sent) == leave_out_scene(*expected)
    assert found.restore == NOTHING


def test_what_is_right_in_a_link_is_followed_beside_what_is_wrong(explorer: Explorer) -> None:
    found = follow(explorer, "checkpoint=deep&looks=-1&class=1&cells=999&step=2")
    assert found.restore == NOTHING | {"cls": 1, "versus": "none"}
    assert "'looks'" in found.wrong and "cell 999" in found.wrong and "'step'" not in found.wrong
    assert found.wrong.count(".") == 1


def test_pictures_that_were_brought_are_in_no_link(explorer: Explorer, tmp_path: Path) -> None:
    assert build_address(explorer, "deep", str(tmp_path / "secret.png")) == {"checkpoint": "deep", "example": None}
