"""Which rows of the paper stand beside a model's numbers, and whether they are the same model's."""

from __future__ import annotations

import re
from dataclasses import dataclass

import tnet_core as tn
from tnet_core.checkpoints.card import card_of
from training.recipes.recipe import Recipe

_EXACT = {
    "imagenet:TNet": "imagenet-bagnet77",
    "imagenet:BagNet-77": "bagnet77",
    "fmow:TNet:448": "fmow-b0",
    "fmow:TNet:896": "fmow-b0-3l",
    "fmow:EfficientNet-B0:224:boxes": "fmow-en-b0-224",
}
# What makes two models the same: not how they are regularised, and not how many looks they were trained with.
_ARCHITECTURE = (
    "num_classes", "input_size", "base_resolution", "grid", "cell_fraction", "levels",
    "location", "positional", "weighting", "location_block", "location_rows",
)  # fmt: skip


@dataclass(frozen=True)
class Beside:
    """The paper's numbers beside ours."""

    selector: str = ""  # as `tnet_core.published.paper_rows` takes it; empty: none
    nearest: str = ""  # what sets the paper's model apart from ours; empty: it is the same one

    @property
    def heading(self) -> str:
        """What the paper's columns hold."""
        if self.nearest:
            return f"{self.selector}, nearest model of the paper ({self.nearest}, trained on other images)"
        return f"{self.selector}, its own data split and training"

    @property
    def column(self) -> str:
        return "nearest" if self.nearest else "paper"


def beside(model: tn.TNet, recipe: Recipe | None) -> Beside:
    """By the model's provenance, else by the recipe it is measured on."""
    told = card_of(model).provenance.get("paper")
    selector = told if isinstance(told, str) and told else recipe.paper if recipe is not None else ""
    return Beside(selector, difference(model.config, selector)) if selector else Beside()


def difference(config: tn.TNetConfig, selector: str) -> str:
    """'another backbone' or 'another architecture' than that of the paper's model; empty if it is the same."""
    name = preset_of(selector)
    if name is None:
        return "another architecture"
    papers = tn.preset(name)
    if (config.backbone, config.backbone_scale) != (papers.backbone, papers.backbone_scale):
        return "another backbone"
    same = all(getattr(config, field) == getattr(papers, field) for field in _ARCHITECTURE)
    return "" if same else "another architecture"


def preset_of(selector: str) -> str | None:
    """The preset of the paper's model that a selector names."""
    if selector.startswith("ablation:") and "Saccader" not in selector:
        return "imagenet-bagnet77"
    birds = re.fullmatch(r"(cub|nabirds):(TNet|EfficientNet)-B(\d)", selector)
    if birds:
        name = f"{birds[1]}-{'en-' if birds[2] == 'EfficientNet' else ''}b{birds[3]}"
    else:
        plain = re.fullmatch(r"fmow:EfficientNet-B0:(\d+)", selector)
        name = f"fmow-en-b0-{plain[1]}" if plain else _EXACT.get(selector, "")
    return name if name in tn.presets() else None
