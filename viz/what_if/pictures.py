"""Both pictures with their looks as numbered boxes, and where the content of the unchanged one's looks went."""

from __future__ import annotations

import html

from tnet_core import Trace
from tnet_core.sampling.boxes import Box
from viz.what_if.model import Experiment


def pictures(shown: Experiment) -> str:
    image = shown.before.image
    ratio = f"{image.width / image.height:.5f}"
    unchanged = _figure("before", "Unchanged", shown.title, shown.pictures[0], ratio, _boxes(shown.before))
    marks = _content(shown) + _boxes(shown.after)
    changed = _figure("after", f"The same, {shown.change}", _legend(shown), shown.pictures[1], ratio, marks)
    return f'<div class="tnl-columns">{unchanged}{changed}</div>'


def _figure(name: str, title: str, caption: str, picture: str, ratio: str, marks: str) -> str:
    title = html.escape(title)
    return (
        f'<figure class="tn-picture tnl-{name}"><h3>{title}</h3>'
        f'<div class="tn-frame" style="--ratio:{ratio}"><img class="tn-photo" src="{picture}" alt="{title}">'
        f'<div class="tn-boxes">{marks}</div></div><figcaption>{html.escape(caption)}</figcaption></figure>'
    )


def _legend(shown: Experiment) -> str:
    if shown.copied is not None:
        return "Dashed: where the copy is."
    return "Dashed: where the content of the chosen look is now."


def _boxes(trace: Trace) -> str:
    looks = [look for look in trace.locations if look.parent is None]
    return "".join(
        f'<div class="tn-box" data-rank="{rank}" style="{_at(look.box)}"><b>{rank + 1}</b></div>'
        for rank, look in enumerate(looks)
    )


def _content(shown: Experiment) -> str:
    """Boxes of the unchanged looks where the move took them, or the one place that shows a copy."""
    boxes = shown.before.cell_boxes()
    if shown.copied is not None:
        return f'<div class="tnl-content tnl-copy" style="{_at(boxes[shown.copied[1]])}"></div>'
    if shown.placement is None or not shown.changed:
        return ""
    found = []
    for rank, cell in enumerate(shown.cells[0]):
        box = clipped(shown.placement.box(boxes[cell]))
        if box is not None:
            found.append(
                f'<div class="tnl-content" data-of="{rank}" style="{_at(box)}" hidden><b>{rank + 1}′</b></div>'
            )
    return "".join(found)


def clipped(box: Box) -> Box | None:
    """The part inside the picture, None if there is none."""
    x0, y0, x1, y1 = (min(max(at, 0.0), 1.0) for at in box)
    return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None


def _at(box: Box) -> str:
    x0, y0, x1, y1 = (100 * at for at in box)
    return f"left:{x0:.3f}%;top:{y0:.3f}%;width:{x1 - x0:.3f}%;height:{y1 - y0:.3f}%"
