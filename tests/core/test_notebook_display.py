"""What a notebook shows of a trace: static HTML with looks, decision and ledger."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import tnet_core as tn
from tests.support.models import TINY_3L, picture, tiny

LARGEST = 300_000  # bytes


@pytest.fixture(scope="module")
def trace() -> tn.Trace:
    return tn.traverse(tiny(), picture(), budget=(4,))


def find_tags(text: str) -> list[str]:
    """Return the names of all opened tags, and fail where one that needs an end has none."""
    opened: list[str] = []
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            opened.append(tag)
            found.append(tag)

        def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(text)
    assert not opened
    return found


def test_it_shows_numbered_looks_the_decision_and_a_ledger_that_adds_up(trace: tn.Trace) -> None:
    text = trace._repr_html_()
    tags = find_tags(text)
    assert "script" not in tags and "style" not in tags and "image" in tags
    assert re.findall(r'text-anchor="middle">(\d+)<', text) == ["1", "2", "3", "4"]
    assert f"{trace.class_name(trace.prediction)} {100 * trace.probabilities().max():.1f} %" in text
    shares = [float(value) for value in re.findall(r"<td>([+-]\d+\.\d{3})</td>", text)]
    assert len(shares) == 7  # thumbnail, four looks, bias, logit
    assert sum(shares[:-1]) == pytest.approx(shares[-1], abs=0.004)
    assert shares[-1] == pytest.approx(trace.logits().max(), abs=6e-4)


def test_the_picture_has_the_image_s_aspect() -> None:
    wide = tn.traverse(tiny(), np.zeros((50, 200, 3), np.uint8), budget=(1,))._repr_html_()
    assert 'width="360" height="90" viewBox="0 0 360 90"' in wide


def test_without_pixels_the_looks_are_on_an_empty_frame(trace: tn.Trace) -> None:
    text = tn.Trace.from_json(trace.to_json())._repr_html_()
    assert "image" not in find_tags(text) and "holds no pixels" in text
    boxes = r'<rect x="[\d.]+" y="[\d.]+" width="[\d.]+" height="[\d.]+" fill="none"'
    assert re.findall(boxes, text) == re.findall(boxes, trace._repr_html_()) != []


def test_names_are_text_and_not_markup(trace: tn.Trace) -> None:
    model = copy.deepcopy(tiny())  # which all tests share
    model.class_names = tuple(f"<script>alert({cls})</script>" for cls in range(model.config.num_classes))
    model.source = '"><img src=x onerror=alert(1)>'
    tags = find_tags(tn.traverse(model, picture(), budget=(1,))._repr_html_())
    assert "script" not in tags and "img" not in tags


def test_hundreds_of_looks_and_endless_names_stay_small() -> None:
    model = copy.deepcopy(tiny(TINY_3L))  # which all tests share
    model.class_names = tuple(f"{cls}" * 5000 for cls in range(model.config.num_classes))
    noise = np.random.default_rng(0).integers(0, 256, (400, 400, 3), dtype=np.uint8)
    trace = tn.traverse(model, noise, budget=(model.config.cells, model.config.cells))
    text = trace._repr_html_()
    assert len(text.encode()) < LARGEST
    assert f"{len(trace.locations) - 60} more looks" in text


def test_colours_are_those_that_light_and_dark_pages_let_be_read(trace: tn.Trace) -> None:
    text = trace._repr_html_()
    assert "color: inherit" in text and not re.search(r"background: (?!none)", text)
