"""The model card (README.md) of a published checkpoint: metadata for the Hub, then text for people."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tnet_core.checkpoints.card import CheckpointCard, card_of, describe
from tnet_core.checkpoints.drafting import UNKNOWN, read_provenance
from tnet_core.checkpoints.format import load_folder
from tnet_core.checkpoints.hub_client import LIBRARY_NAME
from tnet_core.schemas.evaluation import BudgetResult, Evaluation, read_evaluation
from tnet_core.schemas.files import EVALUATION_FILE, README_FILE, write_atomically

PICTURE_FILE = "accuracy_vs_locations.png"
PAPER = (
    "Athanasios Papadopoulos, Paweł Korus and Nasir Memon. Hard-Attention for Scalable Image Classification. "
    "NeurIPS 2021."
)
# The Hub's identifiers of common licences; any other licence is "other" with a name.
_LICENCES = {
    "apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0",
    "cc-by-nc-sa-4.0", "cc-by-nc-nd-4.0", "gpl-3.0", "lgpl-3.0", "agpl-3.0", "openrail",
}  # fmt: skip


@dataclass(frozen=True)
class Details:
    """What a card states beyond the numbers; empty means not stated."""

    title: str
    licence: str = ""
    data_licence: str = ""
    dataset: str = ""
    base_model: str = ""
    citation: str = ""

    @classmethod
    def from_card(cls, card: CheckpointCard, title: str, **given: str | None) -> Details:
        """Take each detail from the options, else from the checkpoint's provenance."""

        def choose(key: str) -> str:
            value = given.get(key) or read_provenance(card, key)
            return "" if value == UNKNOWN else value

        dataset = choose("dataset") or (card.evaluation.dataset if card.evaluation else "")
        names = ("licence", "data_licence", "base_model", "citation")
        return cls(title=title, dataset=dataset, **{name: choose(name) for name in names})


def make_model_card(card: CheckpointCard, details: Details, repo: str | None, notes: str = "") -> str:
    """Return the whole README.md; without a repository, that of a folder, which has no picture beside it.

    `notes` are further sections, before the numbers.
    """
    header = yaml.safe_dump(make_metadata(card.evaluation, details), sort_keys=False, allow_unicode=True, width=110)
    parts = [f"---\n{header}---\n", f"# {details.title}\n", _describe_model(card), _describe_usage(card, repo), notes]
    if card.evaluation is not None:
        parts.append(_tabulate_results(card.evaluation, picture=repo is not None))
    parts += [_list_provenance(card), _state_terms(details)]
    return "\n".join(part for part in parts if part)


def make_metadata(evaluation: Evaluation | None, details: Details) -> dict[str, Any]:
    found: dict[str, Any] = {
        "library_name": LIBRARY_NAME,
        "pipeline_tag": "image-classification",
        "tags": ["tnet", "hard-attention", "image-classification"],
        **_name_licence(details.licence),
    }
    if details.dataset:
        found["datasets"] = [_make_identifier(details.dataset)]
    if details.base_model:
        found["base_model"] = details.base_model
    if evaluation is not None:
        results = [_make_index_entry(evaluation, result) for result in select_results(evaluation)]
        found["model-index"] = [{"name": details.title, "results": results}]
    return found


def _name_licence(text: str) -> dict[str, str]:
    known = text.lower()
    if not text:
        return {"license": "unknown"}
    return {"license": known} if known in _LICENCES else {"license": "other", "license_name": text}


def _make_index_entry(evaluation: Evaluation, result: BudgetResult) -> dict[str, Any]:
    at, what = _count_locations(result), _name_measure(evaluation)
    metrics = [{"type": what, "name": f"Top-1 {what}, {at}", "value": result.top1}]
    if result.top5 is not None:
        metrics.append({"type": what, "name": f"Top-5 {what}, {at}", "value": result.top5})
    return {
        "task": {"type": "image-classification", "name": f"Image classification with {at}"},
        "dataset": {
            "name": evaluation.dataset,
            "type": _make_identifier(evaluation.dataset),
            "split": evaluation.split,
            "args": {"budget": list(result.budget)},
        },
        "metrics": metrics,
    }


