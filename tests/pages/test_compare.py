"""What the Compare tab asks for: traversals once, policies without the backbone, everything else refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from PIL import Image

import tnet_core as tn
from pages.compare.service import Comparer, find_most_alike
from pages.compare.tab import build_compare_tab as tab
from pages.explore.service import Explorer
from pages.explore.tab import Explored
from pages.limits import largest_budget
from pages.server.rpc import PageCalls
from pages.server.sessions import Session
from tests.support.model_caches import build_model_cache
from tests.support.models import TINY, TINY_3L, BackboneCalls, picture, tiny

NAMES = ("wren", "robin", "tit", "rook", "crow", "owl", "tern")


class Bench:
    """A cache with a model of two levels, a second one and one of three; two pictures; a page at the first."""

    def __init__(self, folder: Path) -> None:
        cache = build_model_cache()
        models = {"deep": tiny(TINY_3L), "other": tiny(TINY, seed=2), "flat": tiny(TINY)}
        self.specs: dict[str, str] = {}
        for name, model in models.items():
            tn.save(model, folder / name, class_names=NAMES if name != "other" else (*NAMES[::-1][:6], "kite"))
            self.specs[name] = cache.add(str(folder / name), on_notice=lambda _: None).spec
        self.explorer, self.comparer = Explorer(cache), Comparer(Explorer(cache))
        self.comparer.explorer = self.explorer
        self.files = [str(folder / f"picture {seed}.png") for seed in (5, 6)]
        for seed, file in zip((5, 6), self.files, strict=True):
            Image.fromarray(picture(90, 120, seed=seed)).save(file)
        self.told: list[tuple[str, int]] = []

    def session(self, name: str = "flat") -> Session:
        return self.explorer.open_picture(self.specs[name], self.files[0])[0]

    def ask(self, session: Session | None, mode: Any, a: Any, b: Any, brought: str | None = None) -> dict[str, Any]:
        scene = None if session is None else session.scene
        question = {"mode": mode, "a": a, "b": b, "scene": scene}
        return json.loads(self.comparer.build_pair(session, brought, question, self.tell))

    def tell(self, done: int, doing: str) -> None:
        self.told.append((doing, done))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


def paths(sent: dict[str, Any], side: str) -> list[list[int]]:
    return [look["path"] for look in sent[side]["looks"]]


def test_policies_of_two_levels_cost_no_look(bench: Bench) -> None:
    session = bench.session()
    with BackboneCalls(bench.explorer.models.open(session.spec)) as calls:
        sent = bench.ask(session, "policies", {"policy": "learned"}, {"policy": "random", "seed": 7})
        own = bench.ask(session, "policies", {"policy": "own", "cells": [8, 0]}, {"policy": "centre"})
        empty = bench.ask(session, "policies", {"policy": "own", "cells": []}, {"policy": "raster"})
    assert calls.batches == []
    expected = tn.traverse(tiny(), bench.files[0], budget=(9,), policy="random:7")
    assert paths(sent, "b") == [list(look.path) for look in expected.locations]
    assert sent["b"]["title"] == "at random, seed 7"
    assert paths(own, "a") == [[8], [0]] and paths(own, "b")[0] == [4]
    assert paths(empty, "a") == [] and paths(empty, "b") == [[cell] for cell in range(9)]


def test_policies_of_three_levels_are_traversed_once(bench: Bench) -> None:
    session = bench.session("deep")
    bench.told.clear()
    with BackboneCalls(bench.explorer.models.open(session.spec)) as calls:
        for _ in range(2):
            sent = bench.ask(session, "policies", {"policy": "learned"}, {"policy": "centre"})
    assert [done for _, done in bench.told] == [1] and "picture 5.png" in bench.told[0][0]
    assert sum(calls.batches) == len(sent["b"]["looks"]) + 1
    expected = tn.traverse(tiny(TINY_3L), bench.files[0], budget=largest_budget(TINY_3L), policy="centre")
    assert paths(sent, "b") == [list(look.path) for look in expected.locations]
    with pytest.raises(tn.TNetError, match="two levels only"):
        bench.ask(session, "policies", {"policy": "own", "cells": [1]}, {"policy": "centre"})


def test_looks_chosen_in_explore_are_compared_as_they_are(bench: Bench) -> None:
    session = bench.session("deep")
    taken = {look.index for look in session.trace.locations if look.parent == 0}
    cell = next(index for index in range(9) if index not in taken)
    steered, _ = bench.explorer.steer(session, {"plan": [0], "add": {"parent": 0, "index": cell}})
    sent = bench.ask(
        steered, "policies", {"policy": "learned"}, {"policy": "hand", "plan": [0, len(session.trace.locations)]}
    )
    first = session.trace.locations[0].index
    assert paths(sent, "b") == [[first], [first, cell]]
    assert paths(sent, "a") == [list(look.path) for look in session.trace.locations]  # without what was added


def test_checkpoints_are_compared_on_the_open_picture_and_classes_by_name(bench: Bench) -> None:
    session = bench.session()
    bench.told.clear()
    sent = bench.ask(session, "checkpoints", {"checkpoint": session.spec}, {"checkpoint": bench.specs["other"]})
    assert len(bench.told) == 1  # the picture was looked at by one of them already
    assert len(sent["pictures"]) == 1
    assert sent["common"] == [[cls, 6 - cls] for cls in range(1, 7)]
    expected = tn.traverse(tiny(TINY, seed=2), bench.files[0], budget=(9,))
    assert paths(sent, "b") == [list(look.path) for look in expected.locations]


def test_pictures_are_examples_or_what_this_page_brought(bench: Bench) -> None:
    session, (_, other) = bench.session(), bench.files
    sent = bench.ask(session, "pictures", {"picture": "current"}, {"picture": "brought"}, brought=other)
    assert sent["b"]["caption"] == "picture 6.png" and len(sent["pictures"]) == 2
    sent = bench.ask(session, "pictures", {"picture": 0}, {"picture": 1})
    assert sent["a"]["caption"] == bench.explorer.list_pictures(session.spec)[0].title
    with pytest.raises(tn.TNetError, match="whole number"):
        bench.ask(session, "pictures", {"picture": "current"}, {"picture": "brought"})


def test_the_offer_is_what_can_be_chosen(bench: Bench) -> None:
    session = bench.session()
    told = json.loads(bench.comparer.build_offer(session, bench.files[1]))
    assert (told["scene"], told["checkpoint"], told["levels"]) == (session.scene, session.spec, 2)
    assert told["brought"] == "picture 6.png" and told["where"] is None and told["title"] == "picture 5.png"
    assert [spec for spec, _ in told["checkpoints"]] == list(bench.specs.values())[::-1]
    assert told["pictures"] == [example.title for example in bench.explorer.list_pictures(session.spec)]
    with pytest.raises(tn.TNetError, match="No picture was looked at yet"):
        bench.comparer.build_offer(None, None)


def test_the_checkpoint_called_most_alike_is_offered_first() -> None:
    assert find_most_alike("net-cub", ["net-photo", "needles", "net-cub-reinforce", "net-cub"]) == "net-cub-reinforce"
    assert find_most_alike("net", ["net"]) is None


LEARNED = {"policy": "learned"}


@pytest.mark.parametrize(
    ("mode", "side"),
    [
        ("policies", None),
        ("policies", []),
        ("policies", {}),
        ("policies", {"policy": "nowhere"}),
        ("policies", {"policy": ["learned"]}),
        ("policies", {"policy": "random"}),
        ("policies", {"policy": "random", "seed": -1}),
        ("policies", {"policy": "random", "seed": 10**9}),
        ("policies", {"policy": "random", "seed": 0.5}),
        ("policies", {"policy": "own"}),
        ("policies", {"policy": "own", "cells": [9]}),
        ("policies", {"policy": "own", "cells": [-1]}),
        ("policies", {"policy": "own", "cells": [3, 3]}),
        ("policies", {"policy": "own", "cells": ["3"]}),
        ("policies", {"policy": "own", "cells": [True]}),
        ("policies", {"policy": "own", "cells": "12"}),
        ("policies", {"policy": "own", "cells": list(range(50))}),
        ("policies", {"policy": "hand", "plan": None}),
        ("policies", {"policy": "hand", "plan": [99]}),
        ("policies", {"policy": "hand", "plan": [1, 1]}),
        ("checkpoints", {"checkpoint": "../../etc"}),
        ("checkpoints", {"checkpoint": None}),
        ("checkpoints", {"checkpoint": {"a": 1}}),
        ("pictures", {"picture": "/etc/passwd"}),
        ("pictures", {"picture": -1}),
        ("pictures", {"picture": 10**6}),
        ("pictures", {"picture": None}),
        ("nonsense", LEARNED),
        (["policies"], LEARNED),
        (None, LEARNED),
    ],
)
def test_nonsense_is_refused_with_a_sentence(bench: Bench, mode: Any, side: Any) -> None:
    session = bench.session()
    good: dict[Any, Any] = {"checkpoints": {"checkpoint": session.spec}, "pictures": {"picture": "current"}}
    with pytest.raises(tn.TNetError, match=r"\w+ .*\."):
        bench.ask(session, mode, good.get(mode, LEARNED) if isinstance(mode, str) else LEARNED, side)


def test_another_picture_and_other_shapes_of_questions_are_refused(bench: Bench) -> None:
    session = bench.session()
    whole = {"mode": "policies", "a": LEARNED, "b": LEARNED, "scene": session.scene}
    assert json.loads(bench.comparer.build_pair(session, None, whole, bench.tell))["kind"] == "pair"
    for wrong in (None, [], "x", whole | {"scene": 0}, whole | {"a": 1}):
        with pytest.raises(tn.TNetError, match=r"\w+ .*\."):
            bench.comparer.build_pair(session, None, wrong, bench.tell)
    with pytest.raises(tn.TNetError, match="No picture was looked at yet"):
        bench.comparer.build_pair(None, None, whole, bench.tell)


def test_handlers_are_private_and_answer_bad_calls_with_the_sentence(bench: Bench) -> None:
    with gr.Blocks() as demo, gr.Tabs(), gr.Tab("Compare"):
        tab(
            bench.explorer,
            Explored(gr.State(), gr.State(), gr.HTML(js_on_load="'pair' 'look_pair'"), gr.State(), [], list),
        )
    called = {listener.name: listener for listener in demo.fns.values()}
    assert set(called) == {"on_pair", "on_open", "on_upload"}
    assert {listener.api_visibility for listener in called.values()} == {"private"}
    session = bench.session()
    event = gr.EventData(
        None,
        {"id": 5, "mode": "policies", "scene": session.scene, "a": {"policy": "own", "cells": [999]}, "b": LEARNED},
    )
    told = json.loads(called["on_pair"].fn(PageCalls(), session, None, event, lambda *_, **__: None))
    assert (told["kind"], told["id"]) == ("problem", 5) and "999" in told["sentence"]
    told = json.loads(
        called["on_pair"].fn(PageCalls(), None, None, gr.EventData(None, ["nothing"]), lambda *_, **__: None)
    )
    assert told["kind"] == "expired"
    state, answer = called["on_upload"].fn(__file__)
    assert state == gr.skip() and json.loads(answer)["kind"] == "problem"
    state, answer = called["on_upload"].fn(bench.files[1])
    assert state == bench.files[1] and json.loads(answer) | {"id": 0} == {
        "kind": "brought",
        "title": "picture 6.png",
        "id": 0,
    }
    offered, clock = called["on_open"].fn(session, None, 1.0)
    assert json.loads(offered)["kind"] == "offer" and not clock["active"]
