"""The tab's content as one piece of HTML, with both pictures and their looks, and what it does in the browser."""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path

from tnet_core import Trace
from tnet_core.sampling.boxes import Box
from viz.what_if.experiment import Experiment, format_chance, format_verdict
from viz.what_if.panels import render_decisions_panel, render_looks_panel, render_per_look_count, render_scores_panel

NO_LOOKS = "This checkpoint sees the whole image at once: there are no looks that could follow anything."


def render_experiment(shown: Experiment) -> str:
    return (
        f'<div class="tn-stage what-if" data-looks="{shown.start_looks}">'
        f'<div class="what-if-verdict" role="status">{render_per_look_count(shown, _render_verdict)}</div>'
        f"{_render_sampling_note(shown)}{render_pictures(shown)}{_render_slider(shown)}"
        f'<div class="what-if-lower">{render_looks_panel(shown)}'
        f'<div class="what-if-side">{render_scores_panel(shown)}{render_decisions_panel(shown)}</div></div></div>'
    )


def _render_verdict(shown: Experiment, k: int) -> str:
    chance = (
        f"<small>{html.escape(format_chance(shown, k))}</small>" if shown.has_changed and shown.copied is None else ""
    )
    return f"<p>{html.escape(format_verdict(shown, k))}</p>{chance}"


def _render_sampling_note(shown: Experiment) -> str:
    return (
        f'<p class="tn-caption what-if-otherwise">{html.escape(shown.sampling_note)}</p>' if shown.sampling_note else ""
    )


def _render_slider(shown: Experiment) -> str:
    inside = " (with all looks inside them)" if len(shown.before.budget) > 1 else ""
    return (
        f'<label class="tn-scrub what-if-k"><span>Looks that count{inside}</span>'
        f'<input type="range" min="1" max="{shown.max_looks}" step="1" value="{shown.start_looks}">'
        "<output></output></label>"
    )


def render_nothing(sentence: str) -> str:
    """Render why there is nothing to try."""
    return f'<div class="tn-stage what-if"><p class="what-if-nothing">{html.escape(sentence)}</p></div>'


@cache
def build_load_script() -> str:
    """Return what the component runs once: the number of looks and the chosen look are the browser's own."""
    own = (Path(__file__).parent / "what_if.js").read_text(encoding="utf-8")
    return f"{own}\nwhatIf(element, watch);"


def render_intro() -> str:
    return (
        '<div class="tn-head what-if-title"><h2>What if</h2><p>Change the picture that is open in Explore and see '
        "whether the looks follow its content or stay in position. What comes in from outside repeats the outermost "
        "pixels. It tells what the policy reacts to on this picture, not whether the reaction is right.</p></div>"
    )


def render_pictures(shown: Experiment) -> str:
    """Render both pictures with their looks as numbered boxes, and where the content of the unchanged ones went."""
    image = shown.before.image
    ratio = f"{image.width / image.height:.5f}"
    unchanged = _render_figure(
        "before", "Unchanged", shown.title, shown.pictures[0], ratio, _render_boxes(shown.before)
    )
    marks = _render_content(shown) + _render_boxes(shown.after)
    changed = _render_figure(
        "after", f"The same, {shown.change}", _format_legend(shown), shown.pictures[1], ratio, marks
    )
    return f'<div class="what-if-columns">{unchanged}{changed}</div>'


def _render_figure(name: str, title: str, caption: str, picture: str, ratio: str, marks: str) -> str:
    title = html.escape(title)
    return (
        f'<figure class="tn-picture what-if-{name}"><h3>{title}</h3>'
        f'<div class="tn-frame" style="--ratio:{ratio}"><img class="tn-photo" src="{picture}" alt="{title}">'
        f'<div class="tn-boxes">{marks}</div></div><figcaption>{html.escape(caption)}</figcaption></figure>'
    )


def _format_legend(shown: Experiment) -> str:
    if shown.copied is not None:
        return "Dashed: where the copy is."
    return "Dashed: where the content of the chosen look is now."


def _render_boxes(trace: Trace) -> str:
    looks = [look for look in trace.locations if look.parent is None]
    return "".join(
        f'<div class="tn-box" data-rank="{rank}" style="{_format_position(look.box)}"><b>{rank + 1}</b></div>'
        for rank, look in enumerate(looks)
    )


def _render_content(shown: Experiment) -> str:
    """Render boxes of the unchanged looks where the move took them, or the one place that shows a copy."""
    boxes = shown.before.cell_boxes()
    if shown.copied is not None:
        return f'<div class="what-if-content what-if-copy" style="{_format_position(boxes[shown.copied[1]])}"></div>'
    if shown.placement is None or not shown.has_changed:
        return ""
    moved = [clip_box(shown.placement.box(boxes[cell])) for cell in shown.cells[0]]
    return "".join(
        f'<div class="what-if-content" data-of="{rank}" style="{_format_position(box)}" hidden><b>{rank + 1}′</b></div>'
        for rank, box in enumerate(moved)
        if box is not None
    )


def clip_box(box: Box) -> Box | None:
    """Return the part inside the picture, None if there is none."""
    x0, y0, x1, y1 = (min(max(at, 0.0), 1.0) for at in box)
    return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None


def _format_position(box: Box) -> str:
    x0, y0, x1, y1 = (100 * at for at in box)
    return f"left:{x0:.3f}%;top:{y0:.3f}%;width:{x1 - x0:.3f}%;height:{y1 - y0:.3f}%"