def select_results(evaluation: Evaluation) -> list[BudgetResult]:
    """Return one result for each set of looks: below a level without looks, any budget means none."""
    chosen: dict[tuple[int, ...], BudgetResult] = {}
    for result in evaluation.results:
        taken = tuple(itertools.accumulate(result.budget, lambda above, k: k if above else 0))
        chosen.setdefault(taken, result)
    return list(chosen.values())


def _name_measure(evaluation: Evaluation) -> str:
    """Return 'accuracy', or 'agreement' where the full-image prediction was the label (`training.agreement`)."""
    return "agreement" if "agreement" in evaluation.raw else "accuracy"


def _count_locations(result: BudgetResult) -> str:
    count = f"{result.looks} attended location{'' if result.looks == 1 else 's'}"
    return count if len(result.budget) < 2 else f"{count} ({' x '.join(map(str, result.budget))})"


def _make_identifier(name: str) -> str:
    """Return A data set's id as it is, or one made from its name."""
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name, re.ASCII):
        return name
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "dataset"


def _describe_model(card: CheckpointCard) -> str:
    assert card.config is not None
    text = f"A checkpoint for TNet Explorer: {describe(card.config)}.\n"
    if card.config.is_baseline:
        return text
    return (
        text
        + "\nTNet sees a thumbnail of the image, scores a grid of candidate regions, looks at the best ones in full\n"
        "resolution and classifies from all looks together. How many it looks at is your choice at run time.\n"
    )


def _describe_usage(card: CheckpointCard, repo: str | None) -> str:
    assert card.config is not None
    budget = "" if card.config.is_baseline else f", budget={card.config.budget!r}"
    answer = "trace.logits().argmax()"
    result = f"model.class_names[{answer}]" if card.class_names else answer
    load = f'tn.load("hf:{repo}")  # append @commit to pin the exact files' if repo else 'tn.load("this folder")'
    example = (
        "## Usage\n\n```python\nimport tnet_core as tn\n\n"
        f"model = {load}\n"
        f'trace = tn.traverse(model, "photo.jpg"{budget})\n'
        f"print({result})\n```\n"
    )
    if repo is None:
        return example
    return (
        f"{example}\nor open `hf:{repo}` in the app. Only `model.safetensors` is loaded; nothing in this repository "
        "is executed.\n"
    )


def _tabulate_results(evaluation: Evaluation, *, picture: bool) -> str:
    what = _name_measure(evaluation).capitalize()
    lines = [
        f"## {what} and cost\n",
        f"Measured on {evaluation.where}.\n",
        *([f"![{what} against attended locations]({PICTURE_FILE})\n"] if picture else []),
        "| locations per image | top-1 | top-5 | GFLOPs per image |",
        "|---|---|---|---|",
    ]
    for result in select_results(evaluation):
        top5 = "" if result.top5 is None else f"{100 * result.top5:.2f} %"
        flops = "" if result.flops is None else f"{result.flops / 1e9:.2f}"
        count = _count_locations(result).replace(" attended locations", "").replace(" attended location", "")
        lines.append(f"| {count} | {100 * result.top1:.2f} % | {top5} | {flops} |")
    return "\n".join(lines) + "\n"


def _list_provenance(card: CheckpointCard) -> str:
    if not card.provenance:
        return ""
    block = yaml.safe_dump(card.provenance, sort_keys=False, allow_unicode=True, width=100)
    return "## Provenance\n\n" + "".join(f"    {line}\n" for line in block.splitlines())


def _state_terms(details: Details) -> str:
    return (
        "## Licence and citation\n\n"
        f"- Weights: {details.licence or UNKNOWN}\n- Training data: {details.data_licence or UNKNOWN}\n"
        f"- Please cite: {details.citation or PAPER}\n"
    )


def read_card(folder: Path) -> CheckpointCard:
    """Return the card of a folder that loads strictly, with an evaluation that can be read or none."""
    if (folder / EVALUATION_FILE).exists():
        read_evaluation(folder)  # loading only announces a broken one; publishing it would be wrong
    return card_of(load_folder(folder, device="cpu"))


def write_card(folder: Path, card: CheckpointCard, title: str, notes: str = "") -> None:
    """Write README.md into the folder of a checkpoint."""
    text = make_model_card(card, Details.from_card(card, title), None, notes)
    write_atomically(folder / README_FILE, lambda path: path.write_text(text, encoding="utf-8"))
