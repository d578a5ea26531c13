"""The named endpoints as a program uses them: through `gradio_client`, against the page behind its gate."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError, ValidationError
from PIL import Image

import tnet_core as tn
from pages.explore.service import Explorer
from pages.limits import largest_budget
from pages.your_data.service import RESAMPLES
from tests.support.checkpoints import NAMES, save_birds_and_pictures
from tests.support.model_caches import build_model_cache
from tests.support.models import TINY_3L, picture, tiny
from tests.support.same import assert_same
from tests.support.served_site import served
from tests.support.zips import zipped
from tests.training.data_files import class_folders
from training.data.folders import open_folder
from training.evaluation.classes import fit_to
from training.evaluation.plan import Options
from training.evaluation.run import collect, evaluate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints, a picture and a file that is none."""
    folder = save_birds_and_pictures(tmp_path_factory.mktemp("api"))
    tn.save(tiny(TINY_3L), folder / "deep")
    return folder


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[Client]:
    cache = build_model_cache()
    for name in ("deep", "birds"):  # the last one is opened first
        cache.add(str(place / name), on_notice=lambda _: None)
    with served(Explorer(cache)) as address:
        yield Client(address, verbose=False, analytics_enabled=False, httpx_kwargs={"trust_env": False})


@pytest.fixture(scope="module")
def birds(place: Path) -> tn.TNet:
    return tn.load(str(place / "birds"), device="cpu")


def test_traverse_tells_what_the_core_computes(client: Client, place: Path, birds: tn.TNet) -> None:
    image = place / "wren.png"
    for budget, given in (((3,), None), ((2,), 2), ((0,), [0])):
        answer = client.predict(handle_file(image), budget=given, api_name="/traverse")
        expected = tn.traverse(birds, image, budget=budget)
        assert answer["prediction"] == NAMES[expected.prediction]
        chances = expected.probabilities()
        assert answer["probabilities"] == pytest.approx({name: chances[i] for i, name in enumerate(NAMES)}, abs=1e-6)
        assert answer["weights"] == pytest.approx(expected.weights().tolist(), abs=1e-6)
        assert answer["cost"]["flops"] == expected.cost().flops
        assert answer["cost"]["coverage"] == {"2": expected.coverage()[2]}
        read = tn.Trace.from_json(json.dumps(answer["trace"]))
        assert [look.index for look in read.locations] == [look.index for look in expected.locations]
        assert read.logits() == pytest.approx(expected.logits(), abs=1e-5)
        assert read.image.sha256 == expected.image.sha256


def test_the_budget_curve_has_every_budget_of_the_page(client: Client, place: Path) -> None:
    deep = tn.load(str(place / "deep"), device="cpu")
    expected = tn.traverse(deep, place / "wren.png", budget=largest_budget(deep.config))
    rows = client.predict(handle_file(place / "wren.png"), str(place / "deep"), api_name="/budget_curve")
    assert [tuple(row["budget"]) for row in rows] == list(expected.budgets())
    for row in rows:
        chances = expected.probabilities(budget=row["budget"])
        assert row["prediction"] == expected.class_name(int(chances.argmax()))
        assert row["probability"] == pytest.approx(chances.max(), abs=1e-5)
        assert row["looks"] == len(expected.select(budget=row["budget"]))
        assert row["flops"] == expected.cost(budget=row["budget"]).flops


def test_contributions_are_exact_shares(client: Client, place: Path, birds: tn.TNet) -> None:
    image, expected = handle_file(place / "wren.png"), tn.traverse(birds, place / "wren.png", budget=(2,))
    asked: list[tuple[Any, Any]] = [(None, None), (1, None), ("Great Tit", "wren")]
    for cls, versus in asked:
        answer = client.predict(image, None, cls, versus, 2, api_name="/contributions")
        target = expected.prediction if cls is None else {1: 1, "Great Tit": 2}[cls]
        shares = expected.contributions(target, None if versus is None else 0)
        assert (answer["class"], answer["versus"]) == (NAMES[target], versus)
        assert [share["share"] for share in answer["shares"]] == pytest.approx(shares.values.tolist(), abs=1e-5)
        assert [share["look"] for share in answer["shares"]] == [None, 0, 1]
        assert answer["shares"][2]["box"] == pytest.approx(expected.locations[1].box)
        assert sum(share["share"] for share in answer["shares"]) + answer["bias"] == pytest.approx(answer["total"])
        assert answer["total"] == pytest.approx(shares.total, abs=1e-5)
        for measure in ("probability", "logit"):
            left = tn.explain.leave_one_out(expected, target, None if versus is None else 0, measure=measure)
            assert [share["without"][measure] for share in answer["shares"]] == pytest.approx(left.without, abs=1e-5)
    nothing = client.predict(image, None, None, None, 0, api_name="/contributions")
    assert [share["without"] for share in nothing["shares"]] == [None]  # nothing would remain


