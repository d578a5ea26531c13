"""Downloads from a real HTTP server on loopback that speaks the Hub's protocol."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from huggingface_hub import constants

import tnet_core as tn
from tests.support.checkpoints import NAMES, contents, entry_fields, write_registry
from tests.support.hub import TOKEN, LocalHub
from tests.support.models import TINY, tiny
from tests.support.processes import ROOT, PythonProcess
from tnet_core.checkpoints import CheckpointNotice, card_of, load, save

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.checkpoint_fixtures"]

REPO = "someone/birds"
TENSORS = "model.safetensors"


def _cached_files() -> list[str]:
    return sorted(path.name for path in Path(os.environ["HF_HOME"]).rglob("*") if path.is_file())


def _registry(hub: LocalHub, checkpoint: Path, **changes: object) -> Path:
    commit = hub.commit(REPO, contents(checkpoint))
    fields = entry_fields(checkpoint, source={"repo": REPO, "commit": commit}, **changes)
    return write_registry(checkpoint.parent / "mine.yaml", fields)


def _flipped(data: bytes) -> bytes:
    """The same length, one byte changed in the tensors."""
    return data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]


def _start(code: str, log: Path, **environment: str) -> PythonProcess:
    return PythonProcess("-c", code, cwd=ROOT, env=os.environ | environment, output=log, errors=log)


def test_a_registry_entry_is_downloaded_once(hub: LocalHub, checkpoint: Path) -> None:
    registry = _registry(hub, checkpoint)
    model = load("birds", registry=registry)
    assert model.class_names == NAMES
    assert model.source == "birds"
    card = card_of(model)
    assert card.verified
    assert card.evaluation is not None
    assert card.commit == hub.repositories[REPO].head
    hub.requests.clear()
    load("birds", registry=registry)
    assert hub.requests == []


def test_a_pinned_repository_is_loaded_without_a_notice(
    hub: LocalHub, checkpoint: Path, recwarn: pytest.WarningsRecorder
) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    model = load(f"hf:{REPO}@{commit.upper()}")
    assert model.source == f"hf:{REPO}@{commit}"
    assert card_of(model).commit == commit
    assert not card_of(model).verified
    assert set(card_of(model).files) == {"config.json", TENSORS, "evaluation.json"}
    assert not [w for w in recwarn if w.category is CheckpointNotice]


def test_an_unpinned_repository_is_announced_with_its_commit(hub: LocalHub, checkpoint: Path) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    with pytest.warns(CheckpointNotice, match=f"'main' is now commit {commit}; write hf:{REPO}@{commit}"):
        assert load(f"hf:{REPO}").source == f"hf:{REPO}@{commit}"
    notices: list[str] = []
    load(f"hf:{REPO}@main", on_notice=notices.append)
    assert len(notices) == 1


def test_an_unpinned_repository_follows_its_branch(hub: LocalHub, checkpoint: Path, tmp_path: Path) -> None:
    hub.commit(REPO, contents(checkpoint))
    load(f"hf:{REPO}", on_notice=lambda _: None)
    newer = hub.commit(REPO, contents(save(tiny(TINY), tmp_path / "newer")))
    model = load(f"hf:{REPO}", on_notice=lambda _: None)
    assert model.config.num_classes == 7
    assert card_of(model).commit == newer


def test_only_files_of_the_format_are_downloaded(hub: LocalHub, checkpoint: Path) -> None:
    files = contents(checkpoint) | {"README.md": b"# Birds", "run_me.py": b"x", "pytorch_model.bin": b"y"}
    commit = hub.commit(REPO, files)
    load(f"hf:{REPO}@{commit}")
    asked = {path.rpartition("/")[2] for _, path, _ in hub.requests if "/resolve/" in path}
    assert asked == {"README.md", "config.json", "evaluation.json", TENSORS}


def test_the_download_uses_the_hubs_protocol(hub: LocalHub, checkpoint: Path) -> None:
    commit = hub.commit(REPO, contents(checkpoint), private=True)
    os.environ["HF_TOKEN"] = TOKEN
    try:
        load(f"hf:{REPO}@{commit}")
    finally:
        del os.environ["HF_TOKEN"]
    assert hub.asked("HEAD", f"/{REPO}/resolve/{commit}/{TENSORS}")[0]["authorization"] == f"Bearer {TOKEN}"
    transfers = [headers for verb, path, headers in hub.requests if verb == "GET" and path.startswith(f"/{TENSORS}/")]
    assert len(transfers) == 1
    assert "authorization" not in transfers[0]  # the token does not leave the Hub


def test_a_cached_commit_needs_no_network(hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = _registry(hub, checkpoint)
    commit = hub.repositories[REPO].head
    load("birds", registry=registry)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    assert load("birds", registry=registry).class_names == NAMES
    assert load(f"hf:{REPO}@{commit}").class_names == NAMES


def test_a_cached_start_works_offline_in_a_new_process(hub: LocalHub, checkpoint: Path) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    load(f"hf:{REPO}", on_notice=lambda _: None)
    code = f"import tnet_core.checkpoints as c; m = c.load('hf:{REPO}@{commit}'); print(m.class_names[0])"
    code += f"; print(c.load('hf:{REPO}', on_notice=print).source)"
    log = checkpoint.parent / "log.txt"
    ended_with = _start(code, log, HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9").wait(120)
    output = log.read_text()
    assert ended_with == 0, output
    assert output.splitlines()[0] == "wren"
    assert f"using commit {commit} from the cache" in output


@pytest.mark.parametrize("kind", ["a mirror without content ids", "a cache without links"])
def test_a_cache_that_does_not_name_content_works_offline_too(
    hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    hub.opaque = kind == "a mirror without content ids"
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_SYMLINKS", not hub.opaque)
    commit = hub.commit(REPO, contents(checkpoint))
    load(f"hf:{REPO}@{commit}")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert load(f"hf:{REPO}@{commit}").class_names == NAMES
    cached = next(Path(os.environ["HF_HOME"]).rglob(TENSORS)).resolve()
    cached.write_bytes(_flipped(cached.read_bytes()))
    with pytest.raises(tn.TNetError, match="is not in the cache"):  # nobody vouches for it any more
        load(f"hf:{REPO}@{commit}")


def test_offline_and_not_cached_is_one_sentence(
    hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = _registry(hub, checkpoint)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for spec in ("birds", f"hf:{REPO}", f"hf:{REPO}@{'0' * 40}"):
        with pytest.raises(tn.TNetError, match="is not in the cache and HF_HUB_OFFLINE forbids downloads"):
            load(spec, registry=registry)
    assert hub.requests == []


def test_tampered_bytes_are_refused_and_removed(hub: LocalHub, checkpoint: Path) -> None:
    registry = _registry(hub, checkpoint)
    hub.served_instead[TENSORS] = _flipped(contents(checkpoint)[TENSORS])
    with pytest.raises(tn.TNetError, match=r"not what the registry promises and was removed: .* has sha256"):
        load("birds", registry=registry)
    assert TENSORS not in "".join(_cached_files())
    hub.served_instead.clear()
    assert load("birds", registry=registry).class_names == NAMES


@pytest.mark.parametrize("name", [TENSORS, "config.json"])
def test_content_other_than_announced_is_refused_without_a_registry(hub: LocalHub, checkpoint: Path, name: str) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    hub.served_instead[name] = _flipped(contents(checkpoint)[name])
    with pytest.raises(tn.TNetError, match="arrived with other content than the Hub announced"):
        load(f"hf:{REPO}@{commit}")
    hub.served_instead.clear()
    assert load(f"hf:{REPO}@{commit}").class_names == NAMES


def test_a_repository_that_differs_from_the_registry_is_refused(
    hub: LocalHub, checkpoint: Path, tmp_path: Path
) -> None:
    registry = _registry(hub, checkpoint)
    other = save(tiny(TINY, seed=8), tmp_path / "other")
    fields = entry_fields(checkpoint, source={"repo": REPO, "commit": hub.commit(REPO, contents(other))})
    with pytest.raises(tn.TNetError, match="bytes on the Hub, but the registry says"):
        load("birds", registry=write_registry(registry, fields))
    assert not hub.asked("GET", TENSORS)


def test_a_damaged_cache_is_repaired_online_and_refused_offline(
    hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = _registry(hub, checkpoint)
    load("birds", registry=registry)
    cached = next(Path(os.environ["HF_HOME"]).rglob(TENSORS)).resolve()
    cached.write_bytes(_flipped(cached.read_bytes()))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(tn.TNetError, match=r"model\.safetensors of .* is damaged"):
        load("birds", registry=registry)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert load("birds", registry=registry).class_names == NAMES
    assert load(f"hf:{REPO}@{hub.repositories[REPO].head}").class_names == NAMES


def test_a_free_id_repairs_a_damaged_cache_too(hub: LocalHub, checkpoint: Path) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    load(f"hf:{REPO}@{commit}")
    cached = next(Path(os.environ["HF_HOME"]).rglob(TENSORS)).resolve()
    cached.write_bytes(_flipped(cached.read_bytes()))
    assert load(f"hf:{REPO}@{commit}").class_names == NAMES
    assert cached.read_bytes() == contents(checkpoint)[TENSORS]


def test_a_transfer_that_is_cut_is_resumed(hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 50_000)  # the library keeps whole chunks, usually of 10 MB
    hub.cuts = [("close", 100_000)]
    assert load(f"hf:{REPO}@{commit}").class_names == NAMES
    transfers = [headers for verb, path, headers in hub.requests if verb == "GET" and path.startswith(f"/{TENSORS}/")]
    assert [headers.get("range") for headers in transfers] == [None, "bytes=100000-"]


def test_a_transfer_that_breaks_leaves_nothing_behind(hub: LocalHub, checkpoint: Path) -> None:
    registry = _registry(hub, checkpoint)
    hub.cuts = [("reset", 100_000)]
    with pytest.raises(tn.TNetError, match=r"The connection to the Hub at .* broke"):
        load("birds", registry=registry)
    assert not [name for name in _cached_files() if "incomplete" in name or name == TENSORS]
    assert load("birds", registry=registry).class_names == NAMES


def test_evaluations_that_the_registry_does_not_list_are_not_read(hub: LocalHub, checkpoint: Path) -> None:
    registry = _registry(hub, checkpoint)
    load("birds", registry=registry)  # the evaluation is in the cache from now on
    fields = entry_fields(checkpoint, source={"repo": REPO, "commit": hub.repositories[REPO].head})
    del fields["files"]["evaluation.json"]  # type: ignore[attr-defined]
    assert card_of(load("birds", registry=write_registry(registry, fields))).evaluation is None


def test_a_missing_bundled_folder_comes_from_the_hub(hub: LocalHub, checkpoint: Path) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    fields = entry_fields(checkpoint, hub={"repo": REPO, "commit": commit})
    registry = write_registry(checkpoint.parent / "mine.yaml", fields)
    load("birds", registry=registry)
    assert hub.requests == []
    checkpoint.rename(checkpoint.with_name("elsewhere"))
    assert load("birds", registry=registry).class_names == NAMES
    assert hub.requests


def test_two_processes_at_once_both_get_the_whole(hub: LocalHub, checkpoint: Path) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    code = f"import tnet_core.checkpoints as c; print(c.load('hf:{REPO}@{commit}').class_names[0])"
    logs = [checkpoint.parent / f"log{number}.txt" for number in range(2)]
    processes = [_start(code, log) for log in logs]
    for process, log in zip(processes, logs, strict=True):
        assert process.wait(120) == 0, log.read_text()
        assert log.read_text().splitlines()[-1] == "wren"


def test_the_registry_works_where_free_ids_are_not_allowed(hub: LocalHub, checkpoint: Path) -> None:
    registry = _registry(hub, checkpoint)
    assert load("birds", registry=registry, allow_hub=False).class_names == NAMES
    with pytest.raises(tn.TNetError, match="Only the checkpoints of the registry"):
        load(f"hf:{REPO}", registry=registry, allow_hub=False)


def test_a_host_that_is_not_there_is_reported_quickly(own_caches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    started = time.perf_counter()
    with pytest.raises(tn.TNetError, match=r"The Hub at http://127\.0\.0\.1:9 cannot be reached"):
        load(f"hf:{REPO}")
    assert time.perf_counter() - started < 15
