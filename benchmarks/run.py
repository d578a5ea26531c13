"""All speeds that the README tells, as ratios in one run.

python -m benchmarks.run [--only SECTION …] [--rounds N] [--json FILE]

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

from benchmarks import alternatives, cold, curve, looks
from benchmarks.machine import machine
from benchmarks.tables import tables
from tnet_core.command import finished

# What is measured, and how many rounds of it make one round of the command line.
SECTIONS: dict[str, tuple[Callable[[int], dict[str, Any]], float]] = {
    "alternatives": (alternatives.measured, 1),
    "look": (looks.per_look, 2),
    "slider": (looks.reaggregation, 1),
    "curve": (curve.curve, 0.5),
    "growth_by_looks": (looks.growth_by_looks, 1),
    "growth_by_side": (looks.growth_by_side, 2),
    "cold_start": (cold.cold_start, 0.3),
}


def main(argv: list[str] | None = None) -> int | None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="SECTION",
                        help=f"of {', '.join(SECTIONS)}")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=9, help="turns of the ways that are compared (default 9)")
    parser.add_argument(
        "--json", type=Path, default=Path("benchmark.json"), metavar="FILE", help="default: %(default)s"
    )
    options = parser.parse_args(argv)
    result: dict[str, Any] = {"machine": machine() | {"threads": torch.get_num_threads()}}
    for name in options.only:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        measure, share = SECTIONS[name]
        result[name] = measure(max(round(options.rounds * share), 1))
    print(tables(result))
    options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(f"Written to '{options.json}'.", file=sys.stderr)
    return None


if __name__ == "__main__":
    sys.exit(finished(main))
