"""Hide the bee of examples/meadow.tif at ten places, one after the other, and see at how many the network finds it.

`python -m tools.measure_dive [--checkpoint ID]`. Each meadow is drawn as `tools.draw_meadow --at X Y` draws it and
looked at as the page does: looks cut from its own pixels, as deep as they go, the largest budget. Seconds are those of
opening the file and taking all looks with an open model, by the clock and of the processor; MB what the process that
looks had at most meanwhile (Linux), and how much more that is than before.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import tnet_core as tn
from pages.sampling import DEEP
from pages.server.compute import prepare_looks, take_looks
from tools import draw_meadow
from viz.common.text import find_class, format_class_name

PLACES = [draw_meadow.PLACE, *((x, y) for y in (0.15, 0.5, 0.85) for x in (0.15, 0.5, 0.85))]  # the shipped, a lattice
LABEL = "bee"
ROW = "| {:<10} | {:<20} | {:<20} | {:>6} | {:>7} | {:>6} | {:>7} | {:>8} |"


def read_memory(name: str) -> float:
    """Return what the system says about this process's memory (Linux): VmRSS, now, or VmHWM, at most, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


@cache
def open_model(checkpoint: str) -> tn.TNet:
    return tn.optimised(tn.load(checkpoint, device="cpu"))


def look_at(file: str, checkpoint: str, box: tuple[float, float, float, float]) -> dict[str, Any]:
    """Traverse one meadow; return what was said and what it took."""
    model = open_model(checkpoint)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is counted from here
    before, began, worked = read_memory("VmRSS"), time.perf_counter(), time.process_time()
    source = tn.ImageSource.open(file)
    prepare_looks(source, model.config, DEEP)
    trace = take_looks(model, source, "learned", None, DEEP)
    seconds, work, peak = time.perf_counter() - began, time.process_time() - worked, read_memory("VmHWM")
    bee = find_class(tuple(trace.class_name(cls) for cls in range(len(trace.bias))), LABEL)
    first, last = trace.probabilities(subset=()), trace.probabilities()
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    over = [at for at in trace.locations if at.box[0] <= x <= at.box[2] and at.box[1] <= y <= at.box[3]]
    return {
        "thumbnail": f"{format_class_name(trace, int(first.argmax()))} {100 * first.max():.0f}",
        "decision": f"{format_class_name(trace, int(last.argmax()))} {100 * last.max():.0f}",
        "found": int(last.argmax()) == bee,
        "deepest": max((look.level for look in over), default=1),
        "levels": trace.levels,
        "looks": len(trace.locations),
        "numbers": (f"{seconds:.1f}", f"{work:.1f}", f"{peak:.0f}", f"{peak - before:.0f}"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure_dive", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--checkpoint", default="tnet-lite0-imagenet")
    options = parser.parse_args()
    print(ROW.format("bee at", "thumbnail, %", "decision, %", "level", "clock s", "work s", "peak MB", "added MB"))
    found: list[dict[str, Any]] = []
    meadow = draw_meadow.draw_meadow()
    looking = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))  # its memory is that of the looks alone
    with tempfile.TemporaryDirectory(prefix="tnet-dive-") as folder, looking:
        for place in PLACES:
            scene, file = meadow.copy(), Path(folder) / "meadow.tif"
            box = draw_meadow.hide_bee(scene, place)
            draw_meadow.save_pyramid(scene, file, draw_meadow.QUALITY)
            one = looking.submit(look_at, str(file), options.checkpoint, box).result()
            found.append(one)
            level = f"{one['deepest']} of {one['levels']}"
            where = "{:.2f}, {:.2f}".format(*place)
            print(ROW.format(where, one["thumbnail"], one["decision"], level, *one["numbers"]), flush=True)
    print(f"{LABEL} at {sum(one['found'] for one in found)} of {len(found)} places, {found[0]['looks']} looks each")


if __name__ == "__main__":
    main()
