"""The tab 'Accuracy vs locations': wiring only, what it shows is made in `viz.accuracy`.

No model is run here, and the slider asks nothing of the server. Handlers take what the browser sends as it is
(`preprocess=False`): Gradio's own checks would answer an unknown value with an error of theirs, `select` ignores it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr
from gradio.context import get_render_context

from tnet_core.checkpoints import CheckpointCard
from viz.accuracy.captions import render_explanation, render_intro, render_legend
from viz.accuracy.catalogue import Catalogue, DataSet, add_visitor_data
from viz.accuracy.export import render_downloads
from viz.accuracy.figure import build_figure, read_slider_script
from viz.accuracy.selection import X_AXES, Y_AXES, Selection, select, select_defaults
from viz.accuracy.table import render_tables
from viz.common.curves import ROLES
from viz.common.measured import VisitorEvaluation

Cards = Callable[[], Sequence[CheckpointCard]]


class Sources:
    """The catalogue of the cards there are. Asking for them may wait for a download, so only opening the tab does."""

    def __init__(self, cards: Cards) -> None:
        self._cards = cards
        self._seen = list(cards())
        self.catalogue = Catalogue(self._seen)

    def refresh(self) -> Catalogue:
        """Made again only when other cards are there."""
        cards = list(self._cards())
        if len(cards) != len(self._seen) or any(a is not b for a, b in zip(cards, self._seen, strict=True)):
            self.catalogue, self._seen = Catalogue(cards), cards
        return self.catalogue


def comparison(cards: Cards, own: gr.State | None = None) -> None:
    """The content of the tab, inside the current context; checkpoints are asked for again whenever it is opened.

    `own` holds the evaluations of this visitor's own data (`Own`s); a new one is shown when the tab is opened.
    """
    sources = Sources(cards)
    own = gr.State(()) if own is None else own
    presented = gr.State(0)  # number of the last own evaluation that was shown unasked
    built = sources.catalogue
    first = select_defaults(built)
    plain: dict[str, Any] = {"apply_default_css": False}
    tab = get_render_context()
    with gr.Column(elem_id="comparison", elem_classes="tnc"):
        head = gr.HTML(render_intro(first), **plain)
        with gr.Row(elem_classes="tnc-controls"):
            data = gr.Dropdown(**_data_sets(built, first.data), label="Data set", filterable=False, min_width=0,
                               elem_id="comparison-data", elem_classes="tnc-data")  # fmt: skip
            x = gr.Radio([(x.choice, x.name) for x in X_AXES.values()], value=first.x.name, label="Horizontal axis",
                         min_width=0, elem_id="comparison-x", elem_classes="tnc-radio")  # fmt: skip
            y = gr.Radio([(y.choice, y.name) for y in Y_AXES.values()], value=first.y.name, label="Vertical axis",
                         min_width=0, elem_id="comparison-y", elem_classes="tnc-radio")  # fmt: skip
        with gr.Row(elem_classes="tnc-board"):
            with gr.Column(elem_classes="tnc-chart", min_width=0):
                chart = gr.Plot(build_figure(first), show_label=False, container=False, elem_id="comparison-chart")
                slider = gr.Slider(**_slider(first), label="Looks per image", elem_id="comparison-looks",
                                   elem_classes="tnc-slider")  # fmt: skip
                key = gr.HTML(render_legend(first), **plain, elem_id="comparison-legend")
            with gr.Column(elem_id="comparison-curves", elem_classes="tnc-pick", min_width=0):
                picks = [
                    gr.CheckboxGroup(**change, elem_id=f"comparison-{name}", elem_classes="tnc-ticks")
                    for name, change in _picks(first).items()
                ]
            with gr.Column(elem_classes="tnc-below", min_width=0):
                rows = gr.HTML(render_tables(first), **plain, elem_id="comparison-table")
                saved = gr.HTML(render_downloads(first), **plain, elem_id="comparison-csv")
        gr.HTML(render_explanation(), **plain)

    asked = [data, x, y, *picks, slider]
    drawn = [head, chart, key, rows, saved]
    furnished = [data, *picks, slider]

    def on_choice(mine: tuple[VisitorEvaluation, ...], *values: Any) -> list[Any]:
        return _drawn(select(add_visitor_data(sources.catalogue, mine), *values))

    def on_data(mine: tuple[VisitorEvaluation, ...], wanted: Any, x: Any, y: Any) -> list[Any]:
        catalogue = add_visitor_data(sources.catalogue, mine)
        return _furnished(catalogue, select_defaults(catalogue, wanted, x, y))

    def on_open(mine: tuple[VisitorEvaluation, ...], before: int, *values: Any) -> list[Any]:
        """Checkpoints that came meanwhile can be ticked; what is ticked stays, unless something of one's own is new."""
        catalogue = add_visitor_data(sources.refresh(), mine)
        if catalogue is built:
            return [gr.skip()] * (len(furnished) + len(drawn) + 1)
        newest = mine[-1] if mine and mine[-1].number > before else None
        shown = select(catalogue, *values) if newest is None else select_defaults(catalogue, newest.key, *values[1:3])
        return [*_furnished(catalogue, shown), before if newest is None else newest.number]

    listening: dict[str, Any] = {
        "preprocess": False,
        "show_progress": "hidden",
        "trigger_mode": "always_last",
        "concurrency_limit": 8,
        "api_visibility": "private",
    }
    slider.input(None, slider, None, js=read_slider_script(), show_progress="hidden")
    controls: list[Any] = [x, y, *picks]
    for control in controls:
        control.input(on_choice, [own, *asked], drawn, **listening)
    data.input(on_data, [own, data, x, y], [*furnished, *drawn], **listening)
    if isinstance(tab, gr.Tab):
        tab.select(on_open, [own, presented, *asked], [*furnished, *drawn, presented], **listening)


def _drawn(shown: Selection) -> list[Any]:
    return [
        render_intro(shown),
        build_figure(shown),
        render_legend(shown),
        render_tables(shown),
        render_downloads(shown),
    ]


def _furnished(catalogue: Catalogue, shown: Selection) -> list[Any]:
    """New controls for a data set, and what they show."""
    changes = [_data_sets(catalogue, shown.data), *_picks(shown).values(), _slider(shown)]
    return [*(gr.update(**change) for change in changes), *_drawn(shown)]


def _data_sets(catalogue: Catalogue, chosen: DataSet) -> dict[str, Any]:
    return {"choices": [(data.choice, data.key) for data in catalogue.data_sets], "value": chosen.key}


def _picks(shown: Selection) -> dict[str, dict[str, Any]]:
    """Three lists to tick, what is shown being ticked; one without entries is hidden."""
    data = shown.data
    lists = {
        "measured": ("Measured here", [(curve.label, curve.id) for curve in data.measured]),
        "roles": ("The same checkpoints, looking or stopping otherwise", [(ROLES[r].label, r) for r in data.roles]),
        "published": ("Published in the paper", [(curve.label, curve.id) for curve in data.published]),
    }
    ticked = {curve.id for curve in shown.curves} | {curve.role for curve in shown.curves}
    return {
        name: {
            "label": label,
            "choices": choices,
            "value": [value for _, value in choices if value in ticked],
            "visible": bool(choices),
        }
        for name, (label, choices) in lists.items()
    }


def _slider(shown: Selection) -> dict[str, Any]:
    return {"minimum": 0, "maximum": shown.data.slider_stops[-1], "step": shown.data.slider_step, "value": shown.looks}
