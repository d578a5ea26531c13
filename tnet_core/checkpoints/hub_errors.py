"""What went wrong with the Hub, in one sentence each."""

from __future__ import annotations

import errno

from httpx2 import HTTPError, InvalidURL, ProtocolError, ReadError, UnsupportedProtocol, WriteError
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tnet_core.checkpoints.files import reason
from tnet_core.checkpoints.hub_id import HubId
from tnet_core.errors import TNetError


def explain(error: BaseException, hub_id: HubId, endpoint: str) -> TNetError:
    """The sentence for an error raised by the Hub's library while it dealt with a repository."""
    if isinstance(error, TNetError):
        return error
    if isinstance(error, LocalEntryNotFoundError) and error.__cause__ is not None:
        return explain(error.__cause__, hub_id, endpoint)
    if isinstance(error, OfflineModeIsEnabled):
        return offline(hub_id)
    if isinstance(error, HfHubHTTPError):
        return TNetError(_refusal(error, hub_id, endpoint))
    if isinstance(error, (InvalidURL, UnsupportedProtocol)):
        return TNetError(f"HF_ENDPOINT is '{endpoint}', which is not the address of a server.")
    if isinstance(error, (ProtocolError, ReadError, WriteError)):
        return TNetError(f"The connection to the Hub at {endpoint} broke and '{hub_id}' is incomplete; try again.")
    if isinstance(error, (HTTPError, TimeoutError)):
        return unreachable(endpoint)
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return TNetError(f"The disk is full: '{hub_id}' could not be stored in the cache; make room and try again.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return TNetError(f"The Hub's cache cannot be written ({reason(error)}); set HF_HOME to a folder of yours.")
        return TNetError(f"'{hub_id}' was not transferred completely ({reason(error)}); try again.")
    return TNetError(f"The Hub at {endpoint} gave an answer that was not understood ({reason(error)}).")


def _refusal(error: HfHubHTTPError, hub_id: HubId, endpoint: str) -> str:
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return (
            f"The Hub repository '{hub_id.repo}' is gated: accept its conditions on its page, then set HF_TOKEN to a "
            "token of that account."
        )
    if isinstance(error, RevisionNotFoundError):
        return f"The Hub repository '{hub_id.repo}' has no revision '{hub_id.revision}'."
    if isinstance(error, RepositoryNotFoundError) or status == 404:
        return (
            f"There is no Hub repository '{hub_id.repo}', or it is private: check the name, or set HF_TOKEN to a token "
            "that may read it."
        )
    if status in (401, 403):
        return (
            f"The Hub refuses access to '{hub_id.repo}' (error {status}): set HF_TOKEN to a token that is allowed to."
        )
    if status == 429:
        return "The Hub asks for fewer requests (error 429): wait a few minutes, or set HF_TOKEN."
    return f"The Hub at {endpoint} reported error {status} for '{hub_id.repo}'; try again later."


def offline(hub_id: HubId) -> TNetError:
    return TNetError(
        f"'{hub_id}' is not in the cache and HF_HUB_OFFLINE forbids downloads: unset it once while you have a network."
    )


def unreachable(endpoint: str) -> TNetError:
    return TNetError(
        f"The Hub at {endpoint} cannot be reached: check the network; what was downloaded before works without one if "
        "it is asked for by its full commit."
    )
