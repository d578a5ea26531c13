"""Memory and time of the same looks at pictures of growing size.

python -m benchmarks.sizes [--sides 1024 4096 16384 32768] [--kinds pyramid tiled jpeg] [--json FILE]

Each traversal runs in a process of its own (`benchmarks.probe`), several times; the table shows
medians. Seconds are those of the clock: threads that wait for work count as work of the processor. x is the growth
over the smallest side.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.machine import ROOT, machine
from benchmarks.pictures import KINDS, list_pictures, write_picture
from tnet_core.command import run_command
from tnet_core.errors import TNetError

BUDGETS = {"tnet-lite0-cub": (5,), "tnet-needles": (3, 1)}
GROWING = ("first_seconds", "again_seconds", "peak_bytes")
SIDES = (1024, 4096, 16384, 32768)


def main(argv: list[str] | None = None) -> int | None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sides", type=int, nargs="+", default=SIDES, help="pixels, multiples of 1024")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--checkpoints", nargs="+", choices=BUDGETS, default=list(BUDGETS))
    parser.add_argument("--repeats", type=int, default=3, help="processes per file (default 3)")
    parser.add_argument("--folder", type=Path, help="keep the pictures here, and use those that are here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers here")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="tnet-sizes-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = measure(options.sides, options.kinds, options.checkpoints, max(options.repeats, 1), folder)
    print(table(rows))
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return None


def measure(
    sides: list[int], kinds: list[str], checkpoints: list[str], repeats: int, folder: Path
) -> list[dict[str, Any]]:
    """Return a row per checkpoint, kind and side; `growth` compares with the smallest side of the same kind."""
    plan = list(list_pictures(kinds, sides))
    rows: list[dict[str, Any]] = []
    with tqdm(total=len(plan) * (1 + len(checkpoints) * repeats), unit="step", leave=False) as bar:
        files = {}
        for kind, side in plan:
            bar.set_description(f"writing {kind} {side}")
            files[kind, side] = write_picture(folder, kind, side)
            bar.update()
        for checkpoint in checkpoints:
            for kind, side in plan:
                bar.set_description(f"{checkpoint} {kind} {side}")
                runs = []
                for _ in range(repeats):
                    runs.append(_probe(checkpoint, files[kind, side]))
                    bar.update()
                size = files[kind, side].stat().st_size
                rows.append({"checkpoint": checkpoint, "kind": kind, "side": side, "file_bytes": size} | _median(runs))
    for row in rows:
        least = next(r for r in rows if (r["checkpoint"], r["kind"]) == (row["checkpoint"], row["kind"]))
        row["growth"] = {name: row[name] / least[name] for name in GROWING}
    return rows


def _probe(checkpoint: str, path: Path) -> dict[str, Any]:
    budget = ",".join(map(str, BUDGETS[checkpoint]))
    command = [sys.executable, "-m", "benchmarks.probe", checkpoint, str(path.absolute()), budget]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise TNetError(f"Measuring {path.name} failed: {(run.stderr.strip().splitlines() or ['no message'])[-1]}")
    return dict(json.loads(run.stdout))


def _median(runs: list[dict[str, Any]]) -> dict[str, Any]:
    row = {name: runs[0][name] for name in ("looks", "cells", "pixels_read")}
    for name in ("hash", "first", "again"):
        for unit in ("seconds", "processor"):
            row[f"{name}_{unit}"] = statistics.median(run[name][unit] for run in runs)
    return row | {"peak_bytes": max(run["peak_bytes"] for run in runs), "runs": runs}


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown; the peak is that of the whole process."""
    lines = [
        "| checkpoint | file | side | MB | looks | pixels read | hash s | first s | x | again s | x | peak MB | x |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        growth = row["growth"]
        lines.append(
            f"| {row['checkpoint']} | {row['kind']} | {row['side']} | {row['file_bytes'] / 1e6:.1f} | {row['looks']} "
            f"| {row['pixels_read'] / 1e6:.2f} M | {row['hash_seconds']:.2f} | {row['first_seconds']:.3f} "
            f"| {growth['first_seconds']:.2f} | {row['again_seconds']:.3f} | {growth['again_seconds']:.2f} "
            f"| {row['peak_bytes'] / 2**20:.0f} | {growth['peak_bytes']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_command(main))
