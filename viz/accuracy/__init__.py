"""Accuracy against cost: checkpoints measured here beside the paper's printed numbers.

`measured` and `published` read their sources into `Curve`s, a `Catalogue` sorts them by data set, a `Selection` is what
a visitor asked for, and `figure`, `legend`, `table` and `export` show it. No model is run, no number is made up: what a
source does not state is None, and is left out.
"""

from viz.accuracy.catalogue import Catalogue, DataSet
from viz.accuracy.selection import Selection, select
from viz.common.curves import Curve, Point

__all__ = ["Catalogue", "Curve", "DataSet", "Point", "Selection", "select"]
