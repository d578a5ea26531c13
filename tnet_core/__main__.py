"""Command line: traverse an image and print every look and its share of the decision, or check a trace again.

python -m tnet_core IMAGE --checkpoint ID|FOLDER|hf:owner/name[@revision] --budget 5
python -m tnet_core replay TRACE --image FILE [--checkpoint … | --preset …]
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Literal

import numpy as np

from tnet_core import checkpoints
from tnet_core.build import build
from tnet_core.errors import TNetError
from tnet_core.inference.replay import replay
from tnet_core.inference.traversal import traverse
from tnet_core.modeling.presets import preset
from tnet_core.modeling.tnet import TNet
from tnet_core.trace import Trace


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a character is no reason to fail
    try:
        if arguments[:1] == ["replay"]:
            print(_replay(_replay_parser().parse_args(arguments[1:])))
        else:
            _traverse(_parser().parse_args(arguments))
    except TNetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output went away (`… | head`)
        sys.stderr.close()
        return 1
    return 0


def _traverse(options: argparse.Namespace) -> None:
    trace = traverse(
        _model(options),
        options.image,
        _numbers(options.budget),
        _policy(options.policy),
        _levels(options.levels),
        sampling=options.sampling,
    )
    print(report(trace, top=options.top))
    if options.json is not None:
        _write(options.json, trace.to_json())


def _replay(options: argparse.Namespace) -> str:
    try:
        text = options.trace.read_bytes()
    except OSError as error:
        raise TNetError(f"The trace '{options.trace}' cannot be read ({error.strerror}).") from None
    trace = Trace.from_json(text)
    if options.checkpoint is None and options.preset is None:
        options.checkpoint = trace.source
    again = replay(trace, _model(options), options.image)
    return (
        f"The replay passed: {len(again.locations)} looks and every number of the trace agree; "
        f"predicted {again.class_name(again.prediction)}."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tnet_core",
        description="Traverse an image and print every look and its share of the decision.",
        epilog="python -m tnet_core replay TRACE --image FILE checks a trace again.",
    )
    parser.add_argument("image", help="an image file")
    weights = parser.add_mutually_exclusive_group(required=True)
    weights.add_argument("--checkpoint", metavar="ID|FOLDER|hf:…", help="registry id, folder or Hub repository")
    weights.add_argument("--preset", metavar="NAME", help="a preset with random, untrained weights")
    parser.add_argument("--registry", metavar="FILE", help="a further registry of checkpoints")
    parser.add_argument("--budget", metavar="K[,K…]", help="looks per grid, one number per level below the first")
    parser.add_argument("--levels", metavar="N|auto", help="processing levels (default: those of training)")
    parser.add_argument("--policy", default="learned", help="learned, random[:SEED], centre, raster, or cells: 3,7")
    parser.add_argument("--sampling", choices=("official", "native"), help="default: that of the checkpoint")
    parser.add_argument("--top", type=int, default=5, help="classes to print (default 5)")
    parser.add_argument("--device", help="cpu or cuda (default: cuda where present)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the trace here")
    return parser


def _replay_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tnet_core replay",
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
    if options.preset is not None:
        print(f"note: '{options.preset}' has random weights: looks and scores mean nothing.", file=sys.stderr)
        return build(preset(options.preset), device=options.device)
    return checkpoints.load(options.checkpoint, registry=options.registry, device=options.device)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise TNetError(f"A budget is whole numbers separated by commas, not '{text}'.") from None


def _levels(text: str | None) -> int | Literal["auto"] | None:
    if text is None:
        return None
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise TNetError(f"The number of levels is a whole number or 'auto', not '{text}'.")
    return int(text)


def _policy(text: str) -> str | list[int]:
    parts = text.split(",")
    return [int(part) for part in parts] if all(part.strip().isdecimal() for part in parts) else text


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise TNetError(f"The trace cannot be written to '{path}' ({error.strerror}).") from None


def report(trace: Trace, top: int = 5) -> str:
    """The table of looks, the top classes and the cost, as plain text."""
    predicted = trace.prediction
    weights, shares = trace.weights(), trace.contributions(predicted)
    lines = [
        f"model {trace.source} ({trace.config.name or trace.config.backbone}), policy {trace.policy}, "
        f"{trace.sampling} sampling, image {trace.image.width} x {trace.image.height}",
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
