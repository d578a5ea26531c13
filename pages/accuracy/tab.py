"""The tab 'Accuracy vs locations': wiring only, what it shows is made in `viz.accuracy`.

No model is run here, and the slider asks nothing of the server. Handlers take what the browser sends as it is
(`preprocess=False`): Gradio's own checks would answer an unknown value with an error of theirs, `select` ignores it.
"""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.context import get_render_context

from pages.accuracy.service import (
    CatalogueCache,
    curve_choices,
    data_set_choices,
    find_explored_data,
    slider_range,
)
from pages.server.model_cache import Cards
from pages.server.rpc import read_query
from viz.accuracy.captions import render_chart_place, render_explanation, render_intro, render_legend
from viz.accuracy.catalogue import Catalogue, add_visitor_data
from viz.accuracy.chart import build_chart_payload
from viz.accuracy.selection import X_AXES, Y_AXES, Selection, is_of_other_data, select, select_defaults
from viz.accuracy.table import render_downloads, render_tables
from viz.common.measured import VisitorEvaluation
from viz.web.modules import build_mount_script

# Rings, line and table of every stop are on the page already.
MOVE_SLIDER = "looks => { TNet('showLooks', looks); return []; }"


def build_accuracy_tab(
    cards: Cards, own: gr.State | None = None, explored: gr.State | None = None, landing: str = ""
) -> None:
    """Build the tab in the current context; checkpoints are asked for again whenever it is opened.

    `own` holds the evaluations of this visitor's own data; a new one is shown when the tab is opened. `explored` holds
    the name of the explored checkpoint, at first `landing`: the tab shows the images that it was measured on.
    """
    cache = CatalogueCache(cards)
    own = gr.State(()) if own is None else own
    explored = gr.State(landing) if explored is None else explored
    followed = gr.State(landing)  # the explored checkpoint that this tab knows of
    was_opened = gr.State(False)
    presented = gr.State(0)  # number of the last own evaluation that was shown unasked
    built = cache.catalogue
    first = select_defaults(built, find_explored_data(built, landing))
    shown_data = gr.State(first.data.key)  # the data set that curves and slider belong to
    plain: dict[str, Any] = {"apply_default_css": False}
    tab = get_render_context()
    with gr.Column(elem_id="accuracy", elem_classes="accuracy"):
        head = gr.HTML(render_intro(first), js_on_load=build_mount_script("mountAccuracy"), **plain)
        with gr.Row(elem_classes="accuracy-controls"):
            data = gr.Dropdown(**data_set_choices(built, first.data), label="Data set", filterable=False, min_width=0,
                               elem_id="accuracy-data", elem_classes="accuracy-data")  # fmt: skip
            x = gr.Radio([(x.choice, x.name) for x in X_AXES.values()], value=first.x.name, label="Horizontal axis",
                         min_width=0, elem_id="accuracy-x", elem_classes="accuracy-radio")  # fmt: skip
            y = gr.Radio([(y.choice, y.name) for y in Y_AXES.values()], value=first.y.name, label="Vertical axis",
                         min_width=0, elem_id="accuracy-y", elem_classes="accuracy-radio")  # fmt: skip
        with gr.Row(elem_classes="accuracy-board"):
            with gr.Column(elem_classes="accuracy-chart", min_width=0):
                draw = build_mount_script("mountAccuracyChart")
                chart = gr.HTML(build_chart_payload(first), html_template=render_chart_place(), js_on_load=draw,
                                **plain, elem_id="accuracy-chart")  # fmt: skip
                slider = gr.Slider(**slider_range(first), label="Looks per image", elem_id="accuracy-looks",
                                   elem_classes="accuracy-slider")  # fmt: skip
                key = gr.HTML(render_legend(first), **plain, elem_id="accuracy-legend")
            with gr.Column(elem_id="accuracy-curves", elem_classes="accuracy-pick", min_width=0):
                picks = [
                    gr.CheckboxGroup(**change, elem_id=f"accuracy-{name}", elem_classes="accuracy-ticks")
                    for name, change in curve_choices(first).items()
                ]
            with gr.Column(elem_classes="accuracy-below", min_width=0):
                rows = gr.HTML(render_tables(first), **plain, elem_id="accuracy-table")
                saved = gr.HTML(render_downloads(first), **plain, elem_id="accuracy-csv")
        gr.HTML(render_explanation(), **plain)

    settings = [data, x, y, *picks, slider]
    drawn = [head, chart, key, rows, saved]
    choosers = [data, *picks, slider]

    def on_choice(mine: tuple[VisitorEvaluation, ...], before: str, *values: Any) -> list[Any]:
        """Draw what is chosen; another data set brings its own curves, even while those of the last are ticked."""
        catalogue = add_visitor_data(cache.catalogue, mine)
        data, _, _, *ticked, _ = values
        if data == before and not is_of_other_data(catalogue, data, *ticked):
            return [gr.skip(), *[gr.skip()] * len(choosers), *render(select(catalogue, *values))]
        shown = select_defaults(catalogue, *values[:3])
        return [shown.data.key, *update_controls(catalogue, shown)]

    def on_open(
        request: gr.Request, mine: tuple[VisitorEvaluation, ...], before: int, opened: bool, spec: Any, known: Any,
        *values: Any,
    ) -> list[Any]:  # fmt: skip
        """Offer checkpoints that came meanwhile, and the images that a newly explored one was measured on.

        What is ticked stays otherwise, unless something of one's own is new. Data set and axes of a link are shown when
        the tab is opened for the first time.
        """
        catalogue = add_visitor_data(cache.refresh(), mine)
        linked = {} if opened else dict(read_query(request))
        if not mine and linked.keys() & {"data", "x", "y"}:
            shown = select_defaults(catalogue, *(linked.get(name) for name in ("data", "x", "y")))
            axes = [gr.update(value=shown.x.name), gr.update(value=shown.y.name)]
            return [True, shown.data.key, *axes, *update_controls(catalogue, shown), before, spec]
        newest = mine[-1] if mine and mine[-1].number > before else None
        wanted = find_explored_data(catalogue, spec) if spec != known else None
        if newest is not None:
            wanted = newest.key
        if catalogue is built and wanted in (None, values[0]):
            return [True, *[gr.skip()] * (len(choosers) + len(drawn) + 4), gr.skip() if spec == known else spec]
        is_kept = wanted in (None, values[0]) and newest is None
        shown = select(catalogue, *values) if is_kept else select_defaults(catalogue, wanted, *values[1:3])
        changes = update_controls(catalogue, shown)
        number = before if newest is None else newest.number
        return [True, shown.data.key, gr.skip(), gr.skip(), *changes, number, spec]

    listening: dict[str, Any] = {
        "preprocess": False,
        "show_progress": "hidden",
        "trigger_mode": "always_last",
        "concurrency_limit": 8,
        "api_visibility": "private",
    }
    slider.input(None, slider, None, js=MOVE_SLIDER, show_progress="hidden")
    # One event for all controls: of quick clicks the last one's answer comes last.
    controls: list[Any] = [data, x, y, *picks]
    gr.on(
        [c.input for c in controls],
        on_choice,
        [own, shown_data, *settings],
        [shown_data, *choosers, *drawn],
        **listening,
    )
    if isinstance(tab, gr.Tab):
        opening = [was_opened, shown_data, x, y, *choosers, *drawn, presented, followed]
        tab.select(on_open, [own, presented, was_opened, explored, followed, *settings], opening, **listening)


def render(shown: Selection) -> list[Any]:
    """Return everything that is drawn of a selection."""
    return [
        render_intro(shown),
        build_chart_payload(shown),
        render_legend(shown),
        render_tables(shown),
        render_downloads(shown),
    ]


def update_controls(catalogue: Catalogue, shown: Selection) -> list[Any]:
    """Return new controls for a data set, and what they show."""
    changes = [data_set_choices(catalogue, shown.data), *curve_choices(shown).values(), slider_range(shown)]
    return [*(gr.update(**change) for change in changes), *render(shown)]
