"""The result of a traversal: what was looked at, what it said, and every smaller budget that follows from it."""

from tnet_core.trace.trace import Trace

__all__ = ["Trace"]
