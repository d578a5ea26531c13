"""`python -m training.evaluate` as a user runs it."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

import cv2
import pytest
import yaml

import tnet_core as tn
from tests.support.checkpoints import EVALUATION, entry_fields, write_registry
from tests.support.evaluation import NAMES, PLAIN, THREE, TWO, Canvases, varied
from tests.support.processes import run_ranks
from tnet_core.schemas.evaluation import read_evaluation
from training.evaluate import main, open_data
from training.evaluation import compare
from training.evaluation.plan import Options
from training.evaluation.run import evaluate

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
QUICK = ["--workers", "0", "--resamples", "100", "--draws", "2", "--budget", "3", "--device", "cpu"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    boxes = ["file,x,y,w,h,width,height"]
    canvases = Canvases()
    for index in range(len(canvases)):
        sample = canvases[index]
        folder = f"{sample.label + 1:03}.{NAMES[sample.label].title()}"
        (root / "test" / folder).mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(root / "test" / folder / f"image{index}.png"), sample.image[:, :, ::-1])
        height, width = sample.image.shape[:2]
        boxes.append(f"{folder}/image{index}.png,10,10,40,30,{width},{height}")
    (root / "boxes.csv").write_text("\n".join(boxes) + "\n")
    (root / "other.csv").write_text(f"{boxes[0]}\nelsewhere/image.png,10,10,40,30,100,100\n")
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tn.save(varied(TWO), tmp_path / "model", provenance={"paper": "cub:TNet-B0"})


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments] + QUICK)


def test_a_folder_of_class_folders_gives_an_evaluation_beside_the_checkpoint(
    folder: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, data, "--split", "test", "--boxes", data / "boxes.csv") == 0
    found = read_evaluation(folder)
    expected = evaluate(varied(TWO), Canvases(), Options(budget=3, workers=0, resamples=100, draws=2))
    assert [result.top1 for result in found.results] == [entry["top1"] for entry in expected["budgets"]]
    assert (found.dataset, found.split, found.size) == (data.name, "test", 28)
    assert found.raw["attention"]["images_with_boxes"] == 28
    assert found.raw["paper"] == "cub:TNet-B0" and found.raw["paper_same_model"] is False
    assert tn.load(folder).card.evaluation.size == 28  # type: ignore[union-attr]
    shown = capsys.readouterr()
    assert "87.66" in shown.out and "oracle" in shown.out and "evaluation.json" in shown.err
    # another backbone, so the paper's numbers are for orientation
    assert "nearest: cub:TNet-B0, nearest model of the paper (another backbone, trained on other images)" in shown.out
    command = found.raw["run"]["command"]
    assert command.startswith("python -m training.evaluate model") and str(data) not in json.dumps(found.raw)


def test_names_that_are_no_utf8_are_measured_and_stored(folder: Path, data: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff odd\n")
    shutil.copytree(data / "test", tmp_path / odd)
    for path in (tmp_path / odd).glob("*/*.png"):
        path.rename(path.with_name(odd + path.name))
    out = tmp_path / f"{odd}.json"
    assert run(folder, tmp_path / odd, "--policies", "learned", "--out", out) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["dataset"]["split"] == "odd" and "\\xff odd" in found["run"]["command"]
    assert "\\xff odd" in found["typical"]["most"][0]["name"]


def test_the_precision_that_was_asked_for_is_measured_and_recorded(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TNET_ENGINE", raising=False)
    if tn.optimised(varied(TWO), precision="bfloat16").features.precision != "bfloat16":
        pytest.skip("this processor has no bfloat16")
    assert run(folder, data, "--split", "test", "--policies", "learned", "--precision", "bfloat16") == 0
    assert read_evaluation(folder).raw["run"]["precision"] == "bfloat16"
    assert ", computed in bfloat16\n" in capsys.readouterr().out
    assert run(folder, data, "--split", "test", "--policies", "learned") == 0
    assert read_evaluation(folder).raw["run"]["precision"] == "float32"
    assert "computed in" not in capsys.readouterr().out


def test_an_earlier_evaluation_is_replaced_with_a_notice_and_out_leaves_it_alone(
    folder: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, data / "test", "--policies", "learned", "--limit", 7) == 0
    assert run(folder, data / "test", "--policies", "learned", "--limit", 14) == 0
    assert "is replaced" in capsys.readouterr().err
    assert (
        run(folder, data / "test", "--policies", "learned", "--out", tmp_path / "other.json", "--format", "json") == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert read_evaluation(folder).size == 14
    assert printed == json.loads((tmp_path / "other.json").read_text()) and printed["dataset"]["size"] == 28


def test_a_file_that_is_no_evaluation_is_not_replaced_and_any_name_will_do(
    folder: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    given = (folder, data / "test", "--policies", "learned", "--limit", 7)
    assert run(*given, "--out", tmp_path / "notes.txt") == 2
    assert "holds something else than an evaluation" in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "mine"
    longest = tmp_path / ("x" * 250 + ".json")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))  # as a full disk, which is noticed by trying
        assert run(*given, "--out", longest) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
    for _ in range(2):  # an evaluation is replaced, whatever its name
        assert run(*given, "--out", longest) == 0
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["notes.txt", longest.name]


@pytest.fixture
def pinned(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkpoint's folder, in a registry that pins its files under the id 'birds'."""
    (folder / "evaluation.json").write_text(json.dumps(EVALUATION))
    registry = write_registry(tmp_path / "own.yaml", entry_fields(folder))
    registry.write_text(f"# a note\n{registry.read_text()}")
    monkeypatch.setenv("TNET_REGISTRY", str(registry))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return folder


