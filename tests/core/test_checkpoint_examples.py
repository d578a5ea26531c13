"""Example pictures of a checkpoint in a Hub data set: fetched from a real HTTP server on loopback."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest
from PIL import Image

import tnet_core as tn
from tests.support.hub import LocalHub
from tests.support.models import picture
from tnet_core.checkpoints import FileDigest
from tnet_core.checkpoints.hub import fetch_pictures
from tnet_core.schemas.registry import ExampleSet

pytest_plugins = ["tests.support.checkpoint_fixtures"]

DATASET = "someone/bird-pictures"


def encode_picture(seed: int, kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture(40, 60, seed=seed)).save(buffer, kind)
    return buffer.getvalue()


FILES = {"wren.png": encode_picture(1, "PNG"), "tits/great-tit.jpg": encode_picture(2, "JPEG")}


@pytest.fixture
def published(hub: LocalHub) -> ExampleSet:
    commit = hub.commit(f"datasets/{DATASET}", FILES)
    digests = {name: FileDigest(hashlib.sha256(data).hexdigest(), len(data)) for name, data in FILES.items()}
    return ExampleSet(DATASET, commit, "CC0-1.0", digests)


def test_pictures_are_downloaded_once_and_open(hub: LocalHub, published: ExampleSet) -> None:
    found = fetch_pictures(published)
    assert list(found) == list(FILES)
    for name, path in found.items():
        assert path.read_bytes() == FILES[name]
        assert tn.ImageSource.open(path).width == 60
    hub.requests.clear()
    assert fetch_pictures(published) == found
    assert hub.requests == []


def test_cached_pictures_need_no_network(hub: LocalHub, published: ExampleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    found = fetch_pictures(published)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.requests.clear()
    assert fetch_pictures(published) == found
    assert hub.requests == []


def test_without_a_network_one_sentence_says_so(published: ExampleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(tn.TNetError, match="HF_HUB_OFFLINE forbids downloads"):
        fetch_pictures(published)


def test_an_unreachable_hub_is_one_sentence(published: ExampleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(tn.TNetError, match="cannot be reached"):
        fetch_pictures(published)


def test_other_content_of_the_same_size_is_refused_and_removed(hub: LocalHub, published: ExampleSet) -> None:
    data = FILES["wren.png"]
    hub.served_instead["wren.png"] = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(tn.TNetError, match="not what the registry promises and was removed"):
        fetch_pictures(published)
    hub.served_instead.clear()
    assert fetch_pictures(published)["wren.png"].read_bytes() == data


def test_another_size_is_refused_before_anything_is_downloaded(hub: LocalHub, published: ExampleSet) -> None:
    hub.announced_size["wren.png"] = 5
    with pytest.raises(tn.TNetError, match="has 5 bytes on the Hub, but the registry says"):
        fetch_pictures(published)
    assert not [path for verb, path, _ in hub.requests if verb == "GET"]


def test_a_file_or_data_set_that_is_not_there_is_named(hub: LocalHub, published: ExampleSet) -> None:
    missing = ExampleSet(DATASET, published.commit, "CC0-1.0", {"owl.jpg": FileDigest("a" * 64, 5)})
    with pytest.raises(tn.TNetError, match=r"data set 'someone/bird-pictures' has no file 'owl\.jpg'"):
        fetch_pictures(missing)
    nowhere = ExampleSet("someone/nothing", published.commit, "CC0-1.0", published.files)
    with pytest.raises(tn.TNetError, match="no Hub repository 'someone/nothing'"):
        fetch_pictures(nowhere)


def test_a_damaged_copy_in_the_cache_is_replaced(published: ExampleSet) -> None:
    path: Path = fetch_pictures(published)["tits/great-tit.jpg"]
    path.resolve().write_bytes(b"x" * len(FILES["tits/great-tit.jpg"]))
    assert fetch_pictures(published)["tits/great-tit.jpg"].read_bytes() == FILES["tits/great-tit.jpg"]
