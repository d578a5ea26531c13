"""The few things asked of `huggingface_hub`, for one repository.

Its settings are read when they are needed (the library reads most of them once, when it is
imported), and whatever it raises becomes one sentence.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from huggingface_hub import (
    HfApi,
    ModelInfo,
    constants,
    get_hf_file_metadata,
    hf_hub_download,
    hf_hub_url,
    try_to_load_from_cache,
)
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.file_download import repo_folder_name
from huggingface_hub.utils import tqdm as hub_tqdm

from tnet_core.checkpoints.hub_errors import explain, explain_unreachable, give_up_slow_transfers
from tnet_core.errors import TNetError
from tnet_core.schemas.files import expand_home, write_atomically
from tnet_core.schemas.hub_id import HubId, is_commit

LIBRARY_NAME = "tnet-explorer"
_QUESTION_TIMEOUT = 5.0  # of one network operation, in seconds
_ANSWER_DEADLINE = 12.0  # of a whole question: names and several addresses each take their own time
_SLACK = 64 << 20  # transfers may carry more than the file: parts sent again, blocks of shared storage

T = TypeVar("T")


@dataclass(frozen=True)
class RemoteFile:
    """What the Hub says about a file before it sends it."""

    commit: str
    size: int
    etag: str  # the Hub's name for the content: its sha256 if it is large, git's blob id otherwise


def current_endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")


def _cache_dir() -> Path:
    explicit = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if explicit:
        return expand_home(os.path.expandvars(explicit))
    home = os.environ.get("HF_HOME")
    return expand_home(os.path.expandvars(home)) / "hub" if home else Path(constants.HF_HUB_CACHE)


def _is_offline() -> bool:
    late = os.environ.get("HF_HUB_OFFLINE", "").upper() in constants.ENV_VARS_TRUE_VALUES
    return late or constants.is_offline_mode()


class HubClient:
    """One repository, as the cache and the network know it."""

    def __init__(self, hub_id: HubId, kind: Literal["model", "dataset"] = "model") -> None:
        self.hub_id = hub_id
        self.kind = kind
        self.endpoint = current_endpoint()
        self.cache = _cache_dir()
        self.offline = _is_offline()
        self.exists = False  # whether the Hub has shown, by any answer, that the repository is there
        self._storage = self.cache / repo_folder_name(repo_id=hub_id.repo, repo_type=kind)

    def find_cached(self, name: str, revision: str) -> Path | None:
        """Return the file in the cache, without a network; a branch means what it meant when last asked."""
        found = self._guard(
            lambda: try_to_load_from_cache(
                self.hub_id.repo, name, cache_dir=self.cache, revision=revision, repo_type=self.kind
            )
        )
        return Path(found) if isinstance(found, str) else None

    def remember_revision(self, commit: str) -> None:
        """Note in the cache which commit a branch or tag is, for later use without a network."""
        path = self._storage / "refs" / self.hub_id.revision
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lambda temporary: temporary.write_text(commit, encoding="ascii"))
        except (OSError, TNetError):
            return  # a cache that cannot be written is complained about by the download itself

    def ask(self, name: str, revision: str) -> RemoteFile | None:
        """Return size, commit and content id of a file, or None if the repository lacks it.

        Answers within seconds even when nobody is there: the library's downloads retry for minutes.
        """
        url = hf_hub_url(self.hub_id.repo, name, repo_type=self.kind, revision=revision, endpoint=self.endpoint)

        def head() -> RemoteFile | None:
            try:
                found = get_hf_file_metadata(
                    url, timeout=_QUESTION_TIMEOUT, library_name=LIBRARY_NAME, endpoint=self.endpoint
                )
            except HfHubHTTPError as error:
                code = error.response.headers.get("X-Error-Code")
                if error.response.status_code != 404 or code not in ("EntryNotFound", None):
                    raise
                self.exists |= code is not None  # a bare 404 may also mean the repository
                return None
            self.exists = True
            return self._check(name, revision, found.commit_hash, found.size, found.etag)

        return self._guard(lambda: self._call_briefly(head))

    def _check(self, name: str, revision: str, commit: str | None, size: int | None, etag: str | None) -> RemoteFile:
        if commit is None or not is_commit(commit) or etag is None:
            raise TNetError(f"The server at {self.endpoint} does not answer like a Hub; check HF_ENDPOINT.")
        if is_commit(revision) and commit != revision:
            raise TNetError(f"The Hub at {self.endpoint} answered with commit {commit} instead of {revision}.")
        if size is None:
            raise TNetError(f"The Hub at {self.endpoint} does not say how large '{name}' is, so it is not downloaded.")
        if not re.fullmatch(r"[\w+=.-]{1,200}", etag) or etag.startswith("."):  # becomes a file name in the cache
            raise TNetError(f"The Hub at {self.endpoint} names the content of '{name}' in a way that is not allowed.")
        return RemoteFile(commit, size, etag)

    def list_names(self, revision: str) -> list[str]:
        """Return all file names of the repository."""
        info = self._guard(lambda: self._call_briefly(lambda: self._get_info(revision)))
        return [file.rfilename for file in info.siblings or []]

    def is_private(self) -> bool | None:
        """Tell whether the repository is private; None if there is none that may be seen."""

        def ask() -> bool | None:
            try:
                return self._get_info(None).private
            except HfHubHTTPError as error:
                if error.response.status_code in (401, 403, 404):
                    return None
                raise

        return self._guard(lambda: self._call_briefly(ask))

    def _get_info(self, revision: str | None) -> ModelInfo:
        api = HfApi(endpoint=self.endpoint, library_name=LIBRARY_NAME)
        return api.model_info(self.hub_id.repo, revision=revision, timeout=_QUESTION_TIMEOUT)

    def download(self, name: str, commit: str, size: int, *, force: bool = False) -> Path:
        """Fetch a file into the cache with a progress bar; whole or not at all, and not from a server that dawdles."""
        give_up_slow_transfers()
        found = self._guard(
            lambda: hf_hub_download(
                self.hub_id.repo,
                name,
                repo_type=self.kind,
                revision=commit,
                cache_dir=self.cache,
                endpoint=self.endpoint,
                force_download=force,
                etag_timeout=_QUESTION_TIMEOUT,
                library_name=LIBRARY_NAME,
                tqdm_class=_bounded_bar(name, 2 * size + _SLACK),
            )
        )
        path = Path(found)
        if path.parents[name.count("/")].name != commit:
            raise TNetError(f"The Hub at {self.endpoint} sent '{name}' of another commit than {commit}.")
        return path

    def forget(self, path: Path) -> None:
        """Remove a file from the cache, so that nobody uses it and the next attempt starts afresh."""
        try:
            blob = path.resolve()
            path.unlink(missing_ok=True)
            if blob.is_relative_to(self._storage.resolve()):
                blob.unlink(missing_ok=True)
        except OSError:
            return  # it is refused by its hash every time

    def _guard(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except Exception as error:  # the library raises a dozen unrelated families
            raise explain(error, self.hub_id, self.endpoint) from None

    def _call_briefly(self, call: Callable[[], T]) -> T:
        answers: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

        def run() -> None:
            try:
                answers.put((call(), None))
            except Exception as error:
                answers.put((None, error))

        threading.Thread(target=run, daemon=True).start()
        try:
            value, error = answers.get(timeout=_ANSWER_DEADLINE)
        except queue.Empty:
            raise explain_unreachable(self.endpoint) from None
        if error is not None:
            raise error
        return value  # type: ignore[return-value]


def _bounded_bar(name: str, limit: int) -> type[hub_tqdm]:
    """Return the library's progress bar, which also ends a transfer that exceeds what was announced."""

    class Bar(hub_tqdm):
        monitor_interval = 0  # tqdm starts one watching thread for every class of bar, and this is a new class
        received = 0.0

        def update(self, n: float | None = 1) -> bool | None:
            self.received += n or 0
            if self.received > limit:
                raise TNetError(f"The Hub sent more of '{name}' than it had announced, so the transfer was ended.")
            return super().update(n)

    return Bar
