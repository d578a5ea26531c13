"""The report: the stage in one file that opens without the app. It is put together in the browser."""

from viz.report.evidence import evidence
from viz.report.page import script

__all__ = ["evidence", "script"]
