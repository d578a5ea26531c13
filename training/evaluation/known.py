"""The part of somebody's data whose classes a checkpoint knows: people bring more than it learned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data.dataset import FileDataset
from training.data.sample import ImageDataset
from training.evaluation.classes import fit_to, match_classes

_NAMED = 3  # classes that a sentence names


@dataclass(frozen=True)
class Known:
    dataset: ImageDataset  # with the labels of the model
    left_out: dict[str, int]  # class of the data -> its images


def known_part(model: TNet, dataset: FileDataset) -> Known:
    """Images of classes that are the checkpoint's, by name; several spellings of one class count as that class.

    A checkpoint that does not name its classes must have as many as the data.
    """
    if not model.class_names:
        return Known(fit_to(model, dataset), {})
    of = {label: _class_of(name, model) for label, name in enumerate(dataset.class_names)}
    wanted = sorted({label for label in of.values() if label is not None})
    entries, left_out = [], dict.fromkeys((dataset.class_names[label] for label in of if of[label] is None), 0)
    for entry in dataset.entries:
        label = of[entry.label]
        if label is None:
            left_out[dataset.class_names[entry.label]] += 1
        else:
            entries.append(replace(entry, label=wanted.index(label)))
    if not entries:
        raise TNetError(
            f"None of the classes is one of the checkpoint's ({listed(left_out)}); its {len(model.class_names)} "
            f"classes are like '{model.class_names[0]}': rename the folders, or choose another checkpoint."
        )
    names = [model.class_names[label] for label in wanted]
    return Known(fit_to(model, type(dataset)(dataset.name, dataset.split, names, entries)), left_out)


def _class_of(name: str, model: TNet) -> int | None:
    """The one class that a name means, written in full or by the first of its synonyms; None if there is none."""
    for known in (model.class_names, [synonyms.partition(",")[0] for synonyms in model.class_names]):
        try:
            return match_classes([name], known, len(known))[0]
        except TNetError:  # unknown, or more than one
            continue
    return None


def listed(names: dict[str, int]) -> str:
    """'wren', 'robin', …"""
    few = ", ".join(f"'{name:.60}'" for name in list(names)[:_NAMED])
    return few + (", …" if len(names) > _NAMED else "")


def told(left_out: dict[str, int]) -> str:
    """One sentence about classes that were left out; empty if none was."""
    if not left_out:
        return ""
    images, several = sum(left_out.values()), len(left_out) > 1
    which = f"{len(left_out)} classes that the checkpoint does not know" if several else "a class that is not known"
    return f"Left out: {images} image{'s' * (images != 1)} of {which} ({listed(left_out)})."
