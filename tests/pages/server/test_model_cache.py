"""The cache of checkpoints: what is offered, what opens first, and what is said about the rest."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tnet_core as tn
from pages.server.model_cache import UNTRAINED, ModelCache
from tests.support.checkpoints import CONFIG, NAMES, contents, entry_fields, write_registry
from tests.support.evaluation import PLAIN
from tests.support.hub import LocalHub
from tnet_core.checkpoints import Registry, card_of, save

pytest_plugins = ["tests.support.checkpoint_fixtures"]

SMALL = "lite0-cub"


def cache(*entries: dict[str, object], beside: Path) -> ModelCache:
    path = write_registry(beside.parent / "mine.yaml", *entries)
    return ModelCache(Registry.load(path, shipped=None), fallback=SMALL, device="cpu")


def specs(found: ModelCache) -> list[str]:
    return [choice.spec for choice in found.choices]


def test_the_first_checkpoint_of_the_registry_is_opened_once(checkpoint: Path) -> None:
    found = cache(entry_fields(checkpoint), entry_fields(checkpoint, id="more", title="More"), beside=checkpoint)
    assert found.open_first() == "birds"
    model = found.open("birds")
    assert model.class_names == NAMES
    assert card_of(model).title == "Birds of the garden"
    assert found.open("birds") is model
    assert [(choice.spec, choice.title) for choice in found.choices] == [
        ("birds", "Birds of the garden"),
        ("more", "More"),
    ]
    assert found.problems == []


def test_an_empty_registry_gives_an_untrained_model() -> None:
    found = ModelCache(Registry(), fallback=SMALL, device="cpu")
    assert found.open_first() == UNTRAINED
    assert found.open(UNTRAINED).config == tn.preset(SMALL)
    assert specs(found) == [UNTRAINED]


@pytest.mark.slow
def test_models_in_bfloat16_are_less_exact_than_published_and_that_is_said_once(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TNET_ENGINE", raising=False)
    path = write_registry(
        checkpoint.parent / "mine.yaml", entry_fields(checkpoint), entry_fields(checkpoint, id="more")
    )
    registry = Registry.load(path, shipped=None)
    found = ModelCache(registry, fallback=SMALL, device="cpu", precision="bfloat16")
    if found.open("birds").features.precision != "bfloat16":
        pytest.skip("this processor has no bfloat16")
    assert found.open("more").features.precision == "bfloat16"
    assert found.problems == ["Looks are computed in bfloat16: sooner, and less exact than published."]
    exact = ModelCache(registry, fallback=SMALL, device="cpu")
    assert exact.open("birds").features.precision == "float32" and exact.problems == []


def test_a_checkpoint_that_does_not_open_is_passed_over_and_complained_about(checkpoint: Path) -> None:
    broken = Path(shutil.copytree(checkpoint, checkpoint.parent / "broken"))
    fields = entry_fields(broken, id="broken", source={"folder": "broken"})
    (broken / "model.safetensors").write_bytes(b"damaged")
    missing = entry_fields(checkpoint, id="missing", source={"folder": "missing"})
    found = cache(fields, missing, entry_fields(checkpoint), beside=checkpoint)
    assert found.open_first() == "birds"
    assert specs(found) == ["birds"]
    assert len(found.problems) == 2
    assert "'broken' is not what the registry promises" in found.problems[0]
    assert "'missing' is not what the registry promises" in found.problems[1]


def test_a_baseline_is_not_offered(checkpoint: Path) -> None:
    plain = checkpoint.parent / "plain"
    save(tn.build(replace(PLAIN, num_classes=3)), plain, class_names=NAMES)
    fields = entry_fields(plain, id="plain", source={"folder": "plain"})
    found = cache(fields, entry_fields(checkpoint), beside=checkpoint)
    assert specs(found) == ["birds"]
    with pytest.raises(tn.TNetError, match="'plain' is not offered here"):
        found.open("plain")
    with pytest.raises(tn.TNetError, match=r"is a baseline .* there are no looks to explore"):
        found.add(str(plain))


def test_nothing_that_is_not_offered_is_opened(checkpoint: Path) -> None:
    found = cache(entry_fields(checkpoint), beside=checkpoint)
    for spec in (str(checkpoint), "hf:someone/birds", "brids", UNTRAINED):
        with pytest.raises(tn.TNetError, match="is not offered here; known are: birds"):
            found.open(spec)


def test_a_named_checkpoint_comes_first(checkpoint: Path) -> None:
    other = checkpoint.parent / "other"
    save(tn.build(CONFIG, seed=3), other, class_names=NAMES)
    found = cache(entry_fields(checkpoint), entry_fields(checkpoint, id="more"), beside=checkpoint)
    found.add(str(other))
    assert specs(found) == [str(other), "birds", "more"]
    assert found.open_first() == str(other)
    found.add("more")
    assert specs(found) == ["more", str(other), "birds"]
    with pytest.raises(tn.TNetError, match="neither a registry id nor a folder"):
        found.add("nothing")


def test_a_start_does_not_wait_for_the_hub(hub: LocalHub, checkpoint: Path) -> None:
    commit = hub.commit("someone/birds", contents(checkpoint))
    remote = entry_fields(checkpoint, id="remote", source={"repo": "someone/birds", "commit": commit})
    found = cache(remote, beside=checkpoint)
    assert found.open_first() == UNTRAINED
    assert hub.requests == []
    assert specs(found) == [UNTRAINED, "remote"]
    assert found.open("remote").class_names == NAMES


def test_nobody_waits_for_a_checkpoint_that_another_visitor_downloads(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cache(entry_fields(checkpoint), entry_fields(checkpoint, id="far", title="Far"), beside=checkpoint)
    begun, go, load, loads = threading.Event(), threading.Event(), found._load, list[str]()

    def load_slowly(spec: str, on_notice: Any) -> tn.TNet:
        loads.append(spec)
        if spec == "far":
            begun.set()
            assert go.wait(60)
        return load(spec, on_notice)

    monkeypatch.setattr(found, "_load", load_slowly)
    with ThreadPoolExecutor(3) as pool:
        far = [pool.submit(found.open, "far") for _ in range(2)]
        try:
            assert begun.wait(60)
            near = pool.submit(found.open, "birds").result(60)
            assert found.list_cards() == found.list_cards() and not any(one.done() for one in far)
        finally:
            go.set()
        assert far[0].result(60) is far[1].result(60) is not near
    assert sorted(loads) == ["birds", "far"]  # each once


def test_an_unreachable_hub_is_one_sentence_and_the_choice_stays(
    hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.commit("someone/birds", contents(checkpoint))
    remote = entry_fields(checkpoint, id="remote", source={"repo": "someone/birds", "commit": commit})
    found = cache(entry_fields(checkpoint), remote, beside=checkpoint)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(tn.TNetError, match="cannot be reached"):
        found.open("remote")
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    assert found.open("remote").class_names == NAMES


def test_a_registry_that_cannot_be_read_leaves_an_empty_shelf_and_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("checkpoints: x")
    found = ModelCache.from_file(tmp_path / "r.yaml", fallback=SMALL, device="cpu")
    assert found.open_first() == UNTRAINED
    assert "must be a list" in found.problems[0]


@pytest.mark.slow
def test_only_a_few_models_stay_in_memory(checkpoint: Path) -> None:
    names = [f"birds-{n}" for n in range(6)]
    found = cache(*(entry_fields(checkpoint, id=name) for name in names), beside=checkpoint)
    first = found.open(names[0])
    for name in names[1:]:
        found.open(name)
    assert found.open(names[5]) is found.open(names[5])
    assert found.open(names[0]) is not first


def test_examples_of_a_data_set_belong_to_their_checkpoint(checkpoint: Path) -> None:
    examples = {
        "dataset": "someone/pictures",
        "commit": "0123456789" * 4,
        "licence": "CC0-1.0",
        "files": {"wren.jpg": {"sha256": "a" * 64, "size": 5}},
    }
    found = cache(entry_fields(checkpoint, examples=examples), entry_fields(checkpoint, id="bare"), beside=checkpoint)
    has = found.find_choice("birds").examples
    assert has is not None
    assert has.dataset == "someone/pictures"
    assert found.find_choice("bare").examples is None


def test_cards_of_what_was_measured_are_known_without_a_download(checkpoint: Path) -> None:
    plain = checkpoint.parent / "plain"
    save(tn.build(replace(PLAIN, num_classes=3)), plain)
    for folder in (checkpoint, plain):
        measured = {"schema": 1, "dataset": {"name": "Garden", "split": "test", "size": 9}}
        (folder / "evaluation.json").write_text(json.dumps(measured | {"budgets": [{"budget": [], "top1": 0.5}]}))
    unmeasured = Path(shutil.copytree(checkpoint, checkpoint.parent / "unmeasured"))
    (unmeasured / "evaluation.json").unlink()
    far = entry_fields(checkpoint, id="far", source={"repo": "someone/nothing", "commit": "0" * 40})
    found = cache(
        entry_fields(checkpoint),
        entry_fields(plain, id="plain", source={"folder": "plain"}),
        entry_fields(unmeasured, id="unmeasured", source={"folder": "unmeasured"}),
        far,
        beside=checkpoint,
    )
    cards = found.list_cards()
    assert [card.title for card in cards] == ["Birds of the garden", "Birds of the garden"]
    assert all(card.evaluation is not None for card in cards)
    assert all(a is b for a, b in zip(found.list_cards(), cards, strict=True))
    assert specs(found) == ["birds", "unmeasured", "far"]  # offered are those that look
