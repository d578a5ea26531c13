"""The Audit tab's handlers: what a browser may send, and what comes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from pages.audit.service import LABEL, PREDICTED, Auditor
from pages.audit.tab import build_audit_tab, build_faithfulness_panel
from pages.explore.service import Explorer
from pages.explore.tab import Explored
from pages.sampling import AS_TRAINED, SamplingMode
from pages.server.model_cache import UNTRAINED
from pages.server.sessions import NO_PICTURE, Session
from tests.support.evaluation_cards import bundled, card
from tests.support.model_caches import build_model_cache
from tests.support.models import TINY_3L, BackboneCalls, picture, tiny
from tests.support.wrong_values import WRONG_VALUES
from tests.viz.test_audit_reading import content
from tnet_core import explain
from tnet_core.checkpoints import CheckpointCard


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    """A small model of three levels, and one of two that nobody trained."""
    folder = tmp_path_factory.mktemp("deep")
    tn.save(tiny(TINY_3L), folder / "model", class_names=["<i>a</i>", "b", "c", "d", "e", "f", "g"])
    Image.fromarray(picture(90, 120, seed=5)).save(folder / "mine.png")
    return Explorer(build_model_cache(folder / "model"))


@pytest.fixture(scope="module")
def session(explorer: Explorer) -> Session:
    file = Path(explorer.landing).parent / "mine.png"
    return explorer.open_picture(explorer.landing, str(file))[0]


@pytest.fixture(scope="module")
def cards() -> list[CheckpointCard]:
    return bundled()


@pytest.fixture(scope="module")
def demo(explorer: Explorer, cards: list[CheckpointCard]) -> gr.Blocks:
    with gr.Blocks() as page, gr.Tabs(), gr.Tab("Audit"):
        explored = Explored(gr.State(explorer.landing), gr.State(), gr.HTML(), gr.State(), [], list)
        build_faithfulness_panel(explorer, explored)
        build_audit_tab(explorer, explored, lambda: cards)
    return page


def handler(demo: gr.Blocks, name: str) -> Callable[..., list[Any]]:
    return next(listener.fn for listener in demo.fns.values() if listener.name == name)


def outputs(demo: gr.Blocks, name: str, answer: list[Any]) -> dict[str, Any]:
    """Return the outputs by the ids of their components; states have none."""
    listener = next(listener for listener in demo.fns.values() if listener.name == name)
    assert len(answer) == len(listener.outputs)
    return {
        part.elem_id or str(at): value for at, (part, value) in enumerate(zip(listener.outputs, answer, strict=True))
    }


def progress(*_: Any, **__: Any) -> None:
    """Nobody watches."""


def test_no_handler_is_public_and_none_leaves_checks_to_gradio(demo: gr.Blocks) -> None:
    listeners = list(demo.fns.values())
    assert {listener.name for listener in listeners} == {
        "on_open", "on_checkpoint", "on_expand", "on_collapse", "on_picture", "on_report"
    }  # fmt: skip
    assert all(not listener.preprocess and listener.api_visibility == "private" for listener in listeners)


def test_opening_the_tab_shows_the_explored_checkpoint(
    demo: gr.Blocks, explorer: Explorer, cards: list[CheckpointCard]
) -> None:
    answer = handler(demo, "on_open")(explorer.landing, "", None)
    found = outputs(demo, "on_open", answer)
    assert "was never evaluated" in found["audit-board"]  # the small model has no evaluation
    assert found["audit-chooser"]["value"] is None
    assert len(found["audit-chooser"]["choices"]) == len(cards)
    # opened again, everything is as it was left
    assert all(change == gr.skip() for change in handler(demo, "on_open")(explorer.landing, answer[0], None))


def test_opening_the_panel_reports_on_the_picture(demo: gr.Blocks, explorer: Explorer, session: Session) -> None:
    with BackboneCalls(explorer.models.open(explorer.landing)) as calls:
        answer = handler(demo, "on_expand")(session, None, progress)
    assert calls.batches == [] and answer[0] is True
    found = outputs(demo, "on_expand", answer)
    choices = found["audit-class"]["choices"]
    assert choices[0] == ("the predicted class", PREDICTED) and choices[1] == ("<i>a</i>", "0") and len(choices) == 8
    assert (found["audit-looks"]["maximum"], found["audit-looks"]["value"]) == (6, 6)  # trained with 2 x 2
    kept = explorer.open_trace(session).only(session.trace.select(budget=(2, 2)))
    expected = explain.faithfulness(kept, kept.prediction)
    shown = found["audit-report"]
    shares = [float(value) for value in re.findall(r'data-shapley="([^"]*)"', shown)]
    np.testing.assert_allclose(shares, expected.shapley, atol=1e-6)
    assert "mine.png" in shown and "<i>a</i>" not in shown
    # opened again, everything is as it was left
    again = handler(demo, "on_expand")(session, answer[1], progress)
    assert all(change == gr.skip() for change in again[1:])
    # … unless something else is explored; a panel that is closed waits until it is opened
    other, _ = explorer.open_picture(explorer.landing, 0)
    changed = outputs(demo, "on_picture", handler(demo, "on_picture")(True, other, answer[1], progress))
    assert "tn-problem" not in changed["audit-report"] and "mine.png" not in changed["audit-report"]
    closed = handler(demo, "on_picture")(handler(demo, "on_collapse")(), other, answer[1], progress)
    assert all(change == gr.skip() for change in closed)


def test_class_and_number_of_looks_are_followed(demo: gr.Blocks, explorer: Explorer, session: Session) -> None:
    shown = Auditor(explorer, lambda: []).open_report(session)
    for cls, looks in (("3", 2), ("6", 5), ("0", 6.0), (PREDICTED, 4)):
        answer = outputs(demo, "on_report", handler(demo, "on_report")(cls, looks, session, shown, progress))
        kept = explorer.open_trace(session).only(shown.looks[: int(looks)])
        target = kept.prediction if cls == PREDICTED else int(cls)
        values = [float(value) for value in re.findall(r'data-share="([^"]*)"', answer["audit-report"])]
        np.testing.assert_allclose(values, kept.contributions(target).values, atol=1e-6)
        assert answer["audit-problem"] == "" and answer["audit-class"] == gr.skip()


def test_the_true_label_can_be_asked_for_where_it_is_known(explorer: Explorer, session: Session) -> None:
    auditor = Auditor(explorer, lambda: [])
    shown = auditor.open_report(session)
    with pytest.raises(tn.TNetError, match="no class 'label'"):
        auditor.render_report(shown, LABEL, 2)
    known = replace(shown, subject=replace(shown.subject, label=4))
    assert known.classes[1] == ("the true label: e", LABEL)
    assert 'data-class="4"' in auditor.render_report(known, LABEL, 2)


@pytest.mark.parametrize("wrong", [*WRONG_VALUES, 1, 7, 2.5, "²", "99"], ids=lambda value: repr(value)[:20])
def test_whatever_is_sent_gets_one_sentence_and_changes_nothing(
    demo: gr.Blocks, explorer: Explorer, session: Session, wrong: Any
) -> None:
    shown = Auditor(explorer, lambda: []).open_report(session)
    for cls, looks in ((wrong, 3), ("1", wrong)):
        answer = outputs(demo, "on_report", handler(demo, "on_report")(cls, looks, session, shown, progress))
        assert answer["audit-report"] == gr.skip() and answer["audit-problem"].count("tn-problem") == 1
        assert "<script>" not in answer["audit-problem"] and len(answer["audit-problem"]) < 400
    answer = outputs(demo, "on_checkpoint", handler(demo, "on_checkpoint")(wrong))
    assert answer["audit-board"] == gr.skip() and "no evaluated checkpoint" in answer["audit-noted"]
    assert "<script>" not in answer["audit-noted"] and len(answer["audit-noted"]) < 400


def test_without_a_picture_there_is_a_sentence_instead_of_a_report(demo: gr.Blocks, session: Session) -> None:
    for name, given in (("on_expand", ()), ("on_report", (PREDICTED, 3))):
        answer = outputs(demo, name, handler(demo, name)(*given, None, None, progress))
        assert NO_PICTURE in answer["audit-report"]
        assert answer["audit-class"]["visible"] is answer["audit-looks"]["visible"] is False


def test_a_report_about_another_picture_is_made_anew(demo: gr.Blocks, explorer: Explorer, session: Session) -> None:
    shown = Auditor(explorer, lambda: []).open_report(session)
    other, _ = explorer.open_picture(session.spec, 1)
    answer = outputs(demo, "on_report", handler(demo, "on_report")("3", 2, other, shown, progress))
    assert answer["audit-class"]["value"] == PREDICTED and "mine.png" not in answer["audit-report"]


@pytest.mark.slow
def test_any_evaluated_checkpoint_can_be_chosen_and_its_audit_is_made_once(
    explorer: Explorer, cards: list[CheckpointCard], tmp_path: Path
) -> None:
    growing = list(cards)
    auditor = Auditor(explorer, lambda: growing)
    assert [name for _, name in auditor.list_choices()] == [about.source for about in cards]
    first = auditor.render_audit("tnet-lite0-cub")
    assert first is auditor.render_audit("tnet-lite0-cub") and "Content or centre?" in first
    assert "no policy to audit" in auditor.render_audit("en-lite0-cub-160")
    growing[:] = [card(tmp_path, content("tnet-needles"), source="tnet-lite0-cub", title="another")]
    assert "another, measured on needles" in auditor.render_audit("tnet-lite0-cub")


@pytest.mark.slow
def test_an_untrained_model_has_a_report_but_no_audit(explorer: Explorer) -> None:
    bare = Explorer(build_model_cache())
    assert bare.landing == UNTRAINED
    name, made = Auditor(bare, bare.models.list_cards).render_explored(UNTRAINED)
    assert name is None and "never evaluated" in made


def test_a_report_on_looks_cut_otherwise_than_measured_says_so(
    explorer: Explorer, cards: list[CheckpointCard], tmp_path: Path
) -> None:
    Image.fromarray(picture(300, 400, seed=5)).save(tmp_path / "large.png")
    auditor = Auditor(explorer, lambda: cards)
    for mode, said in ((SamplingMode("native", "auto"), True), (AS_TRAINED, False)):
        session, _ = explorer.open_picture(explorer.landing, str(tmp_path / "large.png"), mode=mode)
        shown = auditor.open_report(session)
        told = auditor.render_report(shown, PREDICTED, shown.usual)
        assert ("(native sampling, 4 levels), as in Explore; the audit" in told) is said
        assert ("was measured with official sampling and 3 levels" in told) is said
