"""Pictures a visitor brings: pasted, dropped or photographed. All go through the page's upload button."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
ON_LOAD = "TNetBring.mount(element);"


def template() -> str:
    return (_HERE / "camera.html").read_text(encoding="utf-8")


def head() -> str:
    """For the document's head."""
    return f"<script>{(_HERE / 'bring.js').read_text(encoding='utf-8')}</script>"
