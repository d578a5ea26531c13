"""A visitor without a browser: speaks the protocol by which Gradio's page talks to its server.

It keeps the values of all components as the page would, so a function of the page (a private endpoint) is called with
what a visitor's browser would send.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

API = "/gradio_api"


class QueueError(ValueError):
    """The server refused or failed; the message is what a visitor would be told."""


@dataclass(frozen=True)
class Answer:
    """The components' values that one call changed."""

    outputs: dict[int, Any]  # component id -> value that was sent
    seconds: float
    notices: tuple[str, ...] = ()  # pop-ups: warnings and information


@dataclass
class QueueClient:
    """One session at one address."""

    address: str
    timeout: float = 120.0
    session: str = field(default_factory=lambda: secrets.token_hex(8))
    config: dict[str, Any] = field(default_factory=dict, repr=False)  # of the page; asked for where not given

    def __post_init__(self) -> None:
        # No proxy: the environment's would be asked for an address of this machine.
        self.http = httpx.Client(base_url=self.address, timeout=self.timeout, trust_env=False)
        self.config = self.config or self.http.get("/config").raise_for_status().json()
        self.components: dict[int, dict[str, Any]] = {part["id"]: part for part in self.config["components"]}
        self.values = {number: part["props"].get("value") for number, part in self.components.items()}

    def close(self) -> None:
        self.http.close()

    def component(self, elem_id: str) -> int:
        """Return the number of the component with this id on the page."""
        for number, part in self.components.items():
            if part["props"].get("elem_id") == elem_id:
                return number
        raise QueueError(f"The page has no component '{elem_id}'.")

    def functions(self, event: str, component: int | None = None) -> list[dict[str, Any]]:
        """Those that run when `event` happens (to this component); '*' as event means any."""
        return [
            function
            for function in self.config["dependencies"]
            if function["backend_fn"]
            and any(
                event in ("*", name) and (component is None or target == component)
                for target, name in function["targets"]
            )
        ]

    def happens(self, event: str, component: int | None = None, data: Any = None) -> list[Answer]:
        """Calls every function that the event triggers, in order, as the page does."""
        found = self.functions(event, component)
        if not found:
            raise QueueError(f"Nothing on the page listens to '{event}'.")
        return [self.call(function["id"], event_data=data, trigger=component) for function in found]

    def call(
        self, function: int, data: list[Any] | None = None, event_data: Any = None, trigger: int | None = None
    ) -> Answer:
        """Call one function and return what it changed; its inputs are the page's values where `data` is not given."""
        described = next(known for known in self.config["dependencies"] if known["id"] == function)
        if data is None:
            data = [self.values[number] for number in described["inputs"]]
        body = {"data": data, "event_data": event_data, "fn_index": function, "trigger_id": trigger}
        body["session_hash"] = self.session
        start = time.perf_counter()
        sent, notices = self._call_queued(body) if described["queue"] else (self._call_directly(body), ())
        seconds = time.perf_counter() - start
        outputs = dict(zip(described["outputs"], sent, strict=True))
        for number, value in outputs.items():
            self._remember(number, value)
        return Answer(outputs, seconds, notices)

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Send a file to the server and return it as a component's value."""
        answer = self.http.post(f"{API}/upload", files={"files": (name, content)})
        if answer.status_code != 200:
            raise QueueError(read_problem(answer))
        path = answer.json()[0]
        meta = {"_type": "gradio.FileData"}
        return {"path": path, "orig_name": name, "size": len(content), "mime_type": "", "meta": meta}

    def _call_queued(self, body: dict[str, Any]) -> tuple[list[Any], tuple[str, ...]]:
        joined = self.http.post(f"{API}/queue/join", json=body)
        if joined.status_code != 200:
            raise QueueError(read_problem(joined))
        return self._wait_for_result(joined.json()["event_id"])

    def _call_directly(self, body: dict[str, Any]) -> list[Any]:
        """Call a function that does not wait in the queue."""
        answer = self.http.post(f"{API}/run/predict", json=body)
        if answer.status_code != 200:
            raise QueueError(read_problem(answer))
        return list(answer.json()["data"])

    def _wait_for_result(self, event: str) -> tuple[list[Any], tuple[str, ...]]:
        """Waits for an event's last message."""
        notices: list[str] = []
        for message in self._read_messages():
            if message.get("event_id") not in (event, None):
                continue
            if message["msg"] == "log":
                notices.append(message["log"])
            if message["msg"] == "process_generating":
                raise QueueError("The function answers in pieces, which this client does not follow.")
            if message["msg"] == "process_completed":
                if not message["success"]:
                    raise QueueError(message["output"].get("error") or "The server failed without a message.")
                return message["output"]["data"], tuple(notices)
            if message["msg"] == "unexpected_error":
                raise QueueError(message["message"])
        raise QueueError("The server ended the connection without an answer.")

    def _read_messages(self) -> Iterator[dict[str, Any]]:
        with self.http.stream("GET", f"{API}/queue/data", params={"session_hash": self.session}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])

    def _remember(self, number: int, value: Any) -> None:
        """Keep a component's value after an output, which may change only other properties of it."""
        if isinstance(value, dict) and value.get("__type__") == "update":
            if "value" not in value:
                return
            value = value["value"]
        self.values[number] = value


def read_problem(answer: httpx.Response) -> str:
    """Return the status and the sentence of a refusal."""
    try:
        told = answer.json()
        detail = told["error"] or "The server failed without a message." if "error" in told else told["detail"]
    except (ValueError, KeyError, TypeError):
        detail = answer.text
    return f"{answer.status_code}: {detail}"
