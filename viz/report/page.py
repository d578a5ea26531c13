"""The report's fixed parts, for the script that puts it together."""

from __future__ import annotations

import json
from pathlib import Path

from viz.common.style import ACCENT

_HERE = Path(__file__).parent

# The one sentence every report has.
EXACT = (
    "Every number is exact: the decision is a weighted sum over the thumbnail and the looks, and this file holds its "
    "terms, so the slider, the steps and the ledger of any class need neither the app nor a network. Probabilities are "
    "the network's own and may be too sure of themselves. Looks whose weights are not in this file can be computed by "
    "the app alone."
)


def script(template: str) -> str:
    """Code and constants; `template` are the stage's elements."""
    constants = {"template": template, "style": style(), "exact": EXACT}
    # No constant may end the script element that holds it.
    told = json.dumps(constants).replace("<", "\\u003c")
    return f"const REPORT = {told};\n{(_HERE / 'report.js').read_text(encoding='utf-8')}"


def style() -> str:
    return f":root {{ --tn-accent: {ACCENT}; }}\n{(_HERE / 'report.css').read_text(encoding='utf-8')}"
