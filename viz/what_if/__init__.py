"""The tab 'What if': one picture unchanged and changed, and whether looks follow its content."""

from viz.what_if.board import board, on_load
from viz.what_if.model import Experiment

__all__ = ["Experiment", "board", "on_load"]
