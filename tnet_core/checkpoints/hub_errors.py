"""What went wrong with the Hub, in one sentence each, and a least rate for downloads.

The library's own timeouts are between two packets, and its progress is counted in blocks of megabytes: a server that
sends a byte a second would never be given up.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator

from httpx2 import (
    HTTPError,
    InvalidURL,
    ProtocolError,
    ReadError,
    Response,
    SyncByteStream,
    TooManyRedirects,
    UnsupportedProtocol,
    WriteError,
)
from huggingface_hub import get_session
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tnet_core.errors import TNetError, reason
from tnet_core.schemas.hub_id import HubId


def explain(error: BaseException, hub_id: HubId, endpoint: str) -> TNetError:
    """Return the sentence for an error raised by the Hub's library while it dealt with a repository."""
    if isinstance(error, TNetError):
        return error
    if isinstance(error, LocalEntryNotFoundError) and error.__cause__ is not None:
        return explain(error.__cause__, hub_id, endpoint)
    if isinstance(error, OfflineModeIsEnabled):
        return explain_offline(hub_id)
    if isinstance(error, HfHubHTTPError):
        return TNetError(_explain_refusal(error, hub_id, endpoint))
    if isinstance(error, TooManyRedirects):
        return TNetError(f"The Hub at {endpoint} redirects in a circle; try again later, or use another HF_ENDPOINT.")
    if isinstance(error, UnsupportedProtocol) and endpoint.startswith(("http://", "https://")):
        return TNetError(
            f"The Hub at {endpoint} redirects to an address that is neither http nor https, so nothing was fetched; "
            "use another HF_ENDPOINT."
        )
    if isinstance(error, (InvalidURL, UnsupportedProtocol)):
        return TNetError(f"HF_ENDPOINT is '{endpoint}', which is not the address of a server.")
    if isinstance(error, (ProtocolError, ReadError, WriteError)):
        return TNetError(f"The connection to the Hub at {endpoint} broke and '{hub_id}' is incomplete; try again.")
    if isinstance(error, (HTTPError, TimeoutError)):
        return explain_unreachable(endpoint)
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return TNetError(f"The disk is full: '{hub_id}' could not be stored in the cache; make room and try again.")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return TNetError(f"The Hub's cache cannot be written ({reason(error)}); set HF_HOME to a folder of yours.")
        return TNetError(f"'{hub_id}' was not transferred completely ({reason(error)}); try again.")
    return TNetError(f"The Hub at {endpoint} gave an answer that was not understood ({reason(error)}).")


def _explain_refusal(error: HfHubHTTPError, hub_id: HubId, endpoint: str) -> str:
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


def explain_offline(hub_id: HubId) -> TNetError:
    return TNetError(
        f"'{hub_id}' is not in the cache and HF_HUB_OFFLINE forbids downloads: unset it once while you have a network."
    )


def explain_unreachable(endpoint: str) -> TNetError:
    return TNetError(
        f"The Hub at {endpoint} cannot be reached: check the network; what was downloaded before works without one if "
        "it is asked for by its full commit."
    )


_WINDOW = 30.0  # seconds after which the rate is judged, again and again
_LEAST_RATE = 1000  # bytes a second


class _TimedStream(SyncByteStream):
    """The bytes of an answer as long as they come fast enough."""

    def __init__(self, stream: SyncByteStream, host: str) -> None:
        self._stream, self._host = stream, host

    def __iter__(self) -> Iterator[bytes]:
        received, since = 0, time.monotonic()
        for part in self._stream:
            received += len(part)
            now = time.monotonic()
            if now - since > _WINDOW:
                if received < _LEAST_RATE * (now - since):
                    raise TNetError(
                        f"The server {self._host} sent {received} bytes in {now - since:.0f} seconds, too slow to wait "
                        "for; try again later."
                    )
                received, since = 0, now
            yield part

    def close(self) -> None:
        self._stream.close()


def _watch(response: Response) -> None:
    if isinstance(response.stream, SyncByteStream):
        response.stream = _TimedStream(response.stream, response.request.url.host)


def give_up_slow_transfers() -> None:
    """Let the library's connections end transfers below the least rate."""
    session = get_session()
    hooks = session.event_hooks
    if _watch not in hooks["response"]:
        session.event_hooks = {**hooks, "response": [*hooks["response"], _watch]}