def test_a_cancelled_evaluation_ends_and_the_next_one_runs(
    client: Client, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = zipped(class_folders(place / "many", classes=NAMES[:2], images=20), place / "many.zip")
    begun, reached = threading.Event(), []

    def slowly(model: Any, data: Any, plan: Any, options: Any, progress: Any) -> Any:
        def tell(what: str, done: int, total: int) -> None:
            reached.append((done, total))
            begun.set()
            time.sleep(0.3)
            progress(what, done, total)

        return collect(model, data, plan, options, tell)

    monkeypatch.setattr("pages.your_data.service.collect", slowly)
    job = client.submit(handle_file(file), None, 3, 40, [], api_name="/evaluate")
    assert begun.wait(30)
    job.cancel()
    monkeypatch.undo()
    answer = client.predict(handle_file(file), None, 1, 4, [], api_name="/evaluate")  # waits for the end of the first
    assert answer["evaluation"]["dataset"]["size"] == 4
    seen = len(reached)
    time.sleep(0.8)
    assert len(reached) == seen and reached[-1][0] < reached[-1][1] == 40


def test_evaluate_gives_what_the_command_writes(client: Client, place: Path, birds: tn.TNet) -> None:
    data = class_folders(place / "garden", ("dodo", "wren", "007.Great_Tit"))
    file = zipped(data, place / "garden.zip")
    answer = client.predict(handle_file(file), None, 3, 6, ["random"], api_name="/evaluate")
    assert answer["notices"] == [
        "Left out: 4 images of a class that is not known ('dodo').",
        "Measured on 6 of 8 images, evenly spread over the classes.",
    ]
    options = Options(budget=3, policies=("learned", "random"), limit=6, resamples=RESAMPLES, workers=0,
                      equivariance=False, timing=False, batch_size=2)  # fmt: skip
    shutil.rmtree(data / "dodo")
    expected = evaluate(birds, fit_to(birds, open_folder(data)), options)
    for part in ("budgets", "policies", "stopping", "heat_map", "per_image", "intervals"):
        assert_same(answer["evaluation"][part], json.loads(json.dumps(expected[part])), part)
    assert answer["evaluation"]["dataset"] == expected["dataset"] | {"split": "uploaded"}
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((handle_file(place / "wren.png"),), "This is not a zip file, or it is damaged."),
        ((handle_file(file), None, 26), "The largest number of looks is 26, but must lie in 1…25."),
        ((handle_file(file), None, 3, 201), "The number of images is 201, but must lie in 1…200."),
        ((handle_file(file), None, 3, 5, ["best"]), "There is no policy 'best'; known are "),
        (("garden.zip",), "The data must be an uploaded file"),
    ]
    for arguments, sentence in wrong:
        with pytest.raises(AppError) as raised:
            client.predict(*arguments, api_name="/evaluate")
        assert str(raised.value).startswith(sentence), arguments


