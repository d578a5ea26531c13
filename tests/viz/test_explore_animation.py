"""The animation of the looks: its frames and captions."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY_3L, picture, tiny
from viz.common.text import format_class_name, format_percent
from viz.explore.animation import MAX_FRAMES, draw_frames, encode_animation, list_shown_counts, write_caption


@pytest.fixture(scope="module")
def trace() -> tn.Trace:
    return tn.traverse(tiny(TINY_3L), picture(seed=3), budget=(3, 2))


def test_frames_begin_with_the_thumbnail_and_end_with_all_looks_however_many() -> None:
    assert list_shown_counts(0) == [0]
    assert list_shown_counts(3) == [0, 1, 2, 3]
    many = list_shown_counts(100)
    assert (many[0], many[-1], len(many)) == (0, 100, MAX_FRAMES)


def test_a_caption_is_the_decision_from_these_looks(trace: tn.Trace) -> None:
    for looks in ([], [0], [2, 0]):
        share = trace.probabilities(subset=looks)
        best = int(share.argmax())
        assert write_caption(trace, looks).endswith(f": {format_class_name(trace, best)} {format_percent(share[best])}")
    assert write_caption(trace, [0]).startswith("1 look: ")


@pytest.mark.slow
def test_the_file_has_all_frames_and_even_noise_stays_below_three_megabytes(trace: tn.Trace) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (640, 640, 3), dtype=np.uint8)
    looks = range(len(trace.locations))
    frames = draw_frames(trace, noise, looks)
    data = encode_animation(frames)
    assert Image.open(io.BytesIO(data)).n_frames == len(frames) == len(looks) + 1  # type: ignore[attr-defined]
    assert len(data) * MAX_FRAMES / len(frames) < 3_000_000
