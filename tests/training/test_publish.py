"""`python -m training.publish`: what is uploaded, and the upload itself against a Hub on loopback.

The upload covers repository creation, validation of the card, preupload, the LFS batch with its basic
transfer and the commit. Xet storage, which the real Hub uses where `hf_xet` is installed, is not
spoken by the local server, so it is switched off here.
"""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard, constants
from PIL import Image

from tests.support.checkpoints import EVALUATION, NAMES, contents
from tests.support.hub import TOKEN, LocalHub
from tests.support.models import TINY_3L, tiny
from tnet_core.checkpoints import Registry, card_of, load, load_folder, save
from tnet_core.schemas.evaluation import parse_evaluation
from training.publish import main
from training.publishing.model_card import Details, make_metadata, select_results

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.checkpoint_fixtures"]
Output = pytest.CaptureFixture[str]

REPO = "someone/garden-birds"


@pytest.fixture
def writable(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> LocalHub:
    """The local Hub, with a token that may write."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    return hub


def _dry_run(checkpoint: Path, *options: str) -> Path:
    out = checkpoint.parent / "out"
    assert main([str(checkpoint), REPO, "--dry-run", str(out), *options]) == 0
    return out


def test_a_dry_run_writes_everything_and_asks_nobody(hub: LocalHub, checkpoint: Path, capsys: Output) -> None:
    (checkpoint / "optimizer.pt").write_bytes(b"not for others")
    out = _dry_run(checkpoint)
    assert set(contents(out)) == {
        "README.md",
        "accuracy_vs_locations.png",
        "config.json",
        "evaluation.json",
        "model.safetensors",
    }
    for name in ("config.json", "evaluation.json", "model.safetensors"):
        assert contents(out)[name] == contents(checkpoint)[name]
    assert load_folder(out).class_names == NAMES
    assert hub.requests == []
    assert "README.md" in capsys.readouterr().out


def test_a_card_of_three_levels_lists_only_budgets_that_differ() -> None:
    budgets = [(a, b) for a in range(3) for b in range(3)]
    rows = [{"budget": list(budget), "top1": 0.1 * sum(budget)} for budget in budgets]
    data = {"name": "birds", "split": "test", "size": 100}
    evaluation = parse_evaluation({"schema": 1, "dataset": data, "budgets": rows})
    listed = [result.budget for result in select_results(evaluation)]
    assert listed == [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    index = make_metadata(evaluation, Details("title"))["model-index"][0]["results"]
    assert [tuple(entry["dataset"]["args"]["budget"]) for entry in index] == listed


def test_the_card_has_the_metadata_the_hub_reads(checkpoint: Path) -> None:
    options = [
        "--base-model",
        "timm/tf_efficientnet_b0.in1k",
        "--dataset",
        "someone/garden",
        "--title",
        "Garden: birds",
    ]
    card = ModelCard.load(_dry_run(checkpoint, *options) / "README.md")
    assert card.data.library_name == "tnet-explorer"
    assert card.data.pipeline_tag == "image-classification"
    assert card.data.license == "apache-2.0"  # from the provenance
    assert card.data.datasets == ["someone/garden"]
    assert card.data.base_model == "timm/tf_efficientnet_b0.in1k"
    results = card.data.eval_results
    assert results is not None
    found = {(tuple(r.dataset_args["budget"]), r.metric_name): r.metric_value for r in results}
    assert found[(0,), "Top-1 accuracy, 0 attended locations"] == 0.61
    assert found[(1,), "Top-5 accuracy, 1 attended location"] == 0.97
    assert found[(3,), "Top-1 accuracy, 3 attended locations"] == 0.69
    assert {r.dataset_split for r in results} == {"test"}


def test_the_model_index_has_one_result_per_budget(checkpoint: Path) -> None:
    card = card_of(load_folder(checkpoint))
    index = make_metadata(card.evaluation, Details.from_card(card, "Birds"))["model-index"]
    assert [result["dataset"]["args"]["budget"] for result in index[0]["results"]] == [[0], [1], [3]]


def test_the_card_tells_people_how_to_use_it(checkpoint: Path) -> None:
    text = (_dry_run(checkpoint) / "README.md").read_text(encoding="utf-8")
    assert f'tn.load("hf:{REPO}")' in text
    assert "budget=(3,)" in text
    assert "Measured on Garden birds test, 120 images." in text
    assert "| 3 | 69.00 % |  | 0.04 |" in text
    assert "![Accuracy against attended locations](accuracy_vs_locations.png)" in text
    assert "recipe: birds.yaml" in text
    assert "- Weights: Apache-2.0" in text


def test_the_card_names_the_precision_of_numbers_that_are_not_of_float32(checkpoint: Path) -> None:
    path = checkpoint / "evaluation.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run": {"precision": "bfloat16"}}))
    text = (_dry_run(checkpoint) / "README.md").read_text(encoding="utf-8")
    assert "Measured on Garden birds test, 120 images, computed in bfloat16." in text


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", {"license": "mit"}),
        ("My terms", {"license": "other", "license_name": "My terms"}),
        ("", {"license": "unknown"}),
    ],
)
def test_licences_are_given_as_the_hub_knows_them(licence: str, expected: dict[str, str]) -> None:
    found = make_metadata(None, Details("x", licence=licence))
    assert {key: value for key, value in found.items() if key.startswith("license")} == expected


def test_a_missing_licence_is_announced(tmp_path: Path, own_caches: None, capsys: Output) -> None:
    folder = save(tiny(TINY_3L), tmp_path / "plain")
    out = _dry_run(folder)
    assert "no licence is stated" in capsys.readouterr().err
    assert set(contents(out)) == {"README.md", "config.json", "model.safetensors"}
    header = (out / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    assert "model-index" not in yaml.safe_load(header)


def test_the_picture_is_a_picture(checkpoint: Path) -> None:
    with Image.open(_dry_run(checkpoint) / "accuracy_vs_locations.png") as image:
        assert image.format == "PNG"
        assert image.size == (960, 600)
        colours = image.convert("RGB").getcolors(100_000)
    assert colours is not None
    assert {colour: count for count, colour in colours}[(31, 111, 180)] > 500  # the curve


@pytest.mark.parametrize(
    "budgets",
    [
        [{"budget": [], "top1": 0.5}],
        [{"budget": [25], "top1": 1.0}, {"budget": [0], "top1": 0.0}],
        [{"budget": [2, 1], "top1": 0.501}, {"budget": [1, 3], "top1": 0.502}],
    ],
    ids=["one point", "whole range", "three levels"],
)
def test_any_evaluation_can_be_drawn(checkpoint: Path, budgets: list[dict[str, object]]) -> None:
    (checkpoint / "evaluation.json").write_text(json.dumps(EVALUATION | {"budgets": budgets}))
    assert "accuracy_vs_locations.png" in contents(_dry_run(checkpoint))


def test_what_is_uploaded_is_what_the_dry_run_wrote(writable: LocalHub, checkpoint: Path) -> None:
    out = _dry_run(checkpoint)
    assert main([str(checkpoint), REPO]) == 0
    repository = writable.repositories[REPO]
    uploaded = dict(repository.commits[repository.head])
    del uploaded[".gitattributes"]
    assert uploaded == contents(out)
    assert not repository.private
    assert writable.asked("PUT", "") != []  # tensors and picture went through the storage for large files


def test_after_the_upload_the_printed_entry_works(
    writable: LocalHub, checkpoint: Path, tmp_path: Path, capsys: Output
) -> None:
    assert main([str(checkpoint), REPO, "--id", "birds", "--description", "All of the garden"]) == 0
    text = capsys.readouterr().out
    commit = writable.repositories[REPO].head
    registry = tmp_path / "published.yaml"
    registry.write_text(text)
    entry = Registry.load(registry).get("birds")
    assert entry.where == f"hf:{REPO}@{commit}"
    assert entry.description == "All of the garden"
    assert f"hub: {{repo: {REPO}, commit: {commit}}}" in text
    model = load("birds", registry=registry)
    assert model.class_names == NAMES
    assert card_of(model).verified


def test_publishing_again_changes_nothing_that_is_not_new(writable: LocalHub, checkpoint: Path) -> None:
    assert main([str(checkpoint), REPO]) == 0
    first = writable.repositories[REPO].head
    assert main([str(checkpoint), REPO, "--title", "Better"]) == 0
    commits = writable.repositories[REPO].commits
    second = writable.repositories[REPO].head
    changed = {name for name in commits[second] if commits[first][name] != commits[second][name]}
    assert changed == {"README.md"}


def test_private_means_private(writable: LocalHub, checkpoint: Path, capsys: Output) -> None:
    assert main([str(checkpoint), "someone/secret", "--private"]) == 0
    assert writable.repositories["someone/secret"].private
    assert main([str(checkpoint), REPO]) == 0
    before = writable.repositories[REPO].head
    assert main([str(checkpoint), REPO, "--private"]) == 2
    assert "exists and is public; publishing cannot hide it" in capsys.readouterr().err
    assert writable.repositories[REPO].head == before


def test_without_a_token_nothing_is_created(hub: LocalHub, checkpoint: Path, capsys: Output) -> None:
    assert main([str(checkpoint), REPO]) == 2
    assert "set HF_TOKEN" in capsys.readouterr().err
    assert hub.repositories == {}


def test_a_card_that_the_hub_rejects_stops_the_upload(writable: LocalHub, checkpoint: Path, capsys: Output) -> None:
    writable.validation_errors = ["license is odd"]
    assert main([str(checkpoint), REPO]) == 2
    assert "Invalid metadata in README.md" in capsys.readouterr().err
    repository = writable.repositories[REPO]
    assert set(repository.commits[repository.head]) == {".gitattributes"}


def test_an_unreachable_hub_is_one_sentence(checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert main([str(checkpoint), REPO]) == 2
    assert "cannot be reached" in capsys.readouterr().err
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main([str(checkpoint), REPO]) == 2
    assert "HF_HUB_OFFLINE forbids uploads" in capsys.readouterr().err


def test_bad_input_is_one_sentence(checkpoint: Path, tmp_path: Path, capsys: Output) -> None:
    assert main([str(checkpoint), "no-owner", "--dry-run", str(tmp_path / "x")]) == 2
    assert "'no-owner' is not a Hub repository" in capsys.readouterr().err
    assert main([str(tmp_path / "nowhere"), REPO, "--dry-run", str(tmp_path / "x")]) == 2
    assert "There is no checkpoint folder" in capsys.readouterr().err
    assert main([str(checkpoint), REPO, "--dry-run", str(checkpoint)]) == 2
    assert "is not empty" in capsys.readouterr().err
    (checkpoint / "evaluation.json").write_text("{}")
    assert main([str(checkpoint), REPO, "--dry-run", str(tmp_path / "y")]) == 2
    assert "evaluation.json' cannot be used" in capsys.readouterr().err


def test_a_dry_run_that_finds_no_room_leaves_nothing_half_written(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    (tmp_path / "mine").mkdir()
    for out in ("new", "mine"):
        assert main([str(checkpoint), "owner/name", "--dry-run", str(tmp_path / out)]) == 2
        assert "No space left" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "new").exists() and not list((tmp_path / "mine").iterdir())


def test_it_has_help(capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--dry-run OUT" in capsys.readouterr().out
