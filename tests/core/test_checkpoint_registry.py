"""Registry files: what they may say, and how they add up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import tnet_core as tn
from tests.support.checkpoints import entry_fields, write_registry
from tnet_core.checkpoints import Registry
from tnet_core.checkpoints.registry import SHIPPED

pytest_plugins = ["tests.support.checkpoint_fixtures"]

COMMIT = "0123456789" * 4  # digits only: a reader that guesses types would make it a number


def _load(path: Path) -> Registry:
    return Registry.load(path, shipped=None)


def test_the_shipped_registry_is_valid() -> None:
    assert SHIPPED.is_file()
    for entry in Registry.load():
        assert entry.folder is None or entry.folder.is_dir()


def test_an_entry_is_read_with_all_its_fields(checkpoint: Path) -> None:
    registry = _load(write_registry(checkpoint.parent / "mine.yaml", entry_fields(checkpoint)))
    entry = registry.get("birds")
    assert registry.ids == ["birds"]
    assert entry.folder == checkpoint.resolve()
    assert entry.hub is None
    assert entry.licence.data == "CC-BY-4.0"
    assert entry.size == sum(path.stat().st_size for path in checkpoint.iterdir())
    assert entry.where == "folder garden-birds"


def test_a_hub_entry_is_pinned(checkpoint: Path) -> None:
    source = {"repo": "someone/birds", "commit": COMMIT}
    path = write_registry(checkpoint.parent / "mine.yaml", entry_fields(checkpoint, source=source))
    entry = _load(path).get("birds")
    assert entry.where == f"hf:someone/birds@{COMMIT}"
    # Also where the commit is written without quotation marks.
    path.write_text(path.read_text().replace(f"'{COMMIT}'", COMMIT))
    assert _load(path).get("birds") == entry


def test_a_bundled_entry_may_name_its_place_on_the_hub(checkpoint: Path) -> None:
    fields = entry_fields(checkpoint, hub={"repo": "someone/birds", "commit": COMMIT})
    entry = _load(write_registry(checkpoint.parent / "mine.yaml", fields)).get("birds")
    assert entry.folder is not None
    assert entry.hub is not None
    assert entry.hub.commit == COMMIT


def _examples(**changes: Any) -> dict[str, Any]:
    files = {"wren.jpg": {"sha256": "a" * 64, "size": 5}}
    return {"dataset": "someone/pictures", "commit": COMMIT, "licence": "CC0-1.0", "files": files} | changes


def test_an_entry_may_name_example_pictures_in_a_data_set(checkpoint: Path) -> None:
    path = write_registry(checkpoint.parent / "mine.yaml", entry_fields(checkpoint, examples=_examples()))
    examples = _load(path).get("birds").examples
    assert examples is not None
    assert (str(examples.id), examples.licence) == (f"hf:someone/pictures@{COMMIT}", "CC0-1.0")
    assert examples.files["wren.jpg"].size == examples.size == 5
    bare = write_registry(checkpoint.parent / "bare.yaml", entry_fields(checkpoint))
    assert _load(bare).get("birds").examples is None


def _pictures(*names: str, size: int = 5) -> dict[str, Any]:
    return _examples(files={name: {"sha256": "a" * 64, "size": size} for name in names})


def _without(name: str) -> Any:
    return lambda fields: fields.pop(name)


def _set(name: str, value: Any) -> Any:
    return lambda fields: fields.__setitem__(name, value)


def _digest(sha256: Any = "a" * 64, size: Any = 5) -> dict[str, Any]:
    good = {"sha256": "a" * 64, "size": 5}
    return {"config.json": {"sha256": sha256, "size": size}, "model.safetensors": good}


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (_without("id"), "entry 1, field 'id'"),
        (_set("id", "a/b"), "entry 1, field 'id'"),
        (_set("id", "x" * 65), "entry 1, field 'id'"),
        (_without("title"), "entry 'birds', field 'title' is missing"),
        (_set("description", "two\nlines"), "field 'description' must be one line"),
        (_set("title", "x" * 121), "field 'title' must be a printable text of at most 120"),
        (_set("title", "\x1b[2J"), "field 'title' must be a printable text"),
        (_set("title", {"a": "b"}), "field 'title'"),
        (_set("colour", "red"), "field 'colour' is not a known field"),
        (_without("source"), "field 'source' is missing"),
        (_set("source", "garden-birds"), "field 'source' is 'garden-birds', but must be a mapping"),
        (_set("source", {}), "field 'source' must hold either"),
        (_set("source", {"folder": "x", "repo": "a/b"}), "field 'source' must hold either"),
        (_set("source", {"repo": "a/b"}), "field 'source' must hold either"),
        (_set("source", {"repo": "a/b", "commit": "main"}), "field 'source.commit' must be a full commit"),
        (_set("source", {"repo": "a/b", "commit": "A" * 40}), "field 'source.commit'"),
        (_set("source", {"repo": "birds", "commit": COMMIT}), "field 'source.repo': 'birds' is not a Hub repository"),
        (_set("source", {"repo": "../x", "commit": COMMIT}), "field 'source.repo'"),
        (_set("source", {"folder": "../outside"}), "field 'source.folder' must be a path inside"),
        (_set("source", {"folder": "/etc"}), "field 'source.folder'"),
        (_set("source", {"folder": "."}), "field 'source.folder'"),
        (_set("source", {"folder": "C:\\x"}), "field 'source.folder'"),
        (_set("hub", {"repo": "a/b"}), "field 'hub.commit' is missing"),
        (_set("licence", {"weights": "MIT"}), "field 'licence.data' is missing"),
        (_set("licence", "MIT"), "field 'licence' is 'MIT', but must be a mapping"),
        (_without("citation"), "field 'citation' is missing"),
        (_without("numbers"), "field 'numbers' is missing"),
        (_without("files"), "field 'files' is missing"),
        (_set("files", {"config.json": _digest()["config.json"]}), "field 'files' does not name model.safetensors"),
        (
            _set("files", _digest() | {"model.bin": _digest()["config.json"]}),
            "field 'files' names 'model.bin'",
        ),
        (_set("files", _digest() | {"../config.json": _digest()["config.json"]}), "is not a checkpoint's"),
        (_set("files", _digest(sha256="abc")), "field 'files.config.json.sha256' must be 64"),
        (_set("files", _digest(size=0)), "field 'files.config.json.size'"),
        (_set("files", _digest(size=-4)), "field 'files.config.json.size'"),
        (_set("files", _digest(size="many")), "field 'files.config.json.size'"),
        (_set("files", _digest(size=10**11)), "field 'files' gives 'config.json' 100000000000 bytes"),
        (_set("examples", "someone/pictures"), "field 'examples' is 'someone/pictures', but must be a mapping"),
        (_set("examples", {"dataset": "a/b"}), "field 'examples.commit' is missing"),
        (_set("examples", _examples(colour="red")), "field 'examples.colour' is not a known field"),
        (_set("examples", _examples(dataset="pictures")), "field 'examples.dataset': 'pictures' is not a Hub"),
        (_set("examples", _examples(commit="main")), "field 'examples.commit' must be a full commit"),
        (_set("examples", _examples(licence="two\nlines")), "field 'examples.licence' must be one line"),
        (_set("examples", _examples(files={})), "field 'examples.files' must list 1 to 24 pictures"),
        (_set("examples", _pictures(*(f"{n}.jpg" for n in range(25)))), "must list 1 to 24 pictures"),
        (_set("examples", _pictures("../wren.jpg")), "names '../wren.jpg', which is not the path"),
        (_set("examples", _pictures("/etc/x.jpg")), "is not the path of a picture"),
        (_set("examples", _pictures("a/../b.jpg")), "is not the path of a picture"),
        (_set("examples", _pictures("a\\b.jpg")), "is not the path of a picture"),
        (_set("examples", _pictures("model.pt")), "is not the path of a picture (.jpg, .jpeg, .png, .webp)"),
        (
            _set("examples", _pictures("wren.jpg", size=13 << 20)),
            "'examples.files' gives 'wren.jpg' 13631488",
        ),
        (
            _set("examples", _examples(files={"wren.jpg": 5})),
            "'examples.files.wren.jpg' is '5', but must be",
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_entry(checkpoint: Path, edit: Any, complaint: str) -> None:
    fields = entry_fields(checkpoint)
    edit(fields)
    with pytest.raises(tn.TNetError) as caught:
        _load(write_registry(checkpoint.parent / "mine.yaml", fields))
    assert complaint in str(caught.value)
    assert "mine.yaml" in str(caught.value)


def test_a_link_cannot_lead_out_of_the_registry_folder(checkpoint: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "garden-birds").symlink_to(checkpoint)
    with pytest.raises(tn.TNetError, match=r"'source\.folder' must be a path inside"):
        _load(write_registry(inner / "mine.yaml", entry_fields(checkpoint)))


def test_hub_block_and_hub_source_exclude_each_other(checkpoint: Path) -> None:
    place = {"repo": "a/b", "commit": COMMIT}
    with pytest.raises(tn.TNetError, match="field 'hub', which belongs to entries whose source is a folder"):
        _load(write_registry(checkpoint.parent / "x.yaml", entry_fields(checkpoint, source=place, hub=place)))


def test_an_id_appears_once(checkpoint: Path) -> None:
    fields = entry_fields(checkpoint)
    with pytest.raises(tn.TNetError, match="has the id 'birds' more than once"):
        _load(write_registry(checkpoint.parent / "x.yaml", fields, fields))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it is None, but must be a mapping"),
        ("- a", "it is ['a'], but must be a mapping"),
        ("checkpoints: x", "must be a list"),
        ("checkpoints: [x]", "entry 1 is 'x', but must be a mapping"),
        ("schema: 2\ncheckpoints: []", "its field 'schema' is '2'"),
        ("checkpoints: []\nmore: 1", "its field 'more' is not a known field"),
        ("checkpoints: []\ncheckpoints: []", "'checkpoints' appears twice (line 2)"),
        ("checkpoints: [\n", "not valid YAML"),
        ("a: &a [x]\nb: *a", "anchors and aliases"),
        ("a: &a x", "anchors and aliases"),
        ("[" * 5000, "nested deeper"),
        ("? [a]\n: b", "used as a key (line 1)"),
        ('a: "\\UFFFFFFFF"', "not valid YAML"),
        ("a: !!python/object/apply:os.system [ls]\ncheckpoints: []", "its field 'a' is not a known field"),
        ("a\x00b", "not valid YAML"),
    ],
)
def test_text_that_is_not_a_registry_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(tn.TNetError) as caught:
        _load(path)
    assert complaint in str(caught.value)


def test_a_bomb_of_aliases_is_refused_at_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    (tmp_path / "r.yaml").write_text("\n".join(lines))
    started = time.perf_counter()
    with pytest.raises(tn.TNetError, match="anchors and aliases"):
        _load(tmp_path / "r.yaml")
    assert time.perf_counter() - started < 1


def test_a_registry_has_a_largest_size(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("#" * 300_000)
    with pytest.raises(tn.TNetError, match="at most 262144 are accepted"):
        _load(tmp_path / "r.yaml")


def test_a_missing_registry_is_named(tmp_path: Path) -> None:
    with pytest.raises(tn.TNetError, match=r"There is no file .*nowhere\.yaml"):
        _load(tmp_path / "nowhere.yaml")


def test_a_users_registry_adds_to_the_shipped_one_and_wins(checkpoint: Path, tmp_path: Path) -> None:
    shipped = write_registry(
        tmp_path / "shipped.yaml", entry_fields(checkpoint), entry_fields(checkpoint, id="other", title="Others")
    )
    mine = write_registry(
        tmp_path / "mine.yaml", entry_fields(checkpoint, title="My birds"), entry_fields(checkpoint, id="new")
    )
    registry = Registry.load(mine, shipped=shipped)
    assert registry.ids == ["birds", "other", "new"]
    assert registry.get("birds").title == "My birds"


def test_the_environment_names_a_registry_and_an_explicit_one_replaces_it(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_registry(tmp_path / "first.yaml", entry_fields(checkpoint, id="first"))
    second = write_registry(tmp_path / "second.yaml", entry_fields(checkpoint, id="second"))
    monkeypatch.setenv("TNET_REGISTRY", str(first))
    assert "first" in Registry.load()
    assert "first" not in Registry.load(second)
    assert "second" in Registry.load(second)
    monkeypatch.setenv("TNET_REGISTRY", "")
    assert "first" not in Registry.load()


def test_an_unknown_id_gives_what_is_known(checkpoint: Path, tmp_path: Path) -> None:
    entries = [entry_fields(checkpoint, id=name) for name in ("aerial", "birds", "cells")]
    registry = _load(write_registry(tmp_path / "r.yaml", *entries))
    with pytest.raises(tn.TNetError, match="no checkpoint 'brids'; known are: birds, aerial, cells"):
        registry.get("brids")
    with pytest.raises(tn.TNetError, match="lists none at present"):
        Registry().get("x")
