"""The whole page: masthead, tabs, theme."""

from __future__ import annotations

import gradio as gr

from pages.accuracy.tab import build_accuracy_tab
from pages.api import build_api
from pages.audit.tab import build_audit_tab
from pages.compare.tab import build_compare_tab
from pages.explore.service import Explorer
from pages.explore.tab import build_explore_tab
from pages.refresh import refresh_open_tab
from pages.server.sessions import SESSION_SECONDS
from pages.what_if.tab import build_what_if_tab
from pages.your_data.service import Evaluator
from pages.your_data.tab import build_your_data_tab
from viz.common import style
from viz.common.page import MASTHEAD, build_page_head
from viz.compare.page import build_compare_head
from viz.explore.page import build_explore_head, build_upload_head, read_template
from viz.report.page import build_report_script


def build_site(explorer: Explorer) -> gr.Blocks:
    """Build the whole page and the named endpoints."""
    evaluator = Evaluator(explorer, local=explorer.local)
    # Files of uploads are read once; the copies Gradio keeps go after an hour.
    with gr.Blocks(title="TNet Explorer", analytics_enabled=False, fill_width=True, delete_cache=(600, 3600)) as demo:
        gr.HTML(MASTHEAD, apply_default_css=False)
        own = gr.State((), time_to_live=SESSION_SECONDS)  # evaluations of this visitor's own data
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab("Explore", id="explore"):
                explored = build_explore_tab(explorer, demo)
            with gr.Tab("Compare", id="compare"):
                comparing = build_compare_tab(explorer, explored)
            with gr.Tab("Audit", id="audit"):
                auditing = build_audit_tab(explorer, explored, explorer.models.list_cards)
            with gr.Tab("What if", id="what-if"):
                trying = build_what_if_tab(explorer, explored)
            with gr.Tab("Accuracy vs locations", id="accuracy"):
                build_accuracy_tab(explorer.models.list_cards, own)
            with gr.Tab("Your data", id="your-data"):
                build_your_data_tab(evaluator, own, demo)
        refresh_open_tab(tabs, explored.session, {"Compare": comparing, "Audit": auditing, "What if": trying})
        build_api(explorer, evaluator)
    return demo


def build_head() -> str:
    """Return style and code of the page for the document's head."""
    return (
        build_page_head()
        + build_upload_head()
        + build_explore_head(build_report_script(read_template()))
        + build_compare_head()
    )


def build_theme() -> gr.themes.Base:
    """Build the theme from system fonts only: nothing is fetched from elsewhere."""
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
