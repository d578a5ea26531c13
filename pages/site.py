"""The whole page: masthead, tabs, theme."""

from __future__ import annotations

import gradio as gr

from pages.accuracy.tab import comparison
from pages.api import api
from pages.audit.tab import audit
from pages.compare.tab import compare
from pages.explore.service import Explorer
from pages.explore.tab import SESSION_SECONDS, explore
from pages.refresh import follow
from pages.what_if.tab import lab
from pages.your_data.service import Evaluator
from pages.your_data.tab import own_data
from viz import compare as compared
from viz import stage
from viz.common import fragments, style
from viz.explore import bring


def site(explorer: Explorer) -> gr.Blocks:
    evaluator = Evaluator(explorer, local=explorer.local)
    # Files of uploads are read once; the copies Gradio keeps go after an hour.
    with gr.Blocks(title="TNet Explorer", analytics_enabled=False, fill_width=True, delete_cache=(600, 3600)) as demo:
        gr.HTML(fragments.MASTHEAD, apply_default_css=False)
        own = gr.State((), time_to_live=SESSION_SECONDS)  # evaluations of this visitor's own data
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab("Explore", id="explore"):
                explored = explore(explorer, demo)
            with gr.Tab("Compare", id="compare"):
                comparing = compare(explorer, explored)
            with gr.Tab("Audit", id="audit"):
                auditing = audit(explorer, explored, explorer.shelf.cards)
            with gr.Tab("What if", id="lab"):
                trying = lab(explorer, explored)
            with gr.Tab("Accuracy vs locations", id="comparison"):
                comparison(explorer.shelf.cards, own)
            with gr.Tab("Your data", id="own"):
                own_data(evaluator, own, demo)
        follow(tabs, explored, {"Compare": comparing, "Audit": auditing, "What if": trying})
        api(explorer, evaluator)
    return demo


def head() -> str:
    """Style and code of the page, for the document's head."""
    return style.head() + bring.head() + stage.head() + compared.head()


def theme() -> gr.themes.Base:
    """System fonts only: nothing is fetched from elsewhere."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.pink,
        neutral_hue=gr.themes.colors.slate,
        font=style.FONT.split(", "),
        font_mono=["ui-monospace", "Menlo", "Consolas", "monospace"],
    ).set(
        body_text_color_subdued="*neutral_500", body_text_color_subdued_dark="*neutral_400",
        slider_color=style.ACCENT, slider_color_dark=style.ACCENT, color_accent=style.ACCENT,
        button_primary_background_fill=style.ACCENT, button_primary_background_fill_dark=style.ACCENT,
        button_primary_background_fill_hover=style.ACCENT_DEEP,
        button_primary_background_fill_hover_dark=style.ACCENT_DEEP,
        button_primary_border_color=style.ACCENT, button_primary_border_color_dark=style.ACCENT,
        input_placeholder_color="*neutral_500", input_placeholder_color_dark="*neutral_400",
    )  # fmt: skip
