"""`adapt`: from a pretrained classifier and photographs to a checkpoint folder with its measurements and its card."""

from __future__ import annotations

import copy
import sys
import tempfile
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

import tnet_core as tn
from tnet_core.checkpoints.card import CheckpointCard, card_of
from tnet_core.checkpoints.format import load_folder
from tnet_core.errors import TNetError, reason
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.evaluation import parse_evaluation
from tnet_core.schemas.files import EVALUATION_FILE
from training.adapt.agreement import WholeImage, measure_agreement
from training.adapt.folds import evaluate_folds, learn_folds
from training.adapt.photographs import Photographs, check_folders, make_banks, open_photographs, sharpen
from training.adapt.pretrained import AdaptOptions, Objective, Start, build_start
from training.data.sample import ImageDataset
from training.evaluation.bootstrap import describe_few_images
from training.evaluation.output import ProgressBar, find_source_commit
from training.evaluation.plan import Options
from training.evaluation.run import evaluate
from training.policy.bank import FeatureBank, compute_positional_shift
from training.policy.heads import AggregationOptions, lean_to_centre, train_aggregation
from training.policy.targets import make_reinforce
from training.policy.training import PolicyTraining
from training.publishing.model_card import write_card
from training.recipes.recipe import BankSection, OptimSection, PolicySection, Recipe

_SHOWN = ("learned", "random", "centre", "mean", "surest", "oracle")


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
    check_folders((*options.images, *options.more))
    check_out_folder(out)
    start = build_start(options)
    photographs = open_photographs(options, start.classes, start.model.config.num_classes)
    if (few := describe_few_images(len(photographs.held_out))) and not quiet:
        print(f"To measure on there will be few images. {few}", file=sys.stderr)
    side = start.full_resolution if options.labels == "none" else None
    banks = make_banks(start.model, photographs, options, start.full_resolution, bank, quiet=quiet)
    banks = {
        name: one.with_labels(sharpen(one.labels, options.temperature)) if one.labels.ndim == 2 else one
        for name, one in banks.items()
    }  # labels as probabilities stay what they are
    untouched = copy.deepcopy(start.model) if options.folds else None
    report = learn(start.model, banks, options, quiet=quiet)
    stated = _make_provenance(start, photographs, options, report) | (provenance or {})
    tn.save(start.model, out, class_names=start.classes.names, provenance=stated, half=half)
    if not quiet:
        print(f"The checkpoint is in '{out}'; now it is measured.", file=sys.stderr)
    stored = tn.load(str(out))
    if untouched is not None:
        learn_part = partial(learn, options=options, quiet=quiet)
        models = learn_folds(untouched, photographs, banks, options, learn_part)
        content = evaluate_folds(models, stored, photographs, options, command, quiet=quiet)
    else:
        held_out = banks["validation"].with_shift(compute_positional_shift(stored))
        content = evaluate_stored(stored, photographs.held_out, held_out, side, options, command, quiet=quiet)
    parse_evaluation(content).write(out / EVALUATION_FILE)
    return content


def check_out_folder(out: Path) -> None:
    """Refuse an output folder that is not new or empty, before any work."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise TNetError(f"'{out}' is not an empty folder; choose another --out.")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TNetError(f"Cannot write into '{out}': {reason(error)}.") from None


def evaluate_stored(
    model: TNet,
    dataset: ImageDataset,
    bank: FeatureBank,
    side: int | None,
    options: AdaptOptions,
    command: list[str] | None,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Return the evaluation of what was stored on held-out images, by labels where there are some."""
    words = command or ["python", "-m", "training.adapt"]
    if side is not None:
        return measure_agreement(
            model, dataset, WholeImage(side, options.temperature), seed=options.seed, workers=options.workers,
            command=words, bank=bank, quiet=quiet,
        )  # fmt: skip
    with ProgressBar(is_shown=not quiet) as bar:
        chosen = Options(seed=options.seed, workers=options.workers)
        return evaluate(tn.optimised(model), dataset, chosen, bar.update, command=words)


def _make_provenance(
    start: Start, photographs: Photographs, options: AdaptOptions, report: dict[str, Any]
) -> dict[str, Any]:
    commit = find_source_commit()
    return {
        "recipe": "training.adapt",
        "seed": options.seed,
        **({"commit": commit} if commit else {}),
        **({"licence": start.licence} if start.licence else {}),
        "dataset": photographs.train.name,
        "base_model": start.origin,
        "frozen": "backbone and classifier, bit for bit",
        "target": "labels" if options.labels != "none" else "the backbone's own prediction for the whole image",
        "full_resolution": start.full_resolution,
        "temperature": options.temperature,
        "images": {"learned_from": len(photographs.train), "held_out": len(photographs.held_out)},
        "options": options.to_provenance(),
        "validation": report,
    }


def write_adapted_card(folder: Path, title: str) -> None:
    card = card_of(load_folder(folder, device="cpu"))
    write_card(folder, card, title, describe_adaptation(card))


def describe_adaptation(card: CheckpointCard) -> str:
    parts = [_describe_making(card)]
    raw = card.evaluation.raw if card.evaluation is not None else {}
    if "agreement" in raw:
        parts += [_describe_numbers(raw), _tabulate_policies(raw)]
    if "displaced" in raw:
        parts += [_compare_displaced(raw)]
    return "\n".join(parts)


def _describe_making(card: CheckpointCard) -> str:
    provenance = card.provenance
    counts = provenance.get("images", {})
    return "## How it was made\n\n" + _wrap_lines(
        f"{provenance.get('base_model', '')} Backbone and classifier were not trained further. The location module "
        "(where to look), the weighting module (how looks count; a plain average at the start) and the positional "
        "module (zero at the start) learned from the features of all cells of "
        f"{counts.get('learned_from', 'some')} photographs towards {provenance.get('target', 'a target')}, with "
        "`python -m training.adapt` (the command is under Provenance)."
    )


