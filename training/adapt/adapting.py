"""`adapt`: from a pretrained classifier and photographs to a checkpoint folder with its measurements."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import tnet_core as tn
from tnet_core.checkpoints.files import EVALUATION_FILE, reason
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.adapt.aggregation import positional_shift
from training.adapt.banks import make_banks
from training.adapt.full_image import sharpened
from training.adapt.learning import learn
from training.adapt.options import AdaptOptions
from training.adapt.photographs import Photographs, open_photographs
from training.adapt.start import Start, start
from training.agreement import WholeImage, measure
from training.data.sample import ImageDataset
from training.evaluation.evaluate import evaluate
from training.evaluation.output import Bar, source_commit, write_evaluation
from training.evaluation.plan import Options
from training.policy.bank import FeatureBank


def adapt(
    options: AdaptOptions,
    out: Path,
    *,
    bank: Path | None = None,
    half: bool = False,
    provenance: dict[str, str] | None = None,
    command: list[str] | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Write the checkpoint into `out`, which must be new or empty; returns the content of its evaluation.

    `bank` is a folder that keeps the features for another run on the same images. `provenance` adds
    to what the checkpoint says about itself (licence, data_licence, dataset, citation, …).
    """
    check_out(out)
    begun = start(options)
    photographs = open_photographs(options, begun.classes, begun.model.config.num_classes)
    side = begun.full_resolution if options.labels == "none" else None
    banks = make_banks(begun.model, photographs, side, bank, workers=options.workers, quiet=quiet)
    if side is not None:
        banks = {name: one.relabelled(sharpened(one.labels, options.temperature)) for name, one in banks.items()}
    report = learn(begun.model, banks, options, quiet=quiet)
    told = _provenance(begun, photographs, options, report) | (provenance or {})
    tn.save(begun.model, out, class_names=begun.classes.names, provenance=told, half=half)
    if not quiet:
        print(f"The checkpoint is in '{out}'; now it is measured.", file=sys.stderr)
    stored = tn.load(str(out))
    held_out = banks["validation"].moved(positional_shift(stored))
    content = evaluation_of(stored, photographs.held_out, held_out, side, options, command, quiet=quiet)
    write_evaluation(content, out / EVALUATION_FILE)
    return content


def check_out(out: Path) -> None:
    """Before any work: a new folder, or an empty one."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise TNetError(f"'{out}' is not an empty folder; choose another --out.")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TNetError(f"Cannot write into '{out}': {reason(error)}.") from None


def evaluation_of(
    model: TNet,
    dataset: ImageDataset,
    bank: FeatureBank,
    side: int | None,
    options: AdaptOptions,
    command: list[str] | None,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Of what was stored, on images that were held out; by labels where there are some."""
    words = command or ["python", "-m", "training.adapt"]
    if side is not None:
        return measure(
            model, dataset, WholeImage(side, options.temperature), seed=options.seed, workers=options.workers,
            command=words, bank=bank, quiet=quiet,
        )  # fmt: skip
    with Bar(shown=not quiet) as bar:
        chosen = Options(seed=options.seed, workers=options.workers)
        return evaluate(tn.optimised(model), dataset, chosen, bar.update, command=words)


def _provenance(
    begun: Start, photographs: Photographs, options: AdaptOptions, report: dict[str, Any]
) -> dict[str, Any]:
    commit = source_commit()
    return {
        "recipe": "training.adapt",
        "seed": options.seed,
        **({"commit": commit} if commit else {}),
        **({"licence": begun.licence} if begun.licence else {}),
        "dataset": photographs.train.name,
        "base_model": begun.origin,
        "frozen": "backbone and classifier, bit for bit",
        "target": "labels" if options.labels != "none" else "the backbone's own prediction for the whole image",
        "full_resolution": begun.full_resolution,
        "temperature": options.temperature,
        "images": {"learned_from": len(photographs.train), "held_out": len(photographs.held_out)},
        "options": options.told(),
        "validation": report,
    }
