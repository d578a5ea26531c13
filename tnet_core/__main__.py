"""Command line: traverse an image and print every look and its share of the decision, or check a trace again.

tnet look IMAGE [--checkpoint ID|FOLDER|hf:owner/name[@revision]] [--budget 5]     or python -m tnet_core …
tnet look IMAGE --stop                                      looks no further once it is sure enough
tnet replay TRACE --image FILE [--checkpoint … | --preset …]                      or python -m tnet_core replay …

PyTorch and the model take seconds and a gigabyte: they are imported where they are needed, after the arguments are read
and the image is opened, so that a mistake is answered at once.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tnet_core.command import name_program, parse_budget, parse_levels, parse_policy, run_command
from tnet_core.errors import TNetError, reason
from tnet_core.imageio import ImageSource
from tnet_core.schemas.files import is_dead_link, write_atomically
from tnet_core.stopping import StoppingRule

if TYPE_CHECKING:
    from tnet_core.modeling.tnet import TNet
    from tnet_core.trace import Trace

PRECISIONS = ("float32", "bfloat16")  # those of tnet_core.inference.conversion


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else argv

    def run() -> None:
        if arguments[:1] == ["replay"]:
            print(_replay(_replay_parser().parse_args(arguments[1:])))
        else:
            _traverse(_parser().parse_args(arguments))

    return run_command(run, prefix="error: ")


def _traverse(options: argparse.Namespace) -> None:
    if options.json is not None:
        _check_new_file(options.json)  # before the long work
    budget, levels, policy = parse_budget(options.budget), parse_levels(options.levels), parse_policy(options.policy)
    stop, source = _rule(options), ImageSource.open(options.image)

    from tnet_core.inference.traversal import traverse

    trace = traverse(_model(options), source, budget, policy, levels, sampling=options.sampling, stop=stop)
    print(report(trace, top=options.top))
    if options.json is not None:
        _write(options.json, trace.to_json())


def _replay(options: argparse.Namespace) -> str:
    try:
        text = options.trace.read_bytes()
    except OSError as error:
        raise TNetError(f"The trace '{options.trace}' cannot be read ({error.strerror}).") from None
    source = ImageSource.open(options.image)

    from tnet_core.inference.replay import TOLERANCE, find_tolerance, replay
    from tnet_core.trace import Trace

    trace = Trace.from_json(text)
    options.precision = trace.precision
    again = replay(trace, _load_named(options, trace.source), source)
    tolerance = find_tolerance(trace, again)
    within = "" if tolerance == TOLERANCE else f" in {trace.precision}, within {tolerance:g} of the largest of its kind"
    return (
        f"The replay passed: {len(again.locations)} looks and every number of the trace agree{within}; "
        f"predicted {again.class_name(again.prediction)}."
    )


def _load_named(options: argparse.Namespace, source: str) -> TNet:
    """Return the model that the options name, or else the one that a trace names."""
    if options.checkpoint is not None or options.preset is not None:
        return _model(options)
    options.checkpoint = source
    try:
        return _model(options)
    except TNetError as error:
        raise TNetError(f"{error} That is what the trace names; say with --checkpoint where it is.") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("tnet_core"),
        description="Traverse an image and print every look and its share of the decision.",
        epilog="tnet replay TRACE --image FILE checks a trace again.",
    )
    parser.add_argument("image", help="an image file")
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument(
        "--checkpoint", metavar="ID|FOLDER|hf:…",
        help="registry id, folder or Hub repository (default: the first of the registry, for any photograph)",
    )  # fmt: skip
    weights.add_argument("--preset", metavar="NAME", help="a preset with random, untrained weights")
    parser.add_argument("--registry", metavar="FILE", help="a further registry of checkpoints")
    parser.add_argument("--budget", metavar="K[,K…]", help="looks per grid, one number per level below the first")
    parser.add_argument("--levels", metavar="N|auto", help="processing levels (default: those of training)")
    parser.add_argument("--policy", default="learned", help="learned, random[:SEED], centre, raster, or cells: 3,7")
    parser.add_argument("--sampling", choices=("official", "native"), help="default: that of the checkpoint")
    parser.add_argument("--stop", action="store_true", help="stop looking by the checkpoint's recommended rule")
    parser.add_argument(
        "--stop-rule",
        metavar="LEAST,MOST,THRESHOLD",
        help="stop by this rule, such as 1,3,0.9: one to three looks, 90 %%",
    )
    parser.add_argument("--top", type=int, default=5, help="classes to print (default 5)")
    parser.add_argument("--device", help="cpu or cuda (default: cuda where present)")
    parser.add_argument("--precision", choices=PRECISIONS, help="bfloat16: faster on CPUs that have it, less exact")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the trace here")
    return parser


def _replay_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name_program("tnet_core replay"),
        description="Take a trace's looks again and compare every number; fails and names the first that differs.",
    )
    parser.add_argument("trace", type=Path, help="a trace written with --json or taken from the app")
    parser.add_argument("--image", required=True, metavar="FILE", help="the image it was made of")
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument("--checkpoint", metavar="ID|FOLDER|hf:…", help="default: the one named in the trace")
    weights.add_argument("--preset", metavar="NAME", help="for a trace of a preset's random, untrained weights")
    parser.add_argument("--registry", metavar="FILE", help="a further registry of checkpoints")
    parser.add_argument("--device", help="cpu or cuda (default: cuda where present)")
    return parser


def _model(options: argparse.Namespace) -> TNet:
    from tnet_core import checkpoints
    from tnet_core.building import build
    from tnet_core.inference.engine import optimised
    from tnet_core.modeling.presets import preset

    if options.preset is not None:
        print(f"note: '{options.preset}' has random weights: looks and scores mean nothing.", file=sys.stderr)
        model = build(preset(options.preset), device=options.device)
    else:
        if options.checkpoint is None:  # the first one is the one for any photograph
            options.checkpoint = next(iter(checkpoints.Registry.load(options.registry).ids), "")
        model = checkpoints.load(options.checkpoint, registry=options.registry, device=options.device)
    return optimised(model, precision="bfloat16") if options.precision == "bfloat16" else model


def _rule(options: argparse.Namespace) -> StoppingRule | bool:
    if options.stop_rule is None:
        return bool(options.stop)
    try:
        least, most, threshold = options.stop_rule.split(",")
        return StoppingRule(int(least), int(most), float(threshold))
    except ValueError:
        raise TNetError(
            f"A stopping rule is LEAST,MOST,THRESHOLD, such as 1,3,0.9, not '{options.stop_rule}'."
        ) from None


def _check_new_file(path: Path) -> None:
    """Refuse a place where something is already, or where no file can be made."""
    try:
        if path.is_file() or path.is_dir() or is_dead_link(path):
            raise TNetError(f"There is a file or folder '{path}' already; name another with --json or remove it.")
        if not path.absolute().parent.is_dir():
            raise TNetError(f"There is no folder '{path.absolute().parent}' to write '{path.name}' in.")
    except OSError as error:
        raise TNetError(f"Cannot write '{path}': {reason(error)}.") from None


def _write(path: Path, text: str) -> None:
    if path.is_char_device() or path.is_fifo():  # such as /dev/stdout
        path.write_text(text, encoding="utf-8")
    else:
        write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))


def report(trace: Trace, top: int = 5) -> str:
    """Return the table of looks, the top classes and the cost as plain text."""
    predicted = trace.prediction
    weights, shares = trace.weights(), trace.contributions(predicted)
    lines = [
        f"model {trace.source} ({trace.config.name or trace.config.backbone}), policy {trace.policy}, "
        f"{trace.sampling} sampling, {trace.precision}, image {trace.image.width} x {trace.image.height}",
        "",
        f"{'look':>5} {'level':>5} {'inside':>6} {'cell':>8} {'box x0 y0 x1 y1':>23} {'lift':>6} {'weight':>7} "
        f"{'contribution':>13}",
    ]
    for look, weight, value in zip(shares.looks, weights, shares.values, strict=True):
        if look is None:
            place = f"{'–':>5} {1:>5} {'–':>6} {'whole':>8} {'0.000 0.000 1.000 1.000':>23} {'–':>6}"
        else:
            at = trace.locations[look]
            cell = f"{at.index} ({at.index // trace.config.grid},{at.index % trace.config.grid})"
            box = " ".join(f"{side:.3f}" for side in at.box)
            inside = "–" if at.parent is None else str(at.parent + 1)
            place = f"{look + 1:>5} {at.level:>5} {inside:>6} {cell:>8} {box:>23} {at.lift:>6.2f}"
        lines.append(f"{place} {weight:>7.3f} {value:>+13.4f}")
    lines.append(f"{'bias':>66} {shares.bias:>+13.4f}")
    lines.append(f"{'logit of ' + trace.class_name(predicted):>66} {shares.total:>+13.4f}")
    if trace.stop is not None:
        lines += ["", f"{trace.stop.describe()} (The rule: {trace.stop.rule.describe()}.)"]
    probabilities, logits = trace.probabilities(), trace.logits()
    lines += ["", f"{'class':<40} {'probability':>11} {'logit':>9}"]
    for cls in np.argsort(-logits, kind="stable")[: max(top, 1)]:
        lines.append(f"{trace.class_name(int(cls)):<40} {100 * probabilities[cls]:>10.2f}% {logits[cls]:>9.3f}")
    cost = trace.cost()
    covered = ", ".join(f"level {level}: {100 * share:.0f} %" for level, share in cost.coverage.items())
    lines += [
        "",
        f"{len(trace.locations)} looks, {cost.flops / 1e9:.3f} GFLOPs, {cost.parameters / 1e6:.2f} M parameters, "
        f"{cost.pixels_read} pixels read, area {covered or 'whole image'}, {1000 * cost.seconds:.0f} ms, "
        f"peak memory {cost.peak_memory / 2**20:.0f} MB",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
