"""The whole page: masthead, tabs, theme."""

from __future__ import annotations

import gradio as gr

from pages.accuracy.tab import build_accuracy_tab
from pages.api import build_api
from pages.audit.tab import build_audit_tab, build_faithfulness_panel
from pages.compare.tab import build_compare_tab
from pages.explore.service import Explorer
from pages.explore.tab import build_explore_tab
from pages.refresh import refresh_open_tab
from pages.server.sessions import SESSION_SECONDS
from pages.what_if.tab import build_what_if_tab
from pages.your_data.service import Evaluator
from pages.your_data.tab import build_your_data_tab
from viz.common import style
from viz.common.page import build_page_head, render_masthead
from viz.common.templates import read_elements
from viz.web.modules import build_mount_script

TABS = {
    "explore": "Explore", "compare": "Compare", "audit": "Audit", "what-if": "What if",
    "accuracy": "Accuracy vs locations", "your-data": "Your data",
}  # fmt: skip


def build_site(explorer: Explorer) -> gr.Blocks:
    """Build the whole page and the named endpoints."""
    evaluator = Evaluator(explorer, local=explorer.local)
    # Files of uploads are read once; the copies Gradio keeps go after an hour.
    with gr.Blocks(title="TNet Explorer", analytics_enabled=False, fill_width=True, delete_cache=(600, 3600)) as demo:
        gr.HTML(render_masthead(), apply_default_css=False)
        own = gr.State((), time_to_live=SESSION_SECONDS)  # evaluations of this visitor's own data
        with gr.Tabs(elem_id="tabs") as tabs:
            with build_tab("explore"):
                explored = build_explore_tab(explorer, demo)
                build_faithfulness_panel(explorer, explored)
                end = build_mount_script("mountEnd")
                place = read_elements("explore/end.html")
                gr.HTML(place, js_on_load=end, apply_default_css=False, elem_id="explore-end")
            with build_tab("compare"):
                comparing = build_compare_tab(explorer, explored)
            with build_tab("audit"):
                build_audit_tab(explorer, explored, explorer.models.list_cards)
            with build_tab("what-if"):
                trying = build_what_if_tab(explorer, explored)
            with build_tab("accuracy"):
                build_accuracy_tab(explorer.models.list_cards, own, explored.opened, explorer.landing)
            with build_tab("your-data"):
                build_your_data_tab(evaluator, explored, own, demo)
        refresh_open_tab(tabs, explored.session, {"Compare": comparing, "What if": trying})
        build_api(explorer, evaluator)
    return demo


def build_tab(name: str) -> gr.Tab:
    """Build a tab in the current context; the page's address names it while it is shown."""
    tab = gr.Tab(TABS[name], id=name)
    tab.select(None, None, None, js=f"() => {{ TNet('noteTab', '{name}'); return []; }}", show_progress="hidden")
    return tab


def build_head() -> str:
    """Return style and code of the page for the document's head."""
    return build_page_head()


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
        checkbox_border_width="1px", checkbox_border_width_dark="1px", checkbox_border_color="*neutral_500",
        checkbox_border_color_dark="*neutral_400", checkbox_border_color_hover_dark="*neutral_200",
        input_placeholder_color="*neutral_500", input_placeholder_color_dark="*neutral_400",
    )  # fmt: skip
