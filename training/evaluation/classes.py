"""Whose class is whose: the classes of a data set among those of a checkpoint.

Names are compared as they are first, then without case, without a number in front ('001.') and with
underscores and hyphens as spaces: '001.Black_footed_Albatross' is 'Black-footed Albatross'. People bring more classes
than a checkpoint learned: `select_known` is the part of their data that it can be measured on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data.dataset import FileDataset
from training.data.sample import DatasetView, ImageDataset

Match = Literal["name", "order"]
_MAX_NAMED = 3  # classes that a sentence names


def simplify_name(name: str) -> str:
    """Return what two spellings of one class have in common."""
    without_number = re.sub(r"^\d+[.\s_-]+(?=\D)", "", name.strip())
    return re.sub(r"[\s_-]+", " ", without_number).strip().casefold()


def match_classes(
    found: Sequence[str], known: Sequence[str], count: int, match: Match = "name", *, advice: str = ""
) -> list[int]:
    """Return the checkpoint's class of each class of the data set; `advice` replaces that of `training.evaluate`.

    `known` are the checkpoint's names, empty if it has none; then, and with `match="order"`, classes
    are taken in the order of the data set, which must have as many as the checkpoint.
    """
    if match == "order" or not known:
        if len(found) != count:
            why = "" if known else ", which does not name its classes,"
            raise TNetError(f"The data has {len(found)} classes, but the checkpoint{why} has {count}.")
        return list(range(count))
    exact = {name: label for label, name in enumerate(known)}
    similar: dict[str, list[int]] = {}
    for label, name in enumerate(known):
        similar.setdefault(simplify_name(name), []).append(label)
    labels: list[int] = []
    unknown: list[str] = []
    for name in found:
        candidates = [exact[name]] if name in exact else similar.get(simplify_name(name), [])
        if len(candidates) > 1:
            raise TNetError(
                f"The class '{name}' could be any of {len(candidates)} classes of the checkpoint; rename it."
            )
        labels += candidates
        unknown += [] if candidates else [name]
    if unknown:
        raise TNetError(_describe_unknown(unknown, len(found), known, advice))
    for name, label in zip(found, labels, strict=True):
        if labels.count(label) > 1:
            raise TNetError(f"Two classes of the data are the checkpoint's '{known[label]}', one of them '{name}'.")
    return labels


def _describe_unknown(unknown: list[str], found: int, known: Sequence[str], advice: str) -> str:
    few = ", ".join(f"'{name}'" for name in unknown[:3]) + (", …" if len(unknown) > 3 else "")
    which = "is not a class" if len(unknown) == 1 else "are not classes"
    how_many = f" ({len(unknown)} of {found} in the data)" if found > 1 else ""
    if not advice:
        advice = (
            "give the folder that holds the class folders, or its split with --split"
            if len(unknown) == found
            else "rename or remove them"
        ) + ", or use --match order if both list the same classes in the same order"
    return f"{few}{how_many} {which} of the checkpoint, whose classes are like '{known[0]}'; {advice}."


def fit_to(model: TNet, dataset: ImageDataset, match: Match = "name") -> ImageDataset:
    """Return the data set with the labels of the model."""
    count = model.config.num_classes
    if dataset.class_names:
        labels = match_classes(dataset.class_names, model.class_names, count, match)
        if labels != list(range(count)):
            relabelled = [labels[label] for label in dataset.labels]
            return DatasetView(dataset, class_names=model.class_names, labels=relabelled)
    elif len(dataset) and max(dataset.labels) >= count:
        raise TNetError(f"The data has a class {max(dataset.labels)}, but the checkpoint has only {count} classes.")
    return dataset


@dataclass(frozen=True)
class KnownPart:
    dataset: ImageDataset  # with the labels of the model
    left_out: dict[str, int]  # class of the data -> its images


def select_known(model: TNet, dataset: FileDataset) -> KnownPart:
    """Return images of classes that are the checkpoint's, by name; several spellings of one class count as that class.

    A checkpoint that does not name its classes must have as many as the data.
    """
    if not model.class_names:
        return KnownPart(fit_to(model, dataset), {})
    of = {label: _find_class(name, model) for label, name in enumerate(dataset.class_names)}
    known = sorted({label for label in of.values() if label is not None})
    entries, left_out = [], dict.fromkeys((dataset.class_names[label] for label in of if of[label] is None), 0)
    for entry in dataset.entries:
        label = of[entry.label]
        if label is None:
            left_out[dataset.class_names[entry.label]] += 1
        else:
            entries.append(replace(entry, label=known.index(label)))
    if not entries:
        raise TNetError(
            f"None of the classes is one of the checkpoint's ({list_names(left_out)}); its {len(model.class_names)} "
            f"classes are like '{model.class_names[0]}': rename the folders, or choose another checkpoint."
        )
    names = [model.class_names[label] for label in known]
    return KnownPart(fit_to(model, type(dataset)(dataset.name, dataset.split, names, entries)), left_out)


def _find_class(name: str, model: TNet) -> int | None:
    """Return the one class that a name means, in full or by the first of its synonyms; None if there is none."""
    for known in (model.class_names, [synonyms.partition(",")[0] for synonyms in model.class_names]):
        try:
            return match_classes([name], known, len(known))[0]
        except TNetError:  # unknown, or more than one
            continue
    return None


def list_names(names: dict[str, int]) -> str:
    """Return a few names as words: 'wren', 'robin', …"""
    few = ", ".join(f"'{name:.60}'" for name in list(names)[:_MAX_NAMED])
    return few + (", …" if len(names) > _MAX_NAMED else "")


def describe_left_out_classes(left_out: dict[str, int]) -> str:
    """Return one sentence about classes that were left out; empty if none was."""
    if not left_out:
        return ""
    images, several = sum(left_out.values()), len(left_out) > 1
    which = f"{len(left_out)} classes that the checkpoint does not know" if several else "a class that is not known"
    return f"Left out: {images} image{'s' * (images != 1)} of {which} ({list_names(left_out)})."
