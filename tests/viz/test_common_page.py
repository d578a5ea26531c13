"""Fixed parts and messages of the page."""

from __future__ import annotations

import re
from pathlib import Path

from viz.common import style
from viz.common.page import build_page_head, render_notices, render_problem, render_untrained, render_warning


def test_the_notice_says_that_nothing_is_trained_and_nothing_means_anything() -> None:
    assert "Untrained weights" in render_untrained()
    assert "mean nothing yet" in render_untrained()


def test_messages_are_escaped() -> None:
    html = render_problem("'<script>x</script>.jpg' & co")
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_all_tabs_say_in_one_way_that_something_went_wrong() -> None:
    assert render_problem("It is too large.") == (
        '<p class="tn-problem" role="alert">It is too large. What is shown below is unchanged.</p>'
    )
    assert render_warning("") == ""
    root = Path(style.__file__).parents[2]
    written = [file for folder in ("pages", "viz") for file in (root / folder).rglob("*.*")]
    written = [file for file in written if file.suffix in (".py", ".html", ".js")]
    assert [file.name for file in written if 'class="tn-problem"' in file.read_text()] == ["page.html"]


def test_what_could_not_be_used_is_said_and_escaped() -> None:
    assert render_notices([]) == ""
    html = render_notices(["'<b>' is not a checkpoint.", "Another one."])
    assert html.count("tn-notice") == 2
    assert "&lt;b&gt;" in html


def test_the_style_sheet_fetches_nothing() -> None:
    head = build_page_head()
    assert not re.search(r"https?:|@import|url\(", head)
    assert f"--tn-accent: {style.ACCENT}" in head


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_figure_colours_read_on_white_and_on_nearly_black() -> None:
    """3:1 for shapes; text of the page itself takes the theme's colour and is checked in the browser."""
    for colour in (style.ACCENT, style.FOR, style.AGAINST, style.INK, style.STRONG):
        for ground in ("#ffffff", "#0b0f19"):
            light, dark = sorted((luminance(colour), luminance(ground)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, (colour, ground)
