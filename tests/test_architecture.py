"""Data flows one way: which package may import which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# package -> what it must not know
FORBIDDEN = {
    "tnet_core": {"viz", "training", "benchmarks", "app", "gradio", "plotly"},
    "viz": {"training", "benchmarks", "app", "gradio", "torch", "timm"},
    "training": {"viz", "app", "gradio"},
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("package", FORBIDDEN)
def test_packages_import_only_what_lies_to_their_left(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        roots = {name.partition(".")[0] for name in imports(path)}
        assert not roots & FORBIDDEN[package], path


def test_there_are_no_import_cycles_inside_the_core() -> None:
    graph: dict[str, set[str]] = {}
    for path in (ROOT / "tnet_core").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text())
        graph[name] = {
            node.module
            for node in tree.body  # imports inside functions and type checks are no cycles at run time
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tnet_core.")
        }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above, name))
        if name not in done:
            for target in graph.get(name, ()):
                visit(target, (*above, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_files_stay_readable_in_one_sitting() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for folder in ("tnet_core", "viz", "training", "tools")
        for path in (ROOT / folder).rglob("*.py")
        if (count := len(path.read_text().splitlines())) > 350
    }
    assert not long


def test_no_pickle_is_ever_loaded() -> None:
    for folder in ("tnet_core", "viz", "training"):
        for path in (ROOT / folder).rglob("*.py"):
            names = imports(path)
            assert not names & {"pickle", "dill", "joblib", "cloudpickle"}, path
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and node.attr == "load" and isinstance(node.value, ast.Name):
                    assert node.value.id != "torch", path
