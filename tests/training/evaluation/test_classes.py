"""Classes of a data set among those of a checkpoint."""

from __future__ import annotations

import pytest

from tests.support.evaluation import NAMES, TWO, Canvases, varied
from tnet_core.errors import TNetError
from training.data.birds import name_cub_classes
from training.evaluation.classes import fit_to, match_classes, simplify_name

FOLDERS = ("001.Black_footed_Albatross", "013.Bobolink", "159.Black_and_white_Warbler")


def test_both_spellings_of_bird_classes_are_found() -> None:
    shown = name_cub_classes(FOLDERS)
    assert shown[0] == "Black-footed Albatross"
    assert match_classes(FOLDERS, shown, 3) == match_classes(shown, FOLDERS, 3) == [0, 1, 2]
    assert match_classes(FOLDERS[::-1], shown, 3) == [2, 1, 0]
    assert match_classes(["black footed albatross"], shown, 3) == [0]


def test_numbers_that_are_the_name_stay() -> None:
    assert [simplify_name(name) for name in ("0", "10", "7 of 9", "3-4")] == ["0", "10", "of 9", "3 4"]
    assert match_classes(["0", "10"], ["10", "0"], 2) == [1, 0]


def test_an_exact_name_wins_over_a_similar_one() -> None:
    assert match_classes(["a_b"], ["a b", "a_b"], 2) == [1]
    with pytest.raises(TNetError, match="any of 2"):
        match_classes(["A-B"], ["a b", "a_b"], 2)


def test_unknown_classes_are_named_with_advice() -> None:
    with pytest.raises(TNetError, match=r"'train', 'val' \(2 of 2 in the data\).*--split"):
        match_classes(["train", "val"], ["cat", "dog"], 2)
    with pytest.raises(TNetError, match=r"'bird' \(1 of 3 in the data\) is not a class.*'cat'"):
        match_classes(["cat", "dog", "bird"], ["cat", "dog"], 2)


def test_two_folders_cannot_be_one_class() -> None:
    with pytest.raises(TNetError, match="Two classes"):
        match_classes(["1.cat", "2.cat"], ["cat", "dog"], 2)


def test_without_names_or_on_request_the_order_counts() -> None:
    assert match_classes(["x", "y"], [], 2) == match_classes(["x", "y"], ["cat", "dog"], 2, "order") == [0, 1]
    with pytest.raises(TNetError, match="3 classes, but the checkpoint, which does not name its classes, has 2"):
        match_classes(["x", "y", "z"], [], 2)


def test_a_data_set_gets_the_labels_of_the_model() -> None:
    class Turned(Canvases):
        class_names = NAMES[::-1]

    fitted = fit_to(varied(TWO), Turned(7))
    assert fitted.labels == [6, 5, 4, 3, 2, 1, 0]
    assert fitted[2].label == 4 and fitted.class_names == NAMES and len(fitted) == 7
    same = Canvases()
    assert fit_to(varied(TWO), same) is same
