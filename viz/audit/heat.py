"""Where the policy looks over a data set. The browser draws the maps: a slider move asks nothing of the server."""

from __future__ import annotations

import html
import json
from typing import Any

from viz.audit.model import Audit, HeatMap, Where
from viz.audit.panel import missing, panel
from viz.common.lift import lift_bounds
from viz.common.numbers import percent, short

TITLE = "Where it looks"
_BIAS = "1: always the middle cell. 0: as far from the middle as uniform looks. Below 0: towards the border."


def heat_panel(audit: Audit) -> str:
    heat = audit.heat
    if heat is None:
        sentence = "This evaluation has no heat map of the policy."
        return panel("where", TITLE, "How often each cell is looked at.", missing(sentence))
    caption = (
        "Left: in how many images a cell is among the first looks at the second level, tinted most where most often. "
        f"Right: mean location probability over uniform, on a fixed scale ({_bounds(heat)}) and nearly flat by "
        "construction. Both say where, not whether it was right to look there."
    )
    given = html.escape(json.dumps(_sent(heat, audit), separators=(",", ":"), allow_nan=False))
    body = f'<div class="tna-where-board" data-map="{given}">{_tools(heat)}{_maps(heat)}{_facts(heat)}</div>'
    return panel("where", TITLE, caption, body)


def _bounds(heat: HeatMap) -> str:
    low, high = lift_bounds(heat.grid**2)
    return f"{short(low)} to {short(high)}"


def _sent(heat: HeatMap, audit: Audit) -> dict[str, Any]:
    trained = audit.trained[0] if audit.trained else 1
    return {
        "all": _where(heat.where),
        "classes": {entry.name: _where(entry.where) for entry in heat.classes},
        "bias": heat.centre_bias,
        "bounds": lift_bounds(heat.grid**2),
        "start": max(1, min(trained, len(heat.where.taken))),
    }


def _where(where: Where) -> dict[str, Any]:
    taken = {k: [int(count) for count in row] for k, row in where.taken.items()}
    lift = None if where.lift is None else [round(value, 4) for value in where.lift]
    return {"images": where.images, "taken": taken, "lift": lift}


def _tools(heat: HeatMap) -> str:
    most = len(heat.where.taken)
    slider = (
        f'<label class="tna-slider"><span>Looks</span><input type="range" min="1" max="{most}" step="1" '
        "data-map-looks><output></output></label>"
        if most
        else ""
    )
    names = "".join(f'<option value="{html.escape(entry.name)}"></option>' for entry in heat.classes)
    chooser = (
        '<label class="tna-search"><span>Class</span><input type="search" list="tna-class-names" autocomplete="off" '
        f'placeholder="all classes" data-map-class></label><datalist id="tna-class-names">{names}</datalist>'
        if heat.classes
        else ""
    )
    return f'<div class="tna-tools">{slider}{chooser}</div><p class="tna-said" role="status"></p>'


def _maps(heat: HeatMap) -> str:
    cells = "<div><b></b></div>" * heat.grid**2
    dense = " tna-dense" if heat.grid > 8 else ""
    figures = "".join(
        f'<figure data-shows="{shows}"><figcaption>{told}</figcaption>'
        f'<div class="tna-cells{dense}" style="--n:{heat.grid}" role="img" aria-label="{told}">{cells}</div>'
        '<p class="tna-missing" hidden></p></figure>'
        for shows, told in (("taken", "Among the first looks"), ("lift", "Mean probability over uniform"))
    )
    return f'<div class="tna-maps">{figures}</div>'


def _facts(heat: HeatMap) -> str:
    uniform = percent(1 / heat.grid**2)
    known = "The cell that is most probable on average: a policy that sees nothing would always go there."
    facts = [
        ("Centre bias of these looks", "" if heat.centre_bias else None, _BIAS),  # follows the slider
        ("First look at the middle cell", _percent(heat.at_centre), f"Uniform looks would go there in {uniform}."),
        ("First look at the favourite", _percent(heat.at_favourite), known),
        (
            "Entropy of the first look",
            None if heat.entropy is None else short(heat.entropy),
            "0: always the same cell. 1: all cells equally often.",
        ),
    ]
    rows = [
        f"<div><dt>{name}</dt><dd><b{'' if value else ' data-map-bias'}>{value}</b> <span>{told}</span></dd></div>"
        for name, value, told in facts
        if value is not None
    ]
    if not rows:
        return missing("This evaluation has no score of centre bias.")
    return f'<dl class="tna-facts">{"".join(rows)}</dl>'


def _percent(share: float | None) -> str | None:
    return None if share is None else percent(share)
