"""The classes of pretrained weights: their names, and which of them an image's label means."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from timm.data import ImageNetInfo, infer_imagenet_subset
from timm.models import PretrainedCfg

from tnet_core.errors import TNetError
from training.data.folders import readable_names
from training.evaluation.classes import match_classes

_NUMBERED = re.compile(r"[\s_-]+\d+$")


@dataclass(frozen=True)
class Classes:
    names: tuple[str, ...] = ()  # all different, in the order of the classifier; empty: unknown
    ids: tuple[str, ...] = ()  # WordNet ids, where the weights have them

    def label_of(self, text: str) -> int:
        """The class that a folder's name means: a WordNet id or a name, whatever its case and separators."""
        if text in self.ids:
            return self.ids.index(text)
        if not self.names:
            raise TNetError("It is not known which classes these weights tell apart, so --labels cannot be used.")
        return match_classes([text], self.names, len(self.names))[0]

    def label_of_file(self, stem: str) -> int:
        """… and a file's: '<WordNet id>_anything' or '<class name>_<number>'."""
        first = stem.partition("_")[0]
        return self.label_of(first if first in self.ids else _NUMBERED.sub("", stem))


def classes_of(about: PretrainedCfg) -> Classes:
    """From what timm knows about its weights."""
    if about.label_names:
        return Classes(_distinct(list(about.label_names), list(about.label_names)))
    subset = infer_imagenet_subset(about.to_dict())
    if subset is None:
        return Classes()
    info = ImageNetInfo(subset)
    ids = tuple(info.label_names())
    if subset == "imagenet-1k":
        return Classes(readable_names(ids), ids)
    return Classes(_distinct([text.partition(",")[0] for text in info.label_descriptions()], ids), ids)


def _distinct(names: list[str], ids: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """With the id, or else the number, of the class where a name occurs more than once."""
    with_ids = _told_apart(names, ids)
    return with_ids if len(set(with_ids)) == len(names) else _told_apart(names, [str(i) for i in range(len(names))])


def _told_apart(names: list[str], marks: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    often = Counter(names)
    return tuple(name if often[name] == 1 else f"{name} ({mark})" for name, mark in zip(names, marks, strict=True))
