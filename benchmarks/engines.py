"""Inference engines on the crops that looks are made of; each in a process of its own, in turn.

python -m benchmarks.engines [--rounds N] [--json FILE] [--write]

What is timed is the feature extraction module: location map and vector of a batch. Ratios are medians over turns
against OpenVINO in float32, with the least and the largest; above 1 is slower. Let the machine do nothing else.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

import tnet_core as tn
from benchmarks.machine import machine
from benchmarks.rounds import compare, describe_spread, middle
from benchmarks.tables import describe_machine, markdown, write_tables
from tnet_core.command import run_command

ENGINES = (
    "OpenVINO, float32",
    "OpenVINO, bfloat16",
    "ONNX Runtime, free batch",
    "ONNX Runtime, fixed batch",
    "PyTorch",
)
CASES = (
    ("lite0-cub", 1), ("lite0-cub", 3), ("lite0-cub", 6), ("lite0-cub", 25), ("cub-b0", 1), ("cub-b0", 3),
    ("cub-b0", 6),
    ("cub-en-b0", 1), ("fmow-en-b0-896", 1),
)  # fmt: skip


def main(argv: list[str] | None = None) -> int | None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engines", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=15, help="turns of the engines (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers here")
    parser.add_argument("--write", action="store_true", help="put the table into docs/speed.md")
    options = parser.parse_args(argv)
    about = machine()
    found = [measure(preset, count, max(options.rounds, 1)) for preset, count in tqdm(CASES, unit="case", leave=False)]
    table = markdown(("ms, and how many times as long as OpenVINO in float32", *ENGINES), [make_row(c) for c in found])
    print(table)
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": about, "cases": found}, indent=1) + "\n")
    if options.write:
        write_tables("docs/speed.md", "engines", describe_machine(about), table)
    return None


def measure(preset: str, count: int, rounds: int) -> dict[str, Any]:
    """Time one batch in every engine, in turn."""
    context = multiprocessing.get_context("spawn")
    workers: dict[str, tuple[Any, Connection]] = {}
    try:
        for engine in ENGINES:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, engine, preset, count))
            process.start()
            theirs.close()
            workers[engine] = process, ours
        for _, pipe in workers.values():
            pipe.recv()  # ready
        seconds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
        for _ in range(rounds):
            for engine, (_, pipe) in workers.items():
                pipe.send(True)
                seconds[engine].append(pipe.recv())
    except EOFError:
        raise tn.TNetError(f"An engine ended while it was measured ({preset}, {count} crops).") from None
    finally:
        for process, pipe in workers.values():
            pipe.close()
            process.join(20)
            process.kill()
    config = tn.preset(preset)
    what = f"{config.backbone}, {count} x {config.base_resolution} px"
    return {"what": what, "ms": middle(seconds), "times": compare(seconds, ENGINES[0])}


def make_row(found: dict[str, Any]) -> tuple[str, ...]:
    """Return a line of the table: milliseconds, and the ratio with its spread."""
    cells = [
        f"{found['ms'][engine]:.1f}" + (f", {describe_spread(found['times'][engine])}" if engine != ENGINES[0] else "")
        for engine in ENGINES
    ]
    return (found["what"], *cells)


def _serve(pipe: Connection, engine: str, preset: str, count: int) -> None:
    """Run a batch whenever the other side asks, and answer with the seconds that it took."""
    model = tn.build(tn.preset(preset), device="cpu")
    side = model.config.base_resolution
    images = torch.rand((count, 3, side, side), generator=torch.Generator().manual_seed(0)) * 2 - 1
    run = _open(engine, model, count)
    with torch.inference_mode():
        for _ in range(3):
            run(images)
        pipe.send(True)
        try:
            while pipe.recv():
                began = time.perf_counter()
                run(images)
                pipe.send(time.perf_counter() - began)
        except EOFError:  # the other side is done
            return


def _open(engine: str, model: tn.TNet, count: int) -> Callable[[Tensor], object]:
    name, _, kind = engine.partition(", ")
    if name == "PyTorch":
        return model.features
    if name == "OpenVINO":
        return tn.optimised(model, precision=kind).features  # type: ignore[arg-type]
    from benchmarks.onnx_runtime import OnnxFeatures

    batch = count if kind == "fixed batch" else None
    return OnnxFeatures(model.features, model.config.base_resolution, batch=batch)


if __name__ == "__main__":
    sys.exit(run_command(main))
