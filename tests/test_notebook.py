"""The notebook runs from its first cell to its last, in the clone's folder and in its own."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

import tnet_core as tn

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "notebooks" / "explore_a_policy.ipynb"


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does and return the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.slow
def test_every_cell_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(NOTEBOOK.parent)
    monkeypatch.setattr(sys, "path", [*sys.path])
    names: dict[str, Any] = {}
    shown = [run_cell("".join(cell["source"]), names) for cell in read_cells() if cell["cell_type"] == "code"]
    assert sum(isinstance(value, tn.Trace) for value in shown) == 2  # the traversal, and the steered one
    assert set(names["figures"]) == {"looks", "ledger", "levels", "curve"} and isinstance(shown[-1], go.Figure)
    printed = capsys.readouterr().out
    assert "thumbnail" in printed and "5 looks: " in printed and "random:0" in printed
    assert len(names["steered"].trace().locations) == 6


def test_it_is_committed_without_outputs() -> None:
    code = [cell for cell in read_cells() if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def read_cells() -> list[dict[str, Any]]:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells: list[dict[str, Any]] = notebook["cells"]
    return cells