def test_an_evaluation_leaves_a_folder_that_a_registry_pins_as_it_is(
    pinned: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(pinned, data / "test", "--policies", "learned", "--limit", 7) == 0
    assert "Written to 'birds.evaluation.json'" in capsys.readouterr().err
    assert json.loads(Path("birds.evaluation.json").read_text())["dataset"]["size"] == 7
    for out in (pinned, pinned / "evaluation.json", pinned / "other.json"):
        assert run(pinned, data / "test", "--out", out) == 2
        assert "pinned by 'own.yaml' as 'birds'" in capsys.readouterr().err
    assert tn.load("birds").card.evaluation.size == 120  # type: ignore[union-attr]


def test_update_changes_nothing_where_the_registry_cannot_be_written(
    pinned: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "own.yaml").open() as registry:  # no file can be made beside this name of it
        monkeypatch.setenv("TNET_REGISTRY", f"/proc/self/fd/{registry.fileno()}")
        before = (pinned / "evaluation.json").read_bytes()
        assert run("birds", data / "test", "--policies", "learned", "--update") == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("The registry '/proc/self/fd/") and "cannot be written" in said
    assert (pinned / "evaluation.json").read_bytes() == before


@pytest.mark.parametrize("first", [True, False], ids=["replaces", "adds"])
def test_update_replaces_the_evaluation_and_its_hash_in_the_registry(
    pinned: Path, data: Path, first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = Path(os.environ["TNET_REGISTRY"])
    if not first:
        (pinned / "evaluation.json").unlink()
        write_registry(registry, entry_fields(pinned))
        registry.write_text(f"# a note\n{registry.read_text()}")
    assert run("birds", data / "test", "--policies", "learned", "--limit", 7, "--update") == 0
    assert tn.load("birds").card.evaluation.size == 7  # type: ignore[union-attr]
    assert registry.read_text().startswith("# a note\n")
    assert run(pinned, data / "test", "--policies", "learned", "--limit", 14, "--update") == 0
    assert tn.load("birds").card.evaluation.size == 14  # type: ignore[union-attr]
    assert len(yaml.safe_load(registry.read_text())["checkpoints"][0]["files"]) == 3
    capsys.readouterr()
    assert run(pinned, data / "test", "--update", "--out", "x.json") == 2
    unpinned = pinned.parent / "free"
    tn.save(varied(TWO), unpinned)
    assert run(unpinned, data / "test", "--update") == 2
    assert "pins, and" in capsys.readouterr().err.splitlines()[-1]


def test_recommend_writes_temperature_and_rule_into_the_configuration(
    pinned: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = (data / "test", "--policies", "learned", "--limit", 14, "--recommend", "--no-timing", "--no-equivariance")
    before = (pinned / "config.json").read_bytes()
    assert run(pinned, *command) == 2  # pinned, and nobody said that it may change
    assert "add --update" in capsys.readouterr().err and (pinned / "config.json").read_bytes() == before
    assert run("birds", *command, "--update") == 0
    assert "recommends: temperature" in capsys.readouterr().err
    model = tn.load("birds")  # whose hashes fit
    content = json.loads((pinned / "evaluation.json").read_text())
    rule = content["stopping"]["rule"]
    assert model.stopping == tn.StoppingRule(rule["least"], rule["most"], rule["threshold"])
    assert model.calibration is not None and model.calibration.temperature == content["calibration"]["temperature"]
    free = pinned.parent / "free"
    tn.save(varied(TWO), free)
    assert run(free, *command, "--out", "elsewhere.json") == 0
    assert tn.load(free).stopping == model.stopping and not (free / "evaluation.json").exists()


def test_where_the_result_goes_is_tried_before_measuring(
    folder: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("training.evaluate.evaluate", lambda *_, **__: pytest.fail("measured"))
    os.mkfifo(tmp_path / "pipe")
    for out in ("/proc/result.json", tmp_path / "pipe", tmp_path / f"{'x' * 300}.json"):
        assert run(folder, data / "test", "--out", out) == 2
        assert "cannot be" in capsys.readouterr().err


def test_a_folder_without_splits_is_recorded_by_its_name_or_as_asked(folder: Path, data: Path) -> None:
    quick = ["--policies", "learned", "--limit", 7]
    assert run(folder, data / "test", *quick) == 0
    assert (read_evaluation(folder).dataset, read_evaluation(folder).split) == ("test", "test")
    assert run(folder, data / "test", "--split-name", "held out", *quick) == 0
    assert read_evaluation(folder).split == "held out"


def test_what_was_measured_is_shown_even_if_it_cannot_be_written(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_trial = Path.write_bytes

    def fill(path: Path, content: bytes) -> int:
        """There is room for the trial of the place, and none left after measuring."""
        if any(content):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_trial(path, content)

    monkeypatch.setattr(Path, "write_bytes", fill)
    assert run(folder, data / "test", "--policies", "learned", "--limit", 7) == 2
    shown = capsys.readouterr()
    assert "top-1" in shown.out and "No space left on device" in shown.err.splitlines()[-1]
    assert not (folder / "evaluation.json").exists()


def test_what_was_measured_is_written_even_if_it_cannot_be_shown(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(*_: object) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(sys.stdout, "write", closed)
    assert run(folder, data / "test", "--policies", "learned", "--limit", 7) == 0
    assert "cannot be shown (Broken pipe)" in capsys.readouterr().err
    assert read_evaluation(folder).size == 7


def test_a_recipe_names_its_data(folder: Path, data: Path, tmp_path: Path) -> None:
    config = {key: value for key, value in TWO.to_dict().items() if key != "name"}
    recipe = {"data": {"kind": "folder", "root": str(data), "validation": "test"}, "model": {"config": config}}
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps(recipe))
    (data / "train").exists() or (data / "train").symlink_to(data / "test", target_is_directory=True)
    assert run(folder, path, "--policies", "learned") == 0
    assert read_evaluation(folder).size == 28
    assert run(folder, data, "--recipe", path, "--policies", "learned", "--limit", 7) == 0
    assert read_evaluation(folder).size == 7


def test_drawn_canvases_have_no_other_split_than_their_two(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {key: value for key, value in TWO.to_dict().items() if key != "name"}
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps({"data": {"kind": "needles"}, "model": {"config": config}}))
    assert run(folder, path, "--split", "dev") == 2
    assert "'train' and 'validation' only, not 'dev'" in capsys.readouterr().err


def test_canvases_are_those_of_the_seed_that_the_checkpoint_was_trained_with(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    needles = {"canvas": 256, "glyph": 16, "classes": 3, "train_size": 4, "validation_size": 2}
    config = {key: value for key, value in TWO.to_dict().items() if key != "name"} | {"num_classes": 3}
    path.write_text(json.dumps({"data": {"kind": "needles", "needles": needles}, "model": {"config": config}}))
    drawn = {seed: open_data(str(path), None, None, None, seed=seed) for seed in (None, 0, 1)}
    images = {seed: opened.dataset[0].image for seed, opened in drawn.items()}
    assert (images[None] == images[0]).all() and not (images[0] == images[1]).all()
    assert drawn[1].about == "Canvases of seed 1, that of the training."
    assert drawn[None].about == "Canvases of seed 0, that of own."


def test_an_unreadable_image_is_named_or_counted(
    folder: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NAMES:
        (tmp_path / "mixed" / name).mkdir(parents=True)
        cv2.imwrite(str(tmp_path / "mixed" / name / "fine.png"), Canvases()[0].image)
    (tmp_path / "mixed" / "coral" / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    assert run(folder, tmp_path / "mixed") == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "broken.jpg" in said and "Traceback" not in said
    assert not (folder / "evaluation.json").exists()
    assert run(folder, tmp_path / "mixed", "--skip-unreadable") == 0
    found = read_evaluation(folder)
    assert found.size == 7 and found.raw["dataset"]["unreadable"]["count"] == 1
    assert str(tmp_path) not in json.dumps(found.raw) and "broken.jpg" in json.dumps(found.raw)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{folder}", "{data}"], "--split"),
        (["{folder}", "{data}/nowhere"], "nowhere"),
        (["{folder}"], "folder of class folders"),
        (["{data}/absent", "{data}/test"], "absent' is neither a registry id nor a folder"),
        (["{folder}", "{data}", "--split", "tset"], "no sub-folder 'tset' (it has test"),
        (["{folder}", "{data}/test", "--split", "test"], "--split-name test"),
        (["{folder}", "{data}", "--split", "../{data.name}/test"], "no sub-folder"),
        (["{folder}", "{data}/nowhere", "--split", "test"], "nowhere"),
        (["{folder}", "cub-b0", "--split-name", "dev"], "--split-name"),
        (["{folder}", "{data}/test", "--boxes", "{data}/no.csv"], "no.csv"),
        (["{folder}", "{data}/test", "--boxes", "{data}/other.csv"], "names none of the images"),
        (["{folder}", "{data}/test", "--policies", "learned,best"], "best"),
        (["{folder}", "{data}/test", "--out", "{data}/no/such/place.json"], "place.json"),
        (["{folder}", "{data}/test", "--limit", "0"], "limit"),
        (["{folder}", "no-such-recipe.yaml"], "no-such-recipe"),
    ],
)
def test_mistakes_are_one_sentence(
    folder: Path, data: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*(argument.format(folder=folder, data=data) for argument in arguments)) == 2
    error = capsys.readouterr().err.strip()
    assert said in error and len(error.splitlines()) == 1
    assert not (folder / "evaluation.json").exists()


def test_wrong_class_count_is_one_sentence(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nameless = tn.save(varied(TWO), tmp_path / "nameless", class_names=())
    (tmp_path / "few" / "one").mkdir(parents=True)
    cv2.imwrite(str(tmp_path / "few" / "one" / "a.png"), Canvases()[0].image)
    assert run(nameless, tmp_path / "few") == 2
    assert "1 classes" in capsys.readouterr().err


def test_an_interrupted_run_writes_nothing(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "evaluation.json").write_text("earlier")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("training.evaluate.ProgressBar.update", stop)
    assert run(folder, data / "test") == 130
    assert "nothing was written" in capsys.readouterr().err
    assert (folder / "evaluation.json").read_text() == "earlier"
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "evaluation.json", "model.safetensors"]


def test_two_checkpoints_are_compared_image_by_image(
    folder: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tn.save(varied(PLAIN), tmp_path / "plain")
    assert run(folder, data / "test", "--policies", "learned") == run(plain, data / "test") == 0
    capsys.readouterr()
    assert compare.main([f"{folder}:2", str(plain)]) == 0
    first, second = read_evaluation(folder).results[2].top1, read_evaluation(plain).results[0].top1
    line = capsys.readouterr().out
    assert line.startswith(f"{100 * first:.2f} % against {100 * second:.2f} % on 28 images")
    assert compare.main([f"{folder}:9", str(plain)]) == 2
    assert compare.main([str(folder), str(tmp_path / "nothing")]) == 2


def test_two_processes_measure_what_one_does(data: Path, tmp_path: Path) -> None:
    folder = tn.save(varied(THREE), tmp_path / "model")
    arguments = [str(folder), str(data / "test"), "--limit", "9", *QUICK, "--budget", "2,2", "--no-timing", "--out"]
    assert main([*arguments, str(tmp_path / "one.json")]) == 0
    command = ("-m", "training.evaluate", *arguments, str(tmp_path / "two.json"))
    ended = run_ranks(*command, cwd=ROOT, env=os.environ, folder=tmp_path, timeout=300)
    assert [rank.returncode for rank in ended] == [0, 0], ended
    one, two = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "two"))
    assert two["run"]["machine"]["processes"] == 2 and one["run"]["machine"]["processes"] == 1

    def compared(content: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in content.items() if key != "run"}

    assert set(one) == set(two)
    for key in ("dataset", "budgets", "comparisons", "stopping", "per_image", "attention", "typical", "equivariance"):
        assert compared(two)[key] == compared(one)[key], key
