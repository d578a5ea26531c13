"""The folder for the Space: exactly what the app needs, nothing that git does not know."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tools import make_space

ROOT = Path(__file__).parents[1]
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}  # those the Hub accepts
NOT_OF_THE_APP = {"accelerate", "mcp", "pyarrow"}  # of training, --mcp and tables: who asks for these installs them


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("space") / "out"
    assert make_space.main([str(out)]) == 0
    return out


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def known_to_git() -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.split("\0"))


def front_matter(space: Path) -> dict[str, object]:
    _, front, text = (space / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert text.strip()
    return yaml.safe_load(front)


def test_it_has_the_app_its_packages_checkpoints_pictures_and_licences(space: Path) -> None:
    present = files(space)
    needed = {"app.py", "checkpoints.yaml", "LICENSE", "NOTICE", "README.md", "requirements.txt", ".gitattributes"}
    assert needed <= present
    for entry in yaml.safe_load((ROOT / "checkpoints.yaml").read_text(encoding="utf-8"))["checkpoints"]:
        folder = entry["source"]["folder"]
        for name, expected in entry["files"].items():
            assert (space / folder / name).stat().st_size == expected["size"], f"{folder}/{name}"
    assert {name for name in known_to_git() if name.startswith("examples/")} <= present


def test_nothing_is_in_it_that_git_does_not_know(space: Path) -> None:
    made = {"README.md", "requirements.txt", ".gitattributes"}
    assert files(space) - made <= known_to_git()
    beginnings = ("tests/", "training/adapt/", "data/", "runs/", "tools/", "docs/", ".ci/")
    assert not [name for name in files(space) if name.startswith(beginnings)]
    assert not [name for name in files(space) if name.startswith("training/recipes/") and name.endswith(".yaml")]


def test_copies_are_the_originals(space: Path) -> None:
    for name in files(space) - {"README.md", "requirements.txt", ".gitattributes"}:
        assert (space / name).read_bytes() == (ROOT / name).read_bytes(), name


@pytest.mark.slow
def test_everything_its_modules_import_is_in_it_or_required_by_it(space: Path) -> None:
    pins = (space / "requirements.txt").read_text(encoding="utf-8").splitlines()
    required = {plain(pin.partition("==")[0]) for pin in pins}
    for package in required - {"spaces"}:  # which only a Space has
        needs = [Requirement(text) for text in requires(package) or []]
        required = required | {plain(need.name) for need in needs if not need.marker or need.marker.evaluate()}
    providers = packages_distributions()
    for path in space.rglob("*.py"):
        for top in {name.partition(".")[0] for name in imported(path)} - NOT_OF_THE_APP:
            inside = (space / top).is_dir() or (space / f"{top}.py").is_file()
            given = {plain(distribution) for distribution in providers.get(top, [top])}
            assert inside or top in sys.stdlib_module_names or given & required, f"{path}: {top}"


@pytest.mark.slow
def test_all_of_its_code_is_imported_without_what_it_does_not_require(space: Path) -> None:
    blocked = "import sys; sys.modules.update({name: None for name in ('accelerate', 'tensorboard')})"
    test = f"{blocked}; import app, training.evaluation.run; app.demo"
    done = subprocess.run([sys.executable, "-c", test], cwd=space, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def plain(distribution: str) -> str:
    return distribution.lower().replace("_", "-")


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def test_its_requirements_are_the_pins_of_the_app_and_the_package_for_zero_gpu(space: Path) -> None:
    ours = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    pins = (space / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert set(pins) - set(ours) == {"spaces==0.51.3"}
    assert not set(ours) - set(pins)
    assert all(pin.count("==") == 1 for pin in pins)


def test_the_front_matter_is_what_the_hub_understands(space: Path) -> None:
    settings = front_matter(space)
    pins = dict(line.split("==") for line in (space / "requirements.txt").read_text().splitlines())
    assert settings["sdk"] == "gradio" and settings["sdk_version"] == pins["gradio"]
    assert settings["python_version"] == "3.12"
    assert (space / str(settings["app_file"])).is_file()
    assert {settings["colorFrom"], settings["colorTo"]} <= COLOURS
    assert len(str(settings["short_description"])) <= 60
    assert settings["license"] == "apache-2.0"
    assert "models" not in settings, "no checkpoint of the registry is on the Hub"


def test_repositories_of_the_hub_are_named_in_the_front_matter(tmp_path: Path) -> None:
    on_the_hub = {"source": {"repo": "someone/birds"}, "examples": {"dataset": "someone/pictures"}}
    here = {"source": {"folder": "checkpoints/x"}, "hub": {"repo": "someone/also"}}
    (tmp_path / "checkpoints.yaml").write_text(yaml.safe_dump({"checkpoints": [on_the_hub, here]}))
    named = make_space.find_hub_names(tmp_path)
    assert named == {"models": ["someone/also", "someone/birds"], "datasets": ["someone/pictures"]}
    text = make_space.build_readme("---\nsdk: gradio\n---\nText\n", ["gradio==1.2.3"], named)
    assert yaml.safe_load(text.split("---\n")[1])["models"] == named["models"]


def test_large_and_binary_files_go_through_git_lfs_and_no_others(space: Path) -> None:
    rules = (space / ".gitattributes").read_text(encoding="utf-8").splitlines()[1:]
    ruled = {rule.partition(" ")[0] for rule in rules}
    assert all(rule.partition(" ")[2] == "filter=lfs diff=lfs merge=lfs -text" for rule in rules)
    large = {name for name in files(space) if (space / name).stat().st_size > 10_000_000}
    assert "checkpoints/tnet-lite0-imagenet/model.safetensors" in large
    assert large <= ruled
    assert all(b"\0" in (space / name).read_bytes()[:8000] for name in ruled - large)
    assert not any(b"\0" in (space / name).read_bytes()[:8000] for name in files(space) - ruled)


def test_git_itself_reads_the_rules_as_meant(space: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitattributes").write_text((space / ".gitattributes").read_text())
    names = ["checkpoints/tnet-lite0-imagenet/model.safetensors", "app.py", "README.md"]
    asked = subprocess.run(
        ["git", "check-attr", "filter", "--", *names], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [line.rpartition(" ")[2] for line in asked.stdout.splitlines()] == ["lfs", "unspecified", "unspecified"]


@pytest.mark.slow
def test_the_same_commit_gives_the_same_folder_and_an_old_build_leaves_nothing(space: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    make_space.assemble(again)
    (again / "left over.py").write_text("old")
    (again / "viz" / "__pycache__").mkdir()
    (again / ".git").mkdir()  # a clone of the Space
    (again / ".git" / "HEAD").write_text("ref")
    make_space.assemble(again)
    assert files(again) - {".git/HEAD"} == files(space)
    assert (again / ".git" / "HEAD").is_file() and not (again / "viz" / "__pycache__").exists()
    assert all((again / name).read_bytes() == (space / name).read_bytes() for name in files(space))


def test_a_folder_with_files_of_others_is_refused_and_untouched(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert make_space.main([str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == f"'{tmp_path}' has files that make_space did not write; name an empty or a new folder.\n"
    assert files(tmp_path) == {"thesis.txt"}


def test_a_file_instead_of_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "out").write_text("")
    assert make_space.main([str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"'{tmp_path / 'out'}' is a file; name a folder for the Space.\n"


def test_a_pin_without_a_version_is_refused() -> None:
    with pytest.raises(make_space.SpaceError, match="'gradio' does not name an exact version"):
        make_space.read_requirements("gradio  # any\n")


def test_outside_a_repository_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(make_space.SpaceError, match="is no git repository"):
        make_space.list_tracked_files(tmp_path)
