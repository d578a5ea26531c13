"""A complete run as a data set of FiftyOne on disk: `tnet traverse … --fiftyone OUT`, then

    fiftyone.Dataset.from_dir(OUT, dataset_type=fiftyone.types.FiftyOneDataset)

    OUT/metadata.json    the data set: its fields, classes, and what was run
    OUT/samples.json     a sample per image, with a detection per look

That is FiftyOne's own format, MongoDB's documents as JSON; its package needs a running MongoDB to write it. The files
are those of the version below; later ones bring them up to date when they are imported. Images stay where they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from tnet_core.batch.files import ImageList
from tnet_core.batch.shards import IMAGES, LOOKS, Run, find_table
from tnet_core.batch.tables import import_parquet
from tnet_core.errors import TNetError, reason
from tnet_core.schemas.files import check_new_folder, read_json, temporary_folder

VERSION = "0.23.8"  # of FiftyOne
METADATA_FILE, SAMPLES_FILE = "metadata.json", "samples.json"
_FIELDS, _LABELS = "fiftyone.core.fields.", "fiftyone.core.labels."
_CLASSIFICATION = {"id": "ObjectId", "tags": "List", "label": "String", "confidence": "Float", "logits": "Vector"}
_LOOK = {  # what a detection has beside FiftyOne's own fields: columns of the table of looks
    "look": "Int", "level": "Int", "cell": "Int", "parent": "Int", "rank": "Int", "logit": "Float", "lift": "Float",
    "weight": "Float", "contribution": "Float", "true_contribution": "Float", "predicted": "String",
    "probability": "Float",
}  # fmt: skip
_DETECTION = {
    "id": "ObjectId", "attributes": "Dict", "tags": "List", "label": "String", "bounding_box": "List",
    "mask": "Array", "confidence": "Float", "index": "Int",
} | _LOOK  # fmt: skip
_METADATA = {"size_bytes": "Int", "mime_type": "String", "width": "Int", "height": "Int", "num_channels": "Int"}


def check_place(out: Path, run: Run) -> bool:
    """Return whether this run's data set is there already; refuse a place where something else is."""
    try:
        if (out / METADATA_FILE).is_file():
            found = read_json(out / METADATA_FILE, 1 << 24)
            if isinstance(found, dict) and run.compare(found.get("info", {}).get("run")) == []:
                return True
    except OSError as error:
        raise TNetError(f"Cannot write '{out}': {reason(error)}.") from None
    check_new_folder(out, "--fiftyone")
    return False


def write_dataset(out: Path, tables: Path, run: Run, found: ImageList, classes: tuple[str, ...]) -> int:
    """Write a complete run's tables as a data set, in one step; return how many images FiftyOne cannot name."""
    left_out = 0
    with temporary_folder(out) as temporary:
        with (temporary / SAMPLES_FILE).open("w", encoding="ascii") as file:
            file.write('{"samples": [')
            separator = "\n"
            for image, looks in _read_rows(tables, run):
                path = str((found.root / found.images[image["image"]].name).absolute())
                if not _is_text(path):
                    left_out += 1
                    continue
                file.write(separator + json.dumps(make_sample(path, image, looks, run), allow_nan=False))
                separator = ",\n"
            file.write("\n]}\n")
        (temporary / METADATA_FILE).write_text(json.dumps(make_metadata(out, run, classes), indent=1), encoding="ascii")
        if not check_place(out, run):  # another process of the same run may have been quicker
            temporary.rename(out)
    return left_out


def make_sample(path: str, image: dict[str, Any], looks: list[dict[str, Any]], run: Run) -> dict[str, Any]:
    """Return the sample of one image: its classes as classifications, its looks as detections."""
    number = image["image"]
    thumbnail = looks[0] if looks else {}
    return {
        "_id": _make_id(run, number),
        "filepath": path,
        "tags": [],
        "metadata": {"_cls": "ImageMetadata", "width": image["width"], "height": image["height"]} if looks else None,
        "_media_type": "image",
        "_rand": int(_make_id(run, number)["$oid"][:8], 16) / (1 << 32),
        "ground_truth": _classify(run, number, "truth", image["label"], None),
        "prediction": _classify(run, number, "prediction", image["predicted"], image["probability"]),
        "thumbnail_prediction": _classify(
            run, number, "thumbnail", thumbnail.get("predicted"), thumbnail.get("probability")
        ),
        "correct": image["correct"],
        "thumbnail_weight": thumbnail.get("weight"),
        "thumbnail_contribution": thumbnail.get("contribution"),
        "error": image["error"],
        "looks": {
            "_cls": "Detections",
            "detections": [_detect(run, number, look) for look in looks[1:]],
        },
    }