def test_looks_can_be_cut_from_the_pictures_own_pixels(client: Client, place: Path, birds: tn.TNet) -> None:
    image = place / "large.png"
    Image.fromarray(picture(700, 1000, seed=3)).save(image)
    asked: list[tuple[Any, Any, Any]] = [
        (None, "native", None), (2, "native", None), ([3, 1, 1, 1], "native", "auto"), (2, "official", None),
    ]  # fmt: skip
    for budget, sampling, levels in asked:
        answer = client.predict(handle_file(image), None, budget, sampling, levels, api_name="/traverse")
        expected = tn.traverse(birds, image, budget=budget, sampling=sampling, levels=levels)
        assert answer["sampling"] == answer["trace"]["sampling"] == sampling
        assert [look["path"] for look in answer["trace"]["locations"]] == [list(k.path) for k in expected.locations]
        assert answer["trace"]["budget"] == list(expected.budget)
        read = tn.Trace.from_json(json.dumps(answer["trace"]))
        assert read.logits() == pytest.approx(expected.logits(), abs=1e-4)
    # levels that no budget names take the page's looks, never more than it has room for
    deep = client.predict(handle_file(image), sampling="native", levels="auto", api_name="/traverse")
    assert deep["trace"]["budget"] == [3, 3, 1, 1] and len(deep["trace"]["locations"]) == 30
    rows = client.predict(handle_file(image), sampling="native", levels="auto", api_name="/budget_curve")
    assert rows[-1]["looks"] <= 40 and len({tuple(row["budget"]) for row in rows}) == len(rows)
    shares = client.predict(
        handle_file(image), None, None, None, 2, sampling="native", api_name="/contributions"
    )  # fmt: skip
    assert shares["sampling"] == "native"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"sampling": "nativ"}, "Looks are cut by 'official' or 'native' sampling, not by 'nativ'."),
        ({"sampling": 3}, "Looks are cut by 'official' or 'native' sampling, not by 3."),
        ({"sampling": "native", "levels": 4}, "Levels are those of training or 'auto', not 4."),
        ({"levels": "auto"}, "More levels than in training need 'native' sampling"),
        ({"sampling": "native", "levels": "auto", "budget": [3, 3, 3, 3]}, "A budget of 120 looks is too large here"),
        (
            {"sampling": "native", "levels": "auto", "budget": [1] * 9},
            "A budget of 9 entries is longer than the 5 levels",
        ),
    ]
    for arguments, sentence in wrong:
        with pytest.raises(AppError) as raised:
            client.predict(handle_file(image), **arguments, api_name="/traverse")
        assert str(raised.value).startswith(sentence), arguments


def test_wrong_arguments_get_one_sentence(client: Client, place: Path) -> None:
    image = handle_file(place / "wren.png")
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((image, "nowhere"), "The checkpoint 'nowhere' is not offered here; "),
        ((image, str(place / "birds" / "..")), "' is not offered here; "),
        ((image, 3), "A checkpoint is named by its id."),
        ((image, None, 10), "A budget of 10 looks is not possible: a 3x3 grid has 9 cells (0…9)."),
        ((image, None, [1, 1]), "A budget of 2 entries does not fit 2 levels"),
        ((image, None, "1"), "A budget must be a list of whole numbers, not '1'."),
        ((image, None, {"a": 1}), "A budget"),
        ((image, str(place / "deep"), [9, 9]), "A budget of 90 looks is too large here; at most 40 are taken."),
        ((handle_file(place / "note.txt"),), "'note.txt' is not an image in a format we read"),
        (("wren.png",), "The image must be an uploaded file: give handle_file(PATH) of gradio_client."),
        ((None,), "The image must be an uploaded file"),
    ]
    for arguments, sentence in wrong:
        with pytest.raises(AppError) as raised:
            client.predict(*arguments, api_name="/traverse")
        assert sentence in str(raised.value) and "\n" not in str(raised.value), arguments
    for cls in ("pelican", 3, -1, [], 1.5):
        with pytest.raises(AppError, match="class"):
            client.predict(image, cls=cls, api_name="/contributions")


def test_no_address_and_no_file_of_the_server_is_opened(client: Client, place: Path) -> None:
    for address in ("http://127.0.0.1:9/x.png", "https://example.com/x.png"):
        with pytest.raises(ValidationError, match="Only an uploaded file can be opened"):
            client.predict(handle_file(address), api_name="/traverse")
        raw = {"path": str(place / "wren.png"), "url": address}  # without its mark the client sends it as it is
        with pytest.raises(ValidationError, match="Only an uploaded file can be opened"):
            client.predict(raw, api_name="/traverse")


def test_functions_of_the_page_cannot_be_called_by_name(client: Client) -> None:
    named = [found["api_name"] for found in client.config["dependencies"] if found["api_visibility"] == "private"]
    assert "on_load" in named
    for name in named:
        with pytest.raises(ValueError, match="Cannot find a function"):
            client.predict(api_name=f"/{name}")
    offered = client.view_api(return_format="dict", print_info=False)
    assert set(offered["named_endpoints"]) == {"/traverse", "/budget_curve", "/contributions", "/evaluate"}
    assert offered["unnamed_endpoints"] == {}
