"""What the tab 'Your data' says and shows."""

from viz.own.captions import INTRO, LAYOUT, shown_in_chart, waiting
from viz.own.result import download, result

__all__ = ["INTRO", "LAYOUT", "download", "result", "shown_in_chart", "waiting"]
