"""A trace can be checked again, and a changed number is found and named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from safetensors.torch import load_file, save_file

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, picture, tiny
from tnet_core.__main__ import main
from tnet_core.inference.replay import replay


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(picture(150, 200, seed=6)).save(path)
    return path


@pytest.mark.parametrize(("config", "budget"), [(TINY, (4,)), (TINY_3L, (2, 2))])
@pytest.mark.parametrize("policy", ["learned", "random:4"])
@pytest.mark.parametrize("sampling", ["official", "native"])
def test_a_replay_of_the_same_passes(
    photo: Path, config: tn.TNetConfig, budget: tuple[int, ...], policy: str, sampling: str
) -> None:
    trace = tn.traverse(tiny(config), photo, budget=budget, policy=policy, sampling=sampling)
    again = replay(tn.Trace.from_json(trace.to_json()), tiny(config), photo)
    assert [look.path for look in again.locations] == [look.path for look in trace.locations]


def test_steered_traces_can_be_replayed(photo: Path) -> None:
    traversal = tn.Traversal(tiny(TINY_3L), photo, budget=(2, 1))
    traversal.attend(2, 8)
    traversal.attend(3, 4, parent=0)
    replay(tn.Trace.from_json(traversal.run().to_json()), tiny(TINY_3L), photo)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("features.body.conv_stem", "distributions"),
        ("location.output", "distributions"),
        ("positional.linear", "features"),
        ("classifier.linear", "projections"),
        ("weighting.output", "weights"),
    ],
)
def test_changed_weights_fail_and_the_first_number_is_named(photo: Path, name: str, number: str) -> None:
    trace = tn.Trace.from_json(tn.traverse(tiny(), photo, budget=(3,)).to_json())
    changed = tn.build(TINY)
    changed.load_state_dict(tiny().state_dict())
    changed.get_submodule(name).weight.data[0] += 0.5
    with pytest.raises(tn.TNetError, match=rf"The replay failed: {number}.* in the trace, but .* now"):
        replay(trace, changed, photo)


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (lambda d: d["locations"][1].update(rank=d["locations"][1]["rank"] % 9 + 1), r"locations\[1\]\.rank is"),
        (lambda d: d["locations"][2].update(lift=1.5), r"locations\[2\]\.lift is 1\.5 in the trace, but"),
        (lambda d: d["locations"][0].update(prob=0.9), r"locations\[0\]\.prob is 0\.9"),
        (
            lambda d: d["distributions"][0]["probabilities"][1].reverse(),
            r"distributions\[0\]\.probabilities\[1, 0\] is",
        ),
        (lambda d: d["pixels_read"].__setitem__(0, 1), r"pixels_read\[0\] is 1 in the trace"),
        (lambda d: d["image"].update(width=7), r"image\.width is 7 in the trace, but 200 now"),
        (lambda d: swap_weights(d, (0, 1, 3)), r"weights\(rows=\[0, 1, 3\]\)\[0\] is"),
        (lambda d: d["distributions"].pop(), "does not hold the grids"),
        (
            lambda d: d["class_names"].__setitem__(3, "elephant"),
            r"class_names\[3\] is 'elephant' in the trace, but 'd' now",
        ),
    ],
)
def test_a_tampered_trace_fails_and_the_number_is_named(
    photo: Path, tamper: Callable[[dict[str, Any]], Any], named: str
) -> None:
    model = tn.build(TINY_3L)
    model.load_state_dict(tiny(TINY_3L).state_dict())
    model.class_names = tuple("abcdefg")
    data = json.loads(tn.traverse(model, photo, budget=(2, 2)).to_json())
    replay(tn.Trace.from_json(json.dumps(data)), model, photo)
    tamper(data)
    with pytest.raises(tn.TNetError, match=f"The replay failed: .*{named}" if " " in named else f"failed: {named}"):
        replay(tn.Trace.from_json(json.dumps(data)), model, photo)


def swap_weights(data: dict[str, Any], rows: tuple[int, ...]) -> None:
    """Of one budget that is no prefix."""
    entry = next(entry for entry in data["weights"] if tuple(entry["rows"]) == rows)
    entry["weights"] = [0.25, 0.5, 0.25]


def test_a_picture_without_a_file_is_known_by_its_pixels(tmp_path: Path) -> None:
    pixels = picture(90, 120, seed=8)
    trace = tn.Trace.from_json(tn.traverse(tiny(), pixels, budget=(3,)).to_json())
    Image.fromarray(pixels).save(tmp_path / "same.png")
    replay(trace, tiny(), tmp_path / "same.png")
    Image.fromarray(pixels).save(tmp_path / "other.jpg")
    with pytest.raises(tn.TNetError, match="sha256 differs"):
        replay(trace, tiny(), tmp_path / "other.jpg")


def test_another_image_or_model_is_refused(photo: Path) -> None:
    trace = tn.traverse(tiny(), photo)
    with pytest.raises(tn.TNetError, match="sha256"):
        replay(trace, tiny(), picture())
    with pytest.raises(tn.TNetError, match="configuration differs"):
        replay(trace, tiny(TINY_3L), photo)


@pytest.mark.slow
def test_the_command_line_passes_and_fails(photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, other = str(tn.save(tiny(), tmp_path / "a")), str(tn.save(tiny(seed=2), tmp_path / "b"))
    out = str(tmp_path / "trace.json")
    assert main([str(photo), "--checkpoint", folder, "--json", out]) == 0
    assert main(["replay", out, "--image", str(photo), "--checkpoint", folder]) == 0
    assert "The replay passed: 3 looks" in capsys.readouterr().out
    assert main(["replay", out, "--image", str(photo), "--checkpoint", other]) == 2
    assert "error: The replay failed: distributions[0].logits[0, 0] is" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "none.json"), "--image", str(photo)]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["replay", out, "--image", str(photo)]) == 2
    assert "That is what the trace names; say with --checkpoint where it is." in capsys.readouterr().err


def test_one_changed_weight_of_a_saved_checkpoint_is_found(
    photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tn.save(tiny(), tmp_path / "mine"), str(tmp_path / "trace.json")
    command = ["replay", out, "--image", str(photo), "--checkpoint", str(folder)]
    assert main([str(photo), "--checkpoint", str(folder), "--json", out]) == 0
    assert main(command) == 0
    tensors = load_file(folder / "model.safetensors")
    tensors["classifier.linear.weight"][4, 0] += 1
    save_file(tensors, folder / "model.safetensors")
    capsys.readouterr()
    assert main(command) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"error: The replay failed: projections\[0, 4\] is \S+ in the trace, but \S+ now\.\n", said)


@pytest.mark.slow
def test_untrained_weights_of_a_preset_can_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, pixels = tn.build(tn.preset("lite0-cub"), seed=0), picture(90, 120)
    Image.fromarray(pixels).save(tmp_path / "same.png")
    (tmp_path / "trace.json").write_text(tn.traverse(model, pixels, budget=(1,)).to_json())
    command = ["replay", str(tmp_path / "trace.json"), "--image", str(tmp_path / "same.png")]
    assert main([*command, "--preset", "lite0-cub"]) == 0
    assert "The replay passed: 1 looks" in capsys.readouterr().out
    assert main(command) == 2
    assert "is neither a registry id nor a folder" in capsys.readouterr().err
