"""Many visitors at once: no error, nobody is sent another's answer, the server's memory settles.

Usage: python -m tools.load_test ADDRESS [--clients 8] [--seconds 60]

First one visitor alone tries every picture and adds looks to it; then all act at once, each in sessions of its own, and
every answer is compared with what the same picture, and the same look added to it, gave the lone one. Prints how long
the actions took. Ends with 1 where something was found, with 2 where the address cannot be tested. Speaks Gradio's
queue protocol directly, because the page's functions are private.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import httpx
import numpy as np

from tools.load_answers import Known
from tools.load_visitor import OwnPicture, Visitor, learn_answers
from tools.queue_client import QueueError
from tools.server_memory import MemoryWatch, find_listener

PICTURES = 2  # of each visitor's own
MAX_PROBLEMS = 5  # printed of each kind


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.load_test", description=__doc__.splitlines()[0])
    parser.add_argument("address", help="of the running app, such as http://127.0.0.1:7860")
    parser.add_argument("--clients", type=int, default=8, metavar="N", help="visitors at once (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60, metavar="S", help="how long (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.clients < 1 or options.seconds <= 0:
        parser.error("--clients and --seconds must be positive.")
    try:
        visitors = prepare_visitors(options.address, options.clients)
    except (QueueError, httpx.HTTPError, httpx.InvalidURL) as error:
        print(f"{options.address} cannot be tested: {error}", file=sys.stderr)
        return 2
    memory = run_visitors(visitors, options.address, options.seconds)
    print(format_table(visitors))
    complaints = [f"error: {text}" for visitor in visitors for text in visitor.errors[:MAX_PROBLEMS]]
    complaints += [f"mixed up: {text}" for visitor in visitors for text in visitor.mixed_up[:MAX_PROBLEMS]]
    answers = sum(len(times) for visitor in visitors for times in visitor.latency.values())
    print(f"{answers} answers to {len(visitors)} visitors in {options.seconds:.0f} s")
    if memory is None:
        print("The server's memory is not known: it runs on another machine.")
    else:
        print(
            "Server's memory, median of each third of the time:", *(f"{part / 1e6:.0f} MB" for part in memory.thirds())
        )
        if not memory.stable():
            complaints.append("memory: still growing in the last third")
    print(*complaints or ["No error, no answer of another session, memory stable."], sep="\n")
    return 1 if complaints else 0


def prepare_visitors(address: str, clients: int) -> list[Visitor]:
    """Return visitors that know what their pictures give."""
    checkpoints = choose_checkpoints(address)
    seeds = range(clients * PICTURES)
    pictures = [OwnPicture.draw(f"visitor-{seed // PICTURES}-{seed % PICTURES}.jpg", seed) for seed in seeds]
    known = learn_answers(address, pictures, checkpoints)
    return [
        Visitor(address, pictures[PICTURES * n : PICTURES * (n + 1)], checkpoints, known, random.Random(n))
        for n in range(clients)
    ]


def choose_checkpoints(address: str) -> list[str]:
    """Choose the checkpoint of the landing and another one, which leaves cells to look at where there is such a one.

    With two levels every cell is looked at from the beginning, so that no visitor could add a look.
    """
    visitor = Visitor(address, (), (), Known())
    landing, *others = visitor.list_checkpoints()
    visitor.checkpoints = [landing]
    visitor.open()
    if not visitor.scene.free:
        for spec in others:
            visitor.switch(spec)
            if visitor.scene.free:
                others = [spec]
                break
    visitor.page.close()
    return [landing, *others[:1]]


def run_visitors(visitors: Iterable[Visitor], address: str, seconds: float) -> MemoryWatch | None:
    """Let all act at once; return the server's memory meanwhile, where it runs on this machine."""
    process = find_listener(address)
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=visitor.run, args=(until,)) for visitor in visitors]
    with ExitStack() as stack:
        memory = None if process is None else stack.enter_context(MemoryWatch(process))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return memory


def format_table(visitors: Iterable[Visitor]) -> str:
    """Seconds of every action, over all visitors."""
    times: dict[str, list[float]] = {}
    for visitor in visitors:
        for action, seconds in visitor.latency.items():
            times.setdefault(action, []).extend(seconds)
    lines = ["| action | times | p50 | p90 | max |", "| --- | --- | --- | --- | --- |"]
    for action, seconds in sorted(times.items()):
        p50, p90 = np.percentile(seconds, [50, 90])
        lines.append(f"| {action} | {len(seconds)} | {p50:.2f} s | {p90:.2f} s | {max(seconds):.2f} s |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
