"""What goes wrong with the Hub is one sentence, and nothing is downloaded that should not be."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import tnet_core as tn
from tests.support.checkpoints import contents, entry_fields, write_registry
from tests.support.hub import LocalHub
from tnet_core.checkpoints import load
from tnet_core.checkpoints.hub_client import HubClient
from tnet_core.checkpoints.hub_errors import explain
from tnet_core.schemas.hub_id import HubId

pytest_plugins = ["tests.support.checkpoint_fixtures"]

REPO = "someone/birds"
TENSORS = "model.safetensors"


def test_a_repository_that_does_not_exist(hub: LocalHub) -> None:
    with pytest.raises(tn.TNetError, match="There is no Hub repository 'someone/birds', or it is private"):
        load(f"hf:{REPO}")


def test_a_private_repository_asks_for_a_token(hub: LocalHub, checkpoint: Path) -> None:
    hub.commit(REPO, contents(checkpoint), private=True)
    with pytest.raises(tn.TNetError, match="set HF_TOKEN to a token that may read it"):
        load(f"hf:{REPO}")


def test_a_gated_repository_says_what_to_do(hub: LocalHub, checkpoint: Path) -> None:
    hub.commit(REPO, contents(checkpoint), gated=True)
    with pytest.raises(tn.TNetError, match="is gated: accept its conditions"):
        load(f"hf:{REPO}")


@pytest.mark.parametrize("revision", ["v2", "0" * 40])
def test_a_revision_that_does_not_exist(hub: LocalHub, checkpoint: Path, revision: str) -> None:
    hub.commit(REPO, contents(checkpoint))
    with pytest.raises(tn.TNetError, match=f"'someone/birds' has no revision '{revision}'"):
        load(f"hf:{REPO}@{revision}")


@pytest.mark.parametrize("with_config", [True, False])
def test_a_repository_of_pickles_is_refused_with_the_reason(hub: LocalHub, with_config: bool) -> None:
    files = {"pytorch_model.bin": b"\x80\x04."} | ({"config.json": b"{}"} if with_config else {})
    hub.commit(REPO, files)
    with pytest.raises(tn.TNetError, match=r"holds only pickled weights \(pytorch_model\.bin\)"):
        load(f"hf:{REPO}")
    assert not [path for verb, path, _ in hub.requests if verb == "GET" and "/api/" not in path]


def test_a_repository_without_a_checkpoint(hub: LocalHub) -> None:
    hub.commit(REPO, {"README.md": b"hello"})
    with pytest.raises(tn.TNetError, match=r"is not a checkpoint: it has no model\.safetensors"):
        load(f"hf:{REPO}")


def test_a_mirror_without_file_lists_still_gives_the_reason(
    hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.commit(REPO, {"config.json": b"{}"})
    monkeypatch.setattr("tests.support.hub._HubHandler.info", lambda self, *_: self.reply(404))
    with pytest.raises(tn.TNetError, match=r"it has no model\.safetensors \(pickled weights are never loaded\)"):
        load(f"hf:{REPO}")


@pytest.mark.parametrize(("name", "size", "limit"), [("config.json", 5 << 30, "16.8 MB"), (TENSORS, 1 << 40, "8.6 GB")])
def test_files_that_are_too_large_are_not_fetched(
    hub: LocalHub, checkpoint: Path, name: str, size: int, limit: str
) -> None:
    hub.commit(REPO, contents(checkpoint))
    hub.announced_size[name] = size
    with pytest.raises(tn.TNetError, match=f"at most {limit} are accepted, and nothing was downloaded"):
        load(f"hf:{REPO}", on_notice=lambda _: None)
    assert not [path for verb, path, _ in hub.requests if verb == "GET"]


def test_a_transfer_larger_than_announced_is_ended(
    hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.commit(REPO, contents(checkpoint))
    hub.served_instead["config.json"] = b" " * 3_000_000
    monkeypatch.setattr("tnet_core.checkpoints.hub_client._SLACK", 1_000_000)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100_000)
    with pytest.raises(tn.TNetError, match=r"sent more of 'config\.json' than it had announced"):
        load(f"hf:{REPO}", on_notice=lambda _: None)


def test_a_listed_file_that_the_commit_lacks(hub: LocalHub, checkpoint: Path) -> None:
    files = contents(checkpoint)
    del files["evaluation.json"]
    fields = entry_fields(checkpoint, source={"repo": REPO, "commit": hub.commit(REPO, files)})
    with pytest.raises(tn.TNetError, match=r"has no file 'evaluation\.json'"):
        load("birds", registry=write_registry(checkpoint.parent / "mine.yaml", fields))


def test_a_server_that_is_not_a_hub(own_caches: None, monkeypatch: pytest.MonkeyPatch, hub: LocalHub) -> None:
    monkeypatch.setattr("tests.support.hub._HubHandler.resolve", lambda self, *_: self.reply(200, b"hello"))
    with pytest.raises(tn.TNetError, match="does not answer like a Hub; check HF_ENDPOINT"):
        load(f"hf:{REPO}")


@pytest.mark.parametrize(
    ("headers", "complaint"),
    [
        ({"X_Repo_Commit": "1" * 40, "ETag": '"x"'}, "answered with commit 1+ instead of 2+"),
        ({"X_Repo_Commit": "2" * 40, "ETag": '"../../escape"'}, "in a way that is not allowed"),
        ({"X_Repo_Commit": "2" * 40}, "does not answer like a Hub"),
    ],
)
def test_answers_that_could_mislead_the_cache_are_refused(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], complaint: str
) -> None:
    monkeypatch.setattr("tests.support.hub._HubHandler.resolve", lambda self, *_: self.reply(200, b"hello", **headers))
    with pytest.raises(tn.TNetError, match=complaint):
        load(f"hf:{REPO}@{'2' * 40}")


@pytest.mark.parametrize(
    ("status", "complaint"), [(401, "error 401"), (403, "error 403"), (429, "429"), (503, "error 503")]
)
def test_other_refusals_are_one_sentence(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch, status: int, complaint: str
) -> None:
    monkeypatch.setattr("tests.support.hub._HubHandler.resolve", lambda self, *_: self.reply(status))
    with pytest.raises(tn.TNetError, match=complaint):
        load(f"hf:{REPO}")


@pytest.mark.parametrize(
    ("place", "complaint"),
    [("{path}", "redirects in a circle"), ("file:///etc/hostname", "neither http nor https")],
)
def test_a_redirect_that_leads_nowhere_is_named(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch, place: str, complaint: str
) -> None:
    def redirect(handler: Any, *_: str) -> None:
        about = {"X_Repo_Commit": "2" * 40, "X_Linked_Etag": f'"{"3" * 64}"', "X_Linked_Size": "100"}
        handler.reply(302, Location=place.format(path=handler.path), **about)

    monkeypatch.setattr("tests.support.hub._HubHandler.resolve", redirect)
    with pytest.raises(tn.TNetError, match=complaint):
        load(f"hf:{REPO}@{'2' * 40}")


@pytest.mark.slow
def test_a_server_that_sends_byte_by_byte_is_given_up(
    hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.commit(REPO, contents(checkpoint))

    def dawdle(handler: Any) -> None:
        handler.reply(200, Content_Length="100000")
        for _ in range(400):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)

    monkeypatch.setattr("tests.support.hub._CdnHandler.do_GET", dawdle)
    monkeypatch.setattr("tnet_core.checkpoints.hub_errors._WINDOW", 0.3)
    started = time.perf_counter()
    with pytest.raises(tn.TNetError, match=r"The server 127\.0\.0\.1 sent \d+ bytes in \d+ seconds, too slow"):
        load(f"hf:{REPO}@{commit}")
    assert time.perf_counter() - started < 15


def test_an_endpoint_that_is_not_an_address(own_caches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "nonsense")
    with pytest.raises(tn.TNetError, match="HF_ENDPOINT is 'nonsense'"):
        load(f"hf:{REPO}")


@pytest.fixture
def silent_host() -> Iterator[str]:
    """Accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.slow