def _describe_numbers(raw: dict[str, Any]) -> str:
    side, temperature = raw["agreement"]["full_resolution"], raw["agreement"]["temperature"]
    return "## What the numbers mean\n\n" + _wrap_lines(
        "No labels were used. An image counts as right when the looks agree with the prediction that the same backbone "
        f"makes for the whole image at {side} px; log-likelihood is that of this prediction's whole distribution over "
        f"classes, at temperature {temperature:g}. The images were held out from this adaptation, but **the pretrained "
        "backbone may know them**: read differences between policies and between numbers of looks, not an accuracy. "
        "About a photograph it says at best what the pretrained classifier says."
    )


def _compare_displaced(raw: dict[str, Any]) -> str:
    """Return a table of top-1 by looks of several policies, for photographs as they are and displaced."""
    parts = ["## As they are, and displaced\n", _wrap_lines(raw["displaced"]["about"])]
    for title, part in (("as they are", raw), ("displaced", raw["displaced"])):
        shown = [name for name in _SHOWN if "top1" in part["policies"].get(name, {})]
        parts += [f"Top-1 in percent, {title}:\n", f"| looks | {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
        for at, row in enumerate(part["budgets"]):
            if (looks := row["budget"][0]) in (0, 1, 2, 3, 5, 10, 25):
                cells = (f"{100 * part['policies'][name]['top1'][at]:.1f}" for name in shown)
                parts.append(f"| {looks} | {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts)


def _wrap_lines(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n"


def _tabulate_policies(raw: dict[str, Any]) -> str:
    agreement, measured = raw["agreement"], raw["policies"]
    counts = [row["budget"][0] for row in raw["budgets"]]
    parts = ["## Where to look: policies at equal budget\n"]
    top1 = {name: measured[name]["top1"] for name in _SHOWN if "top1" in measured.get(name, {})}
    soft = {name: agreement["policies"][name]["log_likelihood"] for name in _SHOWN}
    tables = (("Agreement in percent", top1, 100, 1), ("Mean log-likelihood", soft, 1, 3))
    for title, columns, factor, digits in tables:
        parts += [f"{title}, by looks:\n", f"| looks | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
        for at, looks in enumerate(counts):
            cells = [f"{factor * values[at]:.{digits}f}" for values in columns.values()]
            parts.append(f"| {looks} | {' | '.join(cells)} |")
        parts.append("")
    parts += ["Paired differences with 95 % intervals of a bootstrap over images:\n"]
    parts += ["| | " + " | ".join(f"{k} look{'' if k == 1 else 's'}" for k in _select_counts(counts)) + " |"]
    parts += ["|---" * (len(_select_counts(counts)) + 1) + "|"]
    for title, found, factor, digits in (
        ("points of agreement", raw["comparisons"], 100, 1),
        ("log-likelihood", agreement["comparisons"], 1, 3),
    ):
        for name, values in found.items():
            cells = [_format_difference(values, counts.index(k), factor, digits) for k in _select_counts(counts)]
            parts.append(f"| {name.replace('-', ' − ')}, {title} | {' | '.join(cells)} |")
    return "\n".join(parts) + "\n"


def _select_counts(counts: list[int]) -> list[int]:
    return [k for k in (1, 2, 3, 5) if k in counts]


def _format_difference(values: dict[str, Any], at: int, factor: int, digits: int) -> str:
    low, high = values["interval"][at]
    return f"{factor * values['difference'][at]:+.{digits}f} [{factor * low:+.{digits}f}, {factor * high:+.{digits}f}]"


# Learning ---------------------------------------------------------------------------------------------


def learn(
    model: TNet, banks: dict[str, FeatureBank], options: AdaptOptions, *, quiet: bool = False
) -> dict[str, float]:
    """Train weighting, positional and location modules on banks 'train' and 'validation' of the untouched model.

    How looks count is learned first, from sets of looks at random, since it decides what a look is
    worth; then where to look. The location module learns the images by heart within a few epochs, so
    its round is short and half of its map is dropped. A bias towards the centre comes last. Returns the last numbers
    of the round before it; they decide nothing.
    """
    if options.aggregation:
        aggregation = AggregationOptions(epochs=options.epochs)
        train_aggregation(model, banks["train"], aggregation, options.seed, quiet=quiet)
        shift = compute_positional_shift(model)
        banks = {name: bank.with_shift(shift) for name, bank in banks.items()}
    report = train_location(model, banks, options, quiet=quiet)
    if options.centre_bias:
        lean_to_centre(model, banks["train"], options.centre_bias, seed=options.seed)
    return report


def train_location(
    model: TNet, banks: dict[str, FeatureBank], options: AdaptOptions, *, quiet: bool = False
) -> dict[str, float]:
    recipe = make_policy_recipe(options)
    target = make_reinforce() if options.objective == "reinforce" else None
    with tempfile.TemporaryDirectory() as folder:  # its records; the report is kept
        return PolicyTraining(model, recipe, recipe.bank, banks, Path(folder), quiet=quiet, target=target).run()


def make_policy_recipe(options: AdaptOptions) -> Recipe:
    return Recipe(
        name="adapt",
        seed=options.seed,
        epochs=options.epochs / 2,
        batch_size=64,
        policy=PolicySection(target=_choose_target(options.objective)),
        bank=BankSection(views=1, looks=options.looks, dropout=0.5),
        optim=OptimSection(method="adamw", lr=1e-3, weight_decay=0.01, schedule="cosine", warmup=0.1),
    )


def _choose_target(objective: Objective) -> Any:
    return "likelihood" if objective == "reinforce" else objective
