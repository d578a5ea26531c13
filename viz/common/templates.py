"""HTML from Jinja2 templates, which lie beside the code they belong to: every value in them is escaped.

Jinja escapes neither '${' nor '{{', and Gradio evaluates both in a component's `html_template`: what is rendered here
goes into a component's value, never into `html_template` or `js_on_load`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from viz.common import curves, text

_VIZ = Path(__file__).parents[1]
# A line break beside a tag separates nothing on the page; elsewhere it is a space.
_BREAK_AT_TAG = re.compile(r"(?<=>)\s*\n\s*|(?<=%})\s*\n\s*|\s*\n\s*(?=<|{%)")


class _Loader(FileSystemLoader):
    """Reads templates without their line breaks and indentation."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        source, name, is_current = super().get_source(environment, template)
        return re.sub(r"\s*\n\s*", " ", _BREAK_AT_TAG.sub("", source.strip())), name, is_current


_environment = Environment(loader=_Loader(_VIZ), autoescape=True, undefined=StrictUndefined, auto_reload=False)
_environment.filters |= {
    name.removeprefix("format_"): function
    for name, function in {**vars(curves), **vars(text)}.items()
    if name.startswith("format_")
}

_environment.filters["readable"] = text.make_readable


@cache
def read_elements(name: str) -> str:
    """Return a component's elements, empty. They hold no '${' and no '{{': Gradio would take them for its own."""
    return (_VIZ / name).read_text(encoding="utf-8")


def render_macro(name: str, macro: str, *values: Any) -> str:
    """Render one macro of a template of `viz`, such as 'audit/audit.html', with these values."""
    return str(getattr(_environment.get_template(name).module, macro)(*values))