def _detect(run: Run, number: int, look: dict[str, Any]) -> dict[str, Any]:
    x0, y0, x1, y1 = (look[name] for name in ("x0", "y0", "x1", "y1"))
    return {
        "_id": _make_id(run, number, look["look"]),
        "_cls": "Detection",
        "attributes": {},
        "tags": [],
        "label": f"look {look['look']}",
        "bounding_box": [x0, y0, x1 - x0, y1 - y0],  # shares of width and height, as FiftyOne has them
        "mask": None,
        "confidence": None,
        "index": None,
    } | {name: look[name] for name in _LOOK}


def _classify(run: Run, number: int, what: str, label: str | None, confidence: float | None) -> dict[str, Any] | None:
    if label is None:
        return None
    identity = _make_id(run, number, what)
    return {"_id": identity, "_cls": "Classification", "tags": [], "label": label, "confidence": confidence,
            "logits": None}  # fmt: skip


def make_metadata(out: Path, run: Run, classes: tuple[str, ...]) -> dict[str, Any]:
    """Return the document that describes the data set and its fields."""
    sample_fields = [
        _field("id", "ObjectId", db_field="_id"),
        _field("filepath", "String"),
        _field("tags", "List", subfield=_FIELDS + "StringField"),
        _document("metadata", "fiftyone.core.metadata.ImageMetadata", _METADATA),
        *(
            _document(name, _LABELS + "Classification", _CLASSIFICATION)
            for name in ("ground_truth", "prediction", "thumbnail_prediction")
        ),
        _field("correct", "Boolean"),
        _field("thumbnail_weight", "Float"),
        _field("thumbnail_contribution", "Float"),
        _field("error", "String"),
        _document("looks", _LABELS + "Detections", {}) | {"fields": [_list_of_detections()]},
    ]
    return {
        "name": out.name,
        "version": VERSION,
        "persistent": False,
        "media_type": "image",
        "group_media_types": {},
        "tags": [],
        "info": {"run": asdict(run)},
        "app_config": {"media_fields": ["filepath"], "grid_media_field": "filepath",
                       "modal_media_field": "filepath", "plugins": {}},
        "classes": {name: list(classes) for name in ("ground_truth", "prediction") if classes},
        "default_classes": list(classes),
        "mask_targets": {},
        "default_mask_targets": {},
        "skeletons": {},
        "sample_fields": sample_fields,
        "frame_fields": [],
        "saved_views": [],
        "workspaces": [],
        "annotation_runs": {},
        "brain_methods": {},
        "evaluations": {},
        "runs": {},
    }  # fmt: skip


def _list_of_detections() -> dict[str, Any]:
    one = _document("detections", _LABELS + "Detection", _DETECTION)
    return one | {"ftype": _FIELDS + "ListField", "subfield": _FIELDS + "EmbeddedDocumentField"}


def _document(name: str, kind: str, fields: dict[str, str]) -> dict[str, Any]:
    inside = [_field(each, ftype, db_field="_id" if each == "id" else each) for each, ftype in fields.items()]
    for field in inside:
        if field["ftype"] == _FIELDS + "ListField":
            field["subfield"] = _FIELDS + ("FloatField" if field["name"] == "bounding_box" else "StringField")
    return _field(name, "EmbeddedDocument") | {"embedded_doc_type": kind, "fields": inside}


def _field(name: str, kind: str, db_field: str | None = None, subfield: str | None = None) -> dict[str, Any]:
    return {"name": name, "ftype": f"{_FIELDS}{kind}Field", "embedded_doc_type": None, "subfield": subfield,
            "fields": [], "db_field": db_field or name, "description": None, "info": None}  # fmt: skip


def _make_id(run: Run, *place: object) -> dict[str, str]:
    """Return an identity that a repeated run gives again."""
    return {"$oid": hashlib.sha256(repr((run.images_sha256, run.weights_sha256, *place)).encode()).hexdigest()[:24]}


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _read_rows(tables: Path, run: Run) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the row of every image with those of its looks, a shard at a time."""
    parquet = import_parquet()
    for shard in range(run.shards):
        looks = parquet.read_table(find_table(tables, LOOKS, shard)).to_pylist()
        by_image = {number: list(rows) for number, rows in groupby(looks, lambda row: row["image"])}
        for image in parquet.read_table(find_table(tables, IMAGES, shard)).to_pylist():
            yield image, by_image.get(image["image"], [])
