"""All speeds that the README tells, as ratios in one run.

python -m benchmarks.run [--only SECTION …] [--rounds N] [--json FILE] [--write]

Ways that are compared take turns, and a ratio is the median over turns. Let the machine do nothing else.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks import alternatives, busy, cold, curve, looks
from benchmarks.machine import ROOT, machine
from benchmarks.tables import describe_machine, summary, tables, write_tables
from tnet_core.command import run_command
from tnet_core.errors import TNetError

# What is measured, and how many rounds of it make one round of the command line.
SECTIONS: dict[str, tuple[Callable[[int], dict[str, Any]], float]] = {
    "alternatives": (alternatives.measure, 1),
    "look": (looks.per_look, 2),
    "slider": (looks.reaggregation, 1),
    "curve": (curve.curve, 0.5),
    "growth_by_looks": (looks.growth_by_looks, 1),
    "growth_by_side": (looks.growth_by_side, 2),
    "busy": (busy.busy, 1),
    "cold_start": (cold.cold_start, 0.3),
}


def main(argv: list[str] | None = None) -> int | None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="SECTION",
                        help=f"of {', '.join(SECTIONS)}")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=9, help="turns of the ways that are compared (default 9)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="default: benchmark.json")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md and docs/speed.md, "
                        "the numbers into benchmarks/measured.json")  # fmt: skip
    options = parser.parse_args(argv)
    if options.write and len(options.only) < len(SECTIONS):
        raise TNetError("Tables are written from one whole run: leave out --only.")
    result: dict[str, Any] = {"machine": machine() | {"threads": torch.get_num_threads()}}
    for name in options.only:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        measure, share = SECTIONS[name]
        result[name] = measure(max(round(options.rounds * share), 1))
    print(tables(result))
    path = options.json or (ROOT / "benchmarks/measured.json" if options.write else Path("benchmark.json"))
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"Written to '{path}'.", file=sys.stderr)
    if options.write:
        about = describe_machine(result["machine"])
        write_tables("README.md", "speed", about, summary(result))
        write_tables("docs/speed.md", "speed", about, tables(result))
    return None


if __name__ == "__main__":
    sys.exit(run_command(main))
