"""What users of the library meet: short texts, many images, tensors in and out, tables, and clear refusals."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, tiny

PICTURE = np.random.default_rng(3).integers(0, 256, (70, 90, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def trace() -> tn.Trace:
    return tn.traverse(tiny(TINY_3L), PICTURE, budget=(3, 1))


def test_what_is_printed_fits_on_a_line(trace: tn.Trace) -> None:
    best = trace.prediction
    assert repr(trace).startswith("Trace('untrained', 90 x 70 pixels, 6 looks: 'class ")
    assert f"class {best}' {100 * trace.probabilities()[best]:.1f} %)" in repr(trace)
    look = trace.locations[3]
    assert f"Location(level 3, cell {look.index} inside look 0, rank 1, box (" in repr(look)
    assert repr(trace.distributions[0]).startswith("Distribution(3 x 3 cells of the thumbnail, first cell ")
    assert repr(tn.ImageSource.open(PICTURE)) == "<ArraySource of 90 x 70 pixels>"
    for shown in (trace, look, trace.distributions[0], tn.preset("cub-b0")):
        assert len(repr(shown)) < 350 and "\n" not in repr(shown)


def test_a_configuration_is_printed_as_one_would_write_it() -> None:
    config = replace(TINY, num_classes=9)
    assert eval(repr(config), {"TNetConfig": tn.TNetConfig}) == config
    assert repr(tn.TNetConfig()) == "TNetConfig()"


def test_many_images_give_one_trace_after_another(tmp_path: Path) -> None:
    model = tiny(TINY)
    path = tmp_path / "picture.png"
    cv2.imwrite(str(path), PICTURE[:, :, ::-1])
    opened: list[int] = []

    def images() -> object:
        for number, image in enumerate((path, PICTURE, "nowhere.png")):
            opened.append(number)
            yield image

    traces = tn.traverse_many(model, images(), budget=2, progress=False)  # type: ignore[arg-type]
    assert opened == []
    first = next(traces)
    assert opened == [0] and len(first.locations) == 2
    np.testing.assert_array_equal(first.logits(), next(traces).logits())
    with pytest.raises(tn.TNetError, match=r"^Image 3: There is no file 'nowhere\.png'"):
        next(traces)
    one = (path, str(path), PICTURE, torch.from_numpy(PICTURE), tn.ImageSource.open(PICTURE), None, 7)
    for given in one:  # an array would be taken for as many images as it has rows
        with pytest.raises(tn.TNetError, match="for one use traverse"):
            tn.traverse_many(model, given)  # type: ignore[arg-type]
    assert len(list(tn.traverse_many(model, np.stack([PICTURE, PICTURE]), progress=False))) == 2


def test_a_transformed_picture_is_what_the_model_takes() -> None:
    model = tiny(TINY)
    to_tensor = tn.transform(model.config)
    batch = torch.stack([to_tensor(PICTURE), to_tensor(PICTURE[:, ::-1])])
    assert batch.shape == (2, 3, TINY.input_size, TINY.input_size) and batch.abs().max() <= 1
    with torch.inference_mode():
        logits = model(batch, 2).numpy()
    expected = tn.traverse(model, PICTURE, budget=2, sampling="official").logits()
    np.testing.assert_allclose(logits[0], expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(tn.TNetError, match="TNetConfig"):
        tn.transform("cub-b0")  # type: ignore[arg-type]


def test_tensors_are_images() -> None:
    expected = tn.ImageSource.open(PICTURE).sha256
    planes = torch.from_numpy(PICTURE).permute(2, 0, 1)
    for tensor in (planes, planes.float() / 255, torch.from_numpy(PICTURE)):
        assert tn.ImageSource.open(tensor).sha256 == expected
    with pytest.raises(tn.TNetError, match=r"\(3, H, W\), not \(1, 3, 70, 90\); give images one by one"):
        tn.ImageSource.open(planes[None])
    with pytest.raises(tn.TNetError):
        tn.ImageSource.open(planes.float() / 127.5 - 1)


def test_a_trace_is_a_table(trace: tn.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = trace.to_frame()
    assert len(frame) == 7 and frame.index.name == "look"
    assert frame["level"].tolist() == [1, 2, 2, 2, 3, 3, 3] and frame["parent"].tolist()[4:] == [1, 2, 3]
    assert frame["weight"].sum() == pytest.approx(1, abs=1e-5)
    total = frame["share"].sum() + trace.contributions(trace.prediction).bias
    assert total == pytest.approx(float(trace.logits()[trace.prediction]), abs=1e-4)
    assert frame["share"].tolist() != trace.to_frame(cls=(trace.prediction + 1) % 7)["share"].tolist()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(tn.TNetError, match="needs pandas, which is not installed"):
        trace.to_frame()


def test_an_id_is_not_a_model() -> None:
    with pytest.raises(tn.TNetError, match=r"not str; tn\.load\('tnet-lite0-cub'\) gives one"):
        tn.traverse("tnet-lite0-cub", PICTURE)  # type: ignore[arg-type]
    for call in (lambda: tn.optimised(None), lambda: tn.Traversal(None, PICTURE), lambda: tn.traverse_many(7, [])):  # type: ignore[arg-type]
        with pytest.raises(tn.TNetError, match="A model is needed, such as"):
            call()


def test_what_is_no_model_and_no_trace_cannot_be_resumed(trace: tn.Trace) -> None:
    with pytest.raises(tn.TNetError, match="A model is needed, such as"):
        tn.resume("tnet-lite0-cub", PICTURE, trace)  # type: ignore[arg-type]
    with pytest.raises(tn.TNetError, match="is resumed from a Trace, not from str"):
        tn.resume(tiny(TINY), PICTURE, "trace.json")  # type: ignore[arg-type]


def test_what_is_no_trace_no_model_and_no_repository_is_one_sentence(trace: tn.Trace, tmp_path: Path) -> None:
    for text in (None, 7, tmp_path / "trace.json"):
        with pytest.raises(tn.TNetError, match="A trace is read from the text that to_json makes"):
            tn.Trace.from_json(text)  # type: ignore[arg-type]
    for model in ("tnet-lite0-cub", None):
        with pytest.raises(tn.TNetError, match="A model is needed, such as"):
            trace.attach(model, PICTURE)  # type: ignore[arg-type]
        with pytest.raises(tn.TNetError, match="A model is needed, such as"):
            tn.TNet.save_pretrained(model, tmp_path / "folder")  # type: ignore[arg-type]
    for repository in (None, 7, "birds"):
        with pytest.raises(tn.TNetError, match="is not a Hub repository: write it as owner/name"):
            tiny(TINY).push_to_hub(repository)  # type: ignore[arg-type]
    assert not (tmp_path / "folder").exists()


def test_the_name_of_weights_is_not_a_backbone() -> None:
    with pytest.raises(tn.TNetError, match=r"the backbone is 'resnet18', .*'init\.tag'.*a1_in1k"):
        tn.build(tn.TNetConfig(backbone="resnet18.a1_in1k"))


@pytest.mark.parametrize("image", ["https://example.org/a.jpg", Path("https://example.org/a.jpg"), "s3://bucket/a.jpg"])
def test_an_address_is_not_a_file(image: object) -> None:
    with pytest.raises(tn.TNetError, match="is an address; download the picture"):
        tn.ImageSource.open(image)


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(tn.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("seed", ["x", 1.5, None, True, 2**70])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(tn.TNetError, match="A seed is a whole number of at most 64 bits, not"):
        tn.build(TINY, seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("folder", [None, 7, "a\0b"])
def test_what_is_no_folder_is_not_saved_into(folder: object) -> None:
    with pytest.raises(tn.TNetError, match=r"saved in a folder|null"):
        tn.save(tiny(TINY), folder)  # type: ignore[arg-type]
