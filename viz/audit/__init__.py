"""The audit of a checkpoint, from its `evaluation.json`, and the faithfulness report of one picture.

`read_audit` takes what is well-formed out of a file that anybody may have written; `board` shows it, and says in one
sentence what the file does not have. `report` shows a `tnet_core.explain.Faithfulness`.
"""

from viz.audit.board import board
from viz.audit.model import Audit
from viz.audit.reading import read_audit
from viz.audit.report import report

__all__ = ["Audit", "board", "read_audit", "report"]