def test_a_host_that_never_answers_is_given_up(
    own_caches: None, monkeypatch: pytest.MonkeyPatch, silent_host: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", silent_host)
    started = time.perf_counter()
    with pytest.raises(tn.TNetError, match="cannot be reached"):
        load(f"hf:{REPO}")
    assert time.perf_counter() - started < 15


def test_a_question_has_a_deadline_of_its_own(own_caches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tnet_core.checkpoints.hub_client._ANSWER_DEADLINE", 0.2)
    forever = threading.Event()
    with pytest.raises(tn.TNetError, match="cannot be reached"):
        HubClient(HubId(REPO))._call_briefly(forever.wait)
    forever.set()


@pytest.mark.parametrize(
    ("error", "complaint"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full"),
        (PermissionError(errno.EACCES, "Permission denied"), "cache cannot be written"),
        (OSError("Consistency check failed: file should be of size 5"), "was not transferred completely"),
        (httpx2.ConnectTimeout("slow"), "cannot be reached"),
        (httpx2.ProxyError("no"), "cannot be reached"),
        (KeyError("siblings"), "was not understood"),
    ],
)
def test_errors_of_disk_and_network_are_told_apart(error: Exception, complaint: str) -> None:
    sentence = str(explain(error, HubId(REPO), "http://hub"))
    assert complaint in sentence
    assert "\n" not in sentence


def test_a_cache_that_cannot_be_written(hub: LocalHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = hub.commit(REPO, contents(checkpoint))
    blocked = checkpoint.parent / "blocked"
    blocked.write_text("a file where the cache should be")
    monkeypatch.setenv("HF_HOME", str(blocked))
    with pytest.raises(tn.TNetError) as caught:
        load(f"hf:{REPO}@{commit}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["hf:", "hf:birds", "hf:a/b/c", "hf:../b", "hf:a/..", "hf:a/b.git", "hf:a--b/c", "hf:a/b c", "hf:-a/b", "hf:ä/b",
     "hf:a/" + "b" * 97, "hf:a/b@", "hf:a/b@../x", "hf:a/b@x y", "hf:a/b@-x", "hf:a/b@x//y"],
)  # fmt: skip
def test_ids_are_checked_before_any_request(hub: LocalHub, text: str) -> None:
    with pytest.raises(tn.TNetError, match="is not a"):
        load(text)
    assert hub.requests == []


@pytest.mark.parametrize("text", ["hf:a/b", "hf:a_b/c-d.e", "hf:a/b@refs/pr/4", "hf:a/b@v1.0"])
def test_valid_ids_survive_printing(text: str) -> None:
    assert str(HubId.parse(text)) == text
