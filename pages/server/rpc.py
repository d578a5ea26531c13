"""What browsers send along with an event or a request, and the one line of JSON that answers it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import gradio as gr

import tnet_core as tn

_turns = itertools.count()


def read_event(event: gr.EventData) -> dict[str, Any]:
    """Return what the browser sent along; anything may have been."""
    data = getattr(event, "_data", None)
    return data if isinstance(data, dict) else {}


def read_query(request: gr.Request | None) -> list[tuple[str, str]]:
    """Return the parameters of the page's address, those that are given twice included."""
    found = getattr(request, "query_params", {})
    return list(found.multi_items() if hasattr(found, "multi_items") else found.items())


def read_session_id(request: gr.Request | None) -> str:
    """Return the name a browser gave itself, known to nobody else."""
    return str(getattr(request, "session_hash", None) or "")


def add_turn(message: str, **extra: Any) -> str:
    """Return a JSON message with more fields and a new number: the same text twice would not reach the page again."""
    more = json.dumps(extra | {"turn": next(_turns)}, separators=(",", ":"))
    return f"{message[:-1]},{more[1:]}"


def answer_event(event: gr.EventData, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """Answer an event and return JSON with the number of the question; a TNetError becomes a 'problem'."""
    asked = read_event(event)
    try:
        content = answer(asked)
    except tn.TNetError as error:
        content = {"kind": "problem", "sentence": str(error)}
    number = asked.get("number")
    return json.dumps(content | {"number": number if type(number) is int else None})
