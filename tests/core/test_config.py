"""Configurations: presets, validation and their JSON form."""

from __future__ import annotations

import dataclasses
import json

import pytest

import tnet_core as tn
from tnet_core.sampling.grid import divide_officially


def test_the_named_presets_exist() -> None:
    names = set(tn.presets())
    expected = {"imagenet-bagnet77", "bagnet77", "fmow-b0", "fmow-b0-3l"}
    expected |= {f"fmow-en-b0-{side}" for side in (224, 448, 896)}
    expected |= {f"{data}-{kind}b{i}" for data in ("cub", "nabirds") for kind in ("", "en-") for i in range(5)}
    assert expected <= names
    assert {"lite0-cub", "lite0-imagenet", "lite1-cub", "lite2-cub", "lite0-pets", "lite0-pets-en-160"} <= names


def test_an_unknown_preset_is_named_with_the_known_ones() -> None:
    with pytest.raises(tn.TNetError, match=r"no preset 'cub-b9'.*cub-b0"):
        tn.preset("cub-b9")


@pytest.mark.parametrize("name", tn.presets())
def test_presets_survive_json(name: str) -> None:
    config = tn.preset(name)
    assert tn.TNetConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": 1}, "'grid' is 1"),
        ({"grid": 5.0}, "'grid' is 5.0, but must be a whole number"),
        ({"levels": 0}, "'levels' is 0"),
        ({"cell_fraction": 1.0}, "'cell_fraction' is 1.0"),
        ({"cell_fraction": float("nan")}, "'cell_fraction'"),
        ({"num_classes": 0}, "'num_classes' is 0"),
        ({"num_classes": True}, "'num_classes'"),
        ({"budget": (5, 5)}, "'budget' has 2 entries, but 2 levels need 1"),
        ({"budget": (26,)}, "must lie in 0…25"),
        ({"budget": [5]}, "'budget'"),
        ({"sampling": "bicubic"}, "'sampling'"),
        ({"backbone": 7}, "'backbone'"),
        ({"std": (0.5, 0.0, 0.5)}, r"'std\[1\]' is 0.0, but must be more than 0"),
        ({"location_rows": (1, 2, 3, 4, 5)}, "both 'location_block' and 'location_rows'"),
        ({"location_block": "b", "location_rows": (1, 2, 3, 4, 4)}, "5 increasing row numbers"),
        ({"location": "none"}, "A baseline"),
        ({"dropout": 1.5}, "'dropout'"),
        ({"dropout": 10**400}, "'dropout'"),
    ],
)
def test_impossible_values_are_refused_by_name(changes: dict, message: str) -> None:
    with pytest.raises(tn.TNetError, match=message):
        dataclasses.replace(tn.TNetConfig(), **changes)


def test_unknown_fields_are_refused_by_name() -> None:
    with pytest.raises(tn.TNetError, match=r"Unknown field.*colour"):
        tn.TNetConfig.from_dict({"colour": "blue"})
    with pytest.raises(tn.TNetError, match="must be a mapping"):
        tn.TNetConfig.from_dict([1, 2])


@pytest.mark.parametrize(
    ("side", "n", "fraction", "cell", "stride", "pads", "starts"),
    [
        (224, 5, 0.34375, 77, 37, (1, 0), (-1, 36, 73, 110, 147)),
        (448, 5, 0.35, 157, 73, (1, 0), (-1, 72, 145, 218, 291)),
        (448, 3, 0.5, 224, 112, (0, 0), (0, 112, 224)),
        (896, 3, 0.5, 448, 224, (0, 0), (0, 224, 448)),
        (448, 5, 5 / 14, 160, 72, (0, 0), (0, 72, 144, 216, 288)),
    ],
)
def test_candidate_grid_has_the_official_geometry(
    side: int, n: int, fraction: float, cell: int, stride: int, pads: tuple[int, int], starts: tuple[int, ...]
) -> None:
    axis = divide_officially(side, n, fraction)
    assert (axis.cell, axis.stride, (axis.pad_before, axis.pad_after), axis.starts) == (cell, stride, pads, starts)
