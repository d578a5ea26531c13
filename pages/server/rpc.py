"""What the stage asks for by an event of its own, answered as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import gradio as gr

import tnet_core as tn


def answered(event: gr.EventData, make: Callable[[Any], dict[str, Any]]) -> str:
    """What `make` makes of the question, or the sentence of its error; with the number of the question."""
    asked = getattr(event, "_data", None)
    try:
        answer = make(asked)
    except tn.TNetError as error:
        answer = {"kind": "problem", "sentence": str(error)}
    number = asked.get("number") if isinstance(asked, dict) else None
    return json.dumps(answer | {"number": number if type(number) is int else None})
