"""The tab 'What if': one picture unchanged and changed, and whether looks follow its content."""

from viz.lab.board import board, on_load
from viz.lab.model import Experiment

__all__ = ["Experiment", "board", "on_load"]
