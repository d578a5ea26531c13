"""Named configurations: every model of the paper, its baselines, and our own variants."""

from __future__ import annotations

from dataclasses import replace

from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig

_TF_MOMENTUM = 0.01  # Keras momentum 0.99

_IMAGENET = TNetConfig(
    backbone="bagnet77", num_classes=1000, input_size=224, base_resolution=77, grid=5, cell_fraction=0.34375,
    budget=(3,), location="context", positional="concat", weighting=False,
    location_block="part4", location_rows=(0, 2, 4, 6, 8), dropout=0.5, dropout_at="features",
)  # fmt: skip
_FMOW = TNetConfig(
    backbone="tf_efficientnet_b0", num_classes=62, input_size=448, grid=3, cell_fraction=0.5, budget=(2,),
    weighting=False, location_block="blocks.3.2", location_rows=(2, 6, 10),
    dropout=0.5, drop_path=0.3, bn_momentum=_TF_MOMENTUM,
)  # fmt: skip
_BIRDS = TNetConfig(dropout=0.75, drop_path=0.5, bn_momentum=_TF_MOMENTUM)
# Cells of 5/14 on 448 px are exactly 160 px: no padding and no resampling at base resolution 160.
_LITE = TNetConfig(
    backbone="tf_efficientnet_lite0", num_classes=200, base_resolution=160, cell_fraction=5 / 14,
    positional="additive", bn_momentum=_TF_MOMENTUM,
)  # fmt: skip


def baseline_of(config: TNetConfig, resolution: int, **changes: object) -> TNetConfig:
    """Return the plain classifier with the same backbone, on whole images of the given side."""
    plain: dict[str, object] = {
        "input_size": resolution, "base_resolution": resolution, "levels": 1, "budget": (),
        "location": "none", "positional": "none", "weighting": False,
        "location_block": None, "location_rows": None,
    }  # fmt: skip
    return replace(config, **(plain | changes))  # type: ignore[arg-type]


def _all_presets() -> dict[str, TNetConfig]:
    table = {
        "imagenet-bagnet77": _IMAGENET,
        "bagnet77": baseline_of(_IMAGENET, 224, dropout=0.625),
        "fmow-b0": _FMOW,
        "fmow-b0-3l": replace(_FMOW, input_size=896, levels=3, budget=(2, 1), drop_path=0.5),
    }
    for side, dropout, drop_path in ((224, 0.75, 0.5), (448, 0.75, 0.3), (896, 0.3, 0.2)):
        table[f"fmow-en-b0-{side}"] = baseline_of(_FMOW, side, dropout=dropout, drop_path=drop_path)
    for data, classes in (("cub", 200), ("nabirds", 555)):
        for i in range(5):
            few = data == "nabirds" and i >= 3  # trained with 3 looks instead of 5
            birds = replace(_BIRDS, backbone=f"tf_efficientnet_b{i}", num_classes=classes, budget=(3,) if few else (5,))
            table[f"{data}-b{i}"] = birds
            table[f"{data}-en-b{i}"] = baseline_of(birds, 448)
    for i in range(3):
        lite = replace(_LITE, backbone=f"tf_efficientnet_lite{i}")
        table[f"lite{i}-cub"] = lite
        table[f"lite{i}-imagenet"] = replace(lite, num_classes=1000)
        table[f"lite{i}-cub-en-160"] = baseline_of(lite, 160)
        table[f"lite{i}-cub-en-448"] = baseline_of(lite, 448)
        pets = replace(lite, num_classes=37)
        table[f"lite{i}-pets"] = pets
        table[f"lite{i}-pets-en-160"] = baseline_of(pets, 160)
        table[f"lite{i}-pets-en-448"] = baseline_of(pets, 448)
    table["lite0-3l"] = replace(_LITE, input_size=896, grid=3, cell_fraction=0.5, levels=3, budget=(2, 1))
    return {name: replace(config, name=name) for name, config in table.items()}


_PRESETS = _all_presets()


def presets() -> list[str]:
    """Return the names `preset` knows, in a stable order."""
    return list(_PRESETS)


def preset(name: str) -> TNetConfig:
    """Return the configuration of a named model."""
    try:
        return _PRESETS[name]
    except (KeyError, TypeError):
        raise TNetError(f"There is no preset {name!r}; known are: {', '.join(_PRESETS)}.") from None
