"""`hf:owner/name[@revision]`: names of Hub repositories, checked before anything is asked of the network."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tnet_core.errors import TNetError

PREFIX = "hf:"
_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?")
_REVISION = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._/-]{0,253}[A-Za-z0-9_])?")
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubId:
    """A repository and, unless its main branch is meant, a revision of it."""

    repo: str
    revision: str = "main"

    @property
    def is_pinned(self) -> bool:
        """Tell whether the revision is a full commit, which always means the same files."""
        return is_commit(self.revision)

    def __str__(self) -> str:
        return f"{PREFIX}{self.repo}" + ("" if self.revision == "main" else f"@{self.revision}")

    @classmethod
    def parse(cls, text: str) -> HubId:
        repo, at, revision = text.removeprefix(PREFIX).partition("@")
        check_repo(repo)
        if not at:
            return cls(repo)
        if re.fullmatch(r"[0-9A-Fa-f]{40}", revision):
            revision = revision.lower()
        if not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision:
            raise TNetError(f"'{revision!r:.80}' is not a revision: give a branch, a tag or a commit after the '@'.")
        return cls(repo, revision)


def is_commit(text: str) -> bool:
    """Tell whether a text is a full commit (40 lower-case hexadecimal digits)."""
    return COMMIT.fullmatch(text) is not None


def check_repo(repo: str) -> str:
    """Return a valid `owner/name`, as the Hub defines it."""
    parts = repo.split("/") if isinstance(repo, str) else []
    valid = len(parts) == 2 and all(_PART.fullmatch(part) for part in parts)
    if not valid or ".." in repo or "--" in repo or repo.endswith(".git"):
        raise TNetError(f"{repo!r:.80} is not a Hub repository: write it as owner/name.")
    return repo
