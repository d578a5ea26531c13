"""What the tab 'Your data' says and shows."""

from viz.your_data.captions import INTRO, LAYOUT, shown_in_chart, waiting
from viz.your_data.result import download, result

__all__ = ["INTRO", "LAYOUT", "download", "result", "shown_in_chart", "waiting"]
