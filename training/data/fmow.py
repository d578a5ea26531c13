"""Functional Map of the World: `<split>/<class>/<class>_<n>/*_rgb.jpg`, each with a JSON file beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tnet_core.errors import TNetError
from tnet_core.schemas.files import read_bounded
from training.data.dataset import FileDataset, ImageFile, Which, choose_split, find_root, find_split_folder, select_side
from training.data.folders import list_images
from training.data.sample import Boxes
from training.recipes.recipe import DataSection

NAME = "fMoW"
# In the order of the data set's baseline: alphabetical, but for impoverished_settlement.
_NAMES = """
    airport airport_hangar airport_terminal amusement_park aquaculture archaeological_site barn border_checkpoint
    burial_site car_dealership construction_site crop_field dam debris_or_rubble educational_institution
    electric_substation factory_or_powerplant fire_station flooded_road fountain gas_station golf_course
    ground_transportation_station helipad hospital interchange lake_or_pond lighthouse military_facility
    multi-unit_residential nuclear_powerplant office_building oil_or_gas_facility park parking_lot_or_garage
    place_of_worship police_station port prison race_track railway_bridge recreational_facility
    impoverished_settlement road_bridge runway shipyard shopping_mall single-unit_residential smokestack solar_farm
    space_facility stadium storage_tank surface_mine swimming_pool toll_booth tower tunnel_opening waste_disposal
    water_treatment_facility wind_farm zoo"""
CLASSES = tuple(_NAMES.split())
NO_CLASS = "false_detection"  # boxes and folders of nothing; not among the 62 classes
MAX_ANNOTATION_BYTES = 16 << 20  # of the annotation of one image
SUFFIX = "_rgb.jpg"  # the other files are the same places in other bands


def open_fmow(data: DataSection, which: Which) -> FileDataset:
    """Open a split. Boxes come from the JSON files, read when an image is; `data.boxes` has no use here."""
    folder = find_split_folder(find_root(data), choose_split(data, which))
    entries = select_side(_list_images(folder), data, which)
    if data.crop_to_box:
        entries = [part for entry in entries for part in _split_by_box(entry)]
    return FileDataset(
        NAME,
        which,
        [name.replace("_", " ") for name in CLASSES],
        entries,
        shorter_side=data.shorter_side,
        crop_to_box=data.crop_to_box,
        read_boxes=read_boxes,
    )


def read_boxes(entry: ImageFile) -> Boxes:
    """Return the boxes in the JSON file beside an image."""
    found = list(_read_annotations(Path(entry.path)))
    return Boxes(tuple(box for _, box, _ in found), found[0][2] if found else None)


def _list_images(folder: Path) -> list[ImageFile]:
    found = list_images(folder, CLASSES, {}, all_needed=False, ignore=(NO_CLASS,), suffix=SUFFIX)
    # '<class>/<file stem>': the file's name already holds that of its folder
    return [ImageFile(e.path, e.label, f"{CLASSES[e.label]}/{e.name.rpartition('/')[2]}") for e in found]


def _split_by_box(entry: ImageFile) -> list[ImageFile]:
    """Return an entry per box, labelled with the box's own class."""
    made = [
        ImageFile(entry.path, CLASSES.index(name), f"{entry.name}#{i}" if i else entry.name, Boxes((box,), frame))
        for i, (name, box, frame) in enumerate(_read_annotations(Path(entry.path), CLASSES[entry.label]))
    ]
    if not made:
        raise TNetError(f"{Path(entry.path).with_suffix('.json')} gives no box to crop to.")
    return made


Annotation = tuple[str, tuple[float, float, float, float], tuple[float, float] | None]


def _read_annotations(image: Path, default: str = "") -> Iterator[Annotation]:
    """Yield class, box in pixels, and width and height of the image they refer to, for every box of a class."""
    path = image.with_suffix(".json")
    try:
        content = json.loads(read_bounded(path, MAX_ANNOTATION_BYTES))
        boxes = content["bounding_boxes"]
        frame = _read_frame(content)
        for box in [boxes] if isinstance(boxes, dict) else boxes:
            name = box.get("category", default)
            x, y, w, h = (float(value) for value in box["box"])
            if name != NO_CLASS and w > 0 and h > 0:
                if default and name not in CLASSES:
                    raise TNetError(f"{path} gives a box the class '{name}', which fMoW does not have.")
                yield name, (x, y, w, h), frame
    except TNetError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise TNetError(f"The annotation {path} must hold 'bounding_boxes', each with a 'box' of x, y, w, h.") from None


def _read_frame(content: dict[str, Any]) -> tuple[float, float] | None:
    """Return the size that boxes refer to; images may have been made smaller than the annotation says."""
    width, height = content.get("img_width"), content.get("img_height")
    return (float(width), float(height)) if width and height else None
