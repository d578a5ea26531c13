"""Accuracy against cost: checkpoints measured here beside the paper's printed numbers.

`measured` and `published` read their sources into `Curve`s, a `Catalogue` sorts them by data set, a `Selection` is what
a visitor asked for, and `figure`, `legend`, `table` and `export` show it. No model is run, no number is made up: what a
source does not state is None, and is left out.
"""

from viz.comparison.catalogue import Catalogue, DataSet
from viz.comparison.model import Curve, Point
from viz.comparison.selection import Selection, select

__all__ = ["Catalogue", "Curve", "DataSet", "Point", "Selection", "select"]
