"""A FiftyOne data set on disk: what FiftyOne documents of its format, and the numbers of the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY_3L, picture, tiny
from tnet_core.batch import __main__ as command

pytestmark = pytest.mark.slow
FIELD_KEYS = {"name", "ftype", "embedded_doc_type", "subfield", "fields", "db_field", "description", "info"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven images, one of which is none, in two shards, traversed once."""
    folder = tmp_path_factory.mktemp("fiftyone")
    model = tiny(TINY_3L)
    before, model.class_names = model.class_names, ("ash", *"bcdefg"[: model.config.num_classes - 1])
    tn.save(model, folder / "model")
    model.class_names = before
    for number in range(6):
        to = folder / "photographs" / ("ash" if number % 2 else "elm")
        to.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture(90, 70 + number, seed=number)).save(to / f"line\n{number}.png")
    (folder / "photographs" / "ash" / "torn.jpg").write_bytes(b"\xff\xd8\xff nothing")
    assert traverse(folder) == 0
    return folder


def traverse(folder: Path, *more: object) -> int:
    arguments = [folder / "photographs", "--out", folder / "looks.parquet", "--checkpoint", folder / "model"]
    return command.main([*map(str, arguments), "--fiftyone", str(folder / "dataset"), "--shard", "4", *map(str, more)])


def read(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "dataset" / name).read_text(encoding="utf-8"))
    return found


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    paths = sorted((folder / "looks.parquet" / table).glob("*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def test_the_metadata_declares_every_field_that_samples_have(place: Path) -> None:
    about = read(place, "metadata.json")
    assert re.fullmatch(r"\d+\.\d+\.\d+", about["version"]) and about["media_type"] == "image"
    assert about["default_classes"][0] == "ash" and about["info"]["run"]["images"] == 7
    fields = {field["db_field"]: field for field in about["sample_fields"]}
    assert {"_id", "filepath", "tags", "metadata"} <= set(fields)  # those that every data set has

    def check(declared: dict[str, dict[str, Any]], value: dict[str, Any]) -> None:
        for key, inside in value.items():
            if key in ("_cls", "_media_type", "_rand"):
                continue
            field = declared[key]
            assert set(field) == FIELD_KEYS
            kind = field["ftype"].removeprefix("fiftyone.core.fields.").removesuffix("Field")
            if inside is None:
                continue
            if kind == "EmbeddedDocument":
                assert inside["_cls"] == field["embedded_doc_type"].rpartition(".")[2]
                check({each["db_field"]: each for each in field["fields"]}, inside)
            elif kind == "List" and field["embedded_doc_type"]:
                for one in inside:
                    assert one["_cls"] == field["embedded_doc_type"].rpartition(".")[2]
                    check({each["db_field"]: each for each in field["fields"]}, one)
            else:
                types = {"String": str, "Float": float, "Int": int, "Boolean": bool, "List": list, "Dict": dict}
                assert re.fullmatch("[0-9a-f]{24}", inside["$oid"]) if kind == "ObjectId" else (
                    type(inside) is types[kind]
                ), (key, inside)  # fmt: skip

    samples = read(place, "samples.json")["samples"]
    for sample in samples:
        check(fields, sample)
    assert len(samples) == 7


def test_samples_hold_the_numbers_of_the_tables(place: Path) -> None:
    samples, images, looks = read(place, "samples.json")["samples"], rows(place, "images"), rows(place, "looks")
    for sample, image in zip(samples, images, strict=True):
        own = [look for look in looks if look["image"] == image["image"]]
        assert sample["filepath"] == str(place / "photographs" / image["file"]) and Path(sample["filepath"]).is_file()
        assert sample["ground_truth"]["label"] == image["label"] and sample["error"] == image["error"]
        if image["error"]:
            assert sample["prediction"] is None and sample["looks"]["detections"] == []
            continue
        assert sample["prediction"]["label"] == image["predicted"]
        assert sample["prediction"]["confidence"] == image["probability"]
        assert sample["correct"] == image["correct"]
        assert sample["thumbnail_contribution"] == own[0]["contribution"]
        found = sample["looks"]["detections"]
        assert [one["label"] for one in found] == [f"look {look['look']}" for look in own[1:]]
        for one, look in zip(found, own[1:], strict=True):
            x, y, width, height = one["bounding_box"]
            assert (x, y) == (look["x0"], look["y0"])
            assert (x + width, y + height) == pytest.approx((look["x1"], look["y1"]))
            assert 0 <= x <= 1 and 0 <= y <= 1 and 0 < width <= 1 and 0 < height <= 1
            for name in ("weight", "contribution", "true_contribution", "level", "cell", "predicted", "probability"):
                assert one[name] == look[name], name
    identities = [sample["_id"]["$oid"] for sample in samples]
    identities += [one["_id"]["$oid"] for sample in samples for one in sample["looks"]["detections"]]
    assert len(set(identities)) == len(identities)


def test_a_repeated_run_leaves_it_and_other_things_are_not_overwritten(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    assert traverse(place) == 0
    assert "FiftyOneDataset" in capsys.readouterr().out
    (place / "dataset" / "diary.txt").write_text("mine")
    assert traverse(place) == 0
    (place / "dataset" / "diary.txt").unlink()
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.name != "dataset"} == {
        path: time for path, time in before.items() if path.name != "dataset"
    }
    arguments = [place / "photographs", "--out", tmp_path / "t", "--checkpoint", place / "model", "--budget", "1,1"]
    capsys.readouterr()
    assert command.main([*map(str, arguments), "--fiftyone", str(place / "dataset")]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not (tmp_path / "t").exists()
