"""The package: what its wheel holds, what it needs, and its command `tnet`, used far from the clone."""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tnet_core as tn
from tests.support.processes import run_python
from tnet_core import command
from tnet_core.schemas.registry import parse_registry
from tools.wheel_contents import choose_checkpoints

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LARGEST_WHEEL = 70_000_000  # bytes
EXTRAS = PROJECT["optional-dependencies"]


@pytest.mark.parametrize(
    ("file", "ranges"),
    [
        ("requirements.txt", [*PROJECT["dependencies"], *EXTRAS["app"]]),
        ("requirements-training.txt", EXTRAS["training"]),
        (
            "requirements-dev.txt",
            [*EXTRAS["dev"], *EXTRAS["mcp"], *EXTRAS["onnx"], *set(EXTRAS["batch"]) - set(EXTRAS["training"])],
        ),
    ],
)
def test_the_package_names_what_the_requirement_files_pin_as_ranges_around_the_pins(
    file: str, ranges: list[str]
) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith(("#", "-r"))]
    pins = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in map(Requirement, lines)}
    allowed = {canonicalize_name(given.name): given.specifier for given in map(Requirement, ranges)}
    allowed.pop(canonicalize_name(PROJECT["name"]), None)  # an extra that contains another
    assert pins.keys() == allowed.keys()
    for name, version in pins.items():
        assert version in allowed[name], name
        assert {part.operator for part in allowed[name]} == {">=", "<"}, name


def test_the_package_alone_needs_only_what_its_code_imports() -> None:
    imported = {
        name.partition(".")[0]
        for path in (ROOT / "tnet_core").rglob("*.py")
        for name in re.findall(r"^ *(?:import|from) ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    providers = packages_distributions()
    used = {canonicalize_name(name) for module in imported for name in providers.get(module, [])}
    named = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    # pyvips loads the second by itself; timm, which has the backbones, imports the third
    assert named - used == {"pyvips-binary", "torchvision"} - used
    assert not named & {"gradio", "plotly", "accelerate", "pyarrow"}


@pytest.mark.slow
def test_the_core_traverses_where_the_extras_are_not_installed(tmp_path: Path) -> None:
    blocked = ("gradio", "plotly", "accelerate", "pyarrow", "pandas", "tensorboard", "onnx")
    photo = ROOT / "examples" / "nuthatch.jpg"
    code = f"""import sys
sys.modules.update(dict.fromkeys({blocked!r}))
import tnet_core as tn
trace = tn.traverse(tn.load("tnet-lite0-pets"), {str(photo)!r}, budget=(2,))
assert len(trace.locations) == 2 and trace._repr_html_()
sys.argv[0] = "tnet"
sys.exit(tn.command.main(["look", {str(photo)!r}, "--budget", "1"]))"""
    done = run_python("-c", code, cwd=ROOT, env=os.environ, folder=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_wheel_s_registry_lists_the_checkpoints_that_take_looks() -> None:
    text, folders = choose_checkpoints(ROOT)
    chosen = {entry.id: entry for entry in parse_registry(text.encode(), ROOT / "checkpoints.yaml")}
    shipped = tn.checkpoints.Registry.load()
    assert [*chosen] == [entry.id for entry in shipped if not entry.id.startswith("en-")]
    assert folders == [f"checkpoints/{identity}" for identity in chosen]
    assert all(entry == shipped.get(identity) for identity, entry in chosen.items())


def test_help_is_a_page_that_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == command.main(["--help"]) == 0
    page = capsys.readouterr().out
    for name in (*command.CORE, *command.CLONE):
        assert re.search(rf"^  {name} +\w", page, re.MULTILINE), name
    assert "tnet look photo.jpg" in page and max(map(len, page.splitlines())) <= 100
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tnet-explorer {tn.__version__}\n"


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["lok"]) == 2
    assert "did you mean 'look'?" in capsys.readouterr().err
    assert command.main(["\n"]) == 2
    assert "'tnet --help' lists them" in capsys.readouterr().err


def test_help_comes_before_pytorch() -> None:
    code = "import sys; from tnet_core.command import main; main(['--help']); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)


def test_the_package_s_face_offers_every_public_name() -> None:
    assert set(tn.__all__) <= set(dir(tn)) and callable(tn.build)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tn.nothing  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    build = ["-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", str(out), str(ROOT)]
    subprocess.run([sys.executable, *build], check=True, capture_output=True, timeout=300)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs' folder of a new environment that has the wheel, and borrows all that it depends on."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = home / "lib" / version / "site-packages"
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
    install = ["-m", "pip", "--python", str(home / "bin" / "python"), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([sys.executable, *install, str(wheel)], check=True, capture_output=True, timeout=300)
    return home / "bin"


def run(program: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "TNET_REGISTRY")}
    return subprocess.run([program, *arguments], cwd=cwd, env=clean, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_wheel_installs_the_core_alone_with_its_checkpoints(wheel: Path) -> None:
    assert wheel.name == f"tnet_explorer-{tn.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < LARGEST_WHEEL
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"tnet_core", f"tnet_explorer-{tn.__version__}.dist-info"}
    here = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tnet_core").rglob("*") if path.is_file()}
    assert {name for name in here if "__pycache__" not in name} <= set(names)
    assert "tnet_core/bundled/checkpoints/tnet-needles/model.safetensors" in names
    assert not [name for name in names if "checkpoints/en-" in name]


@pytest.mark.slow
def test_the_installed_package_looks_at_a_photograph_from_any_folder(installed: Path, tmp_path: Path) -> None:
    photo = str(ROOT / "examples" / "nuthatch.jpg")
    code = "import tnet_core as tn; print(tn.__file__); print(tn.checkpoints.Registry.load().ids[0])"
    where, first = run(installed / "python", "-c", code, cwd=tmp_path).stdout.split()
    assert Path(where).is_relative_to(installed.parent)
    done = run(installed / "tnet", "look", photo, "--budget", "2", "--json", "t.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"model {first} ") and "2 looks" in done.stdout
    again = run(installed / "tnet", "replay", "t.json", "--image", photo, cwd=tmp_path)
    assert again.returncode == 0 and "The replay passed" in again.stdout, again.stderr


@pytest.mark.slow
def test_commands_of_a_clone_run_its_code_and_say_elsewhere_where_to_get_it(installed: Path, tmp_path: Path) -> None:
    elsewhere = run(installed / "tnet", "train", "--list", cwd=tmp_path)
    assert (
        elsewhere.returncode == 2 and elsewhere.stderr.count("\n") == 1 and "clone the repository" in elsewhere.stderr
    )
    clone = tmp_path / "clone"
    for name, text in {
        "app.py": "import sys, tnet_core, training; print(tnet_core.__file__, sys.argv[1:]); sys.exit(7)",
        "tnet_core/__init__.py": "", "tnet_core/command.py": "", "training/__init__.py": "",
        "training/train.py": "import os, sys, training; print(training.__file__, os.getcwd(), sys.argv[1:])",
        "inside/training.py": "raise SystemExit('not this one')",
    }.items():  # fmt: skip
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text)
    app = run(installed / "tnet", "app", "--port", "7", cwd=clone / "inside")
    assert app.returncode == 7 and app.stdout.strip() == f"{clone}/tnet_core/__init__.py ['--port', '7']", app.stderr
    train = run(installed / "tnet", "train", "a b", cwd=clone / "inside")
    assert train.stdout.strip() == f"{clone}/training/__init__.py {clone}/inside ['a b']", train.stderr


GRADIO = ("gradio", "plotly", "starlette", "fastapi", "uvicorn", "pandas")  # and what comes with it
TRAINING = ("accelerate", "tensorboard")
OTHERS = ("mcp", "pyarrow", "onnx", "onnxruntime", "onnxscript")


def run_without(hidden: tuple[str, ...], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `tnet` in this clone, by a Python that cannot import some packages, and nor can those that it starts."""
    (folder / "sitecustomize.py").write_text(f"import sys; sys.modules.update(dict.fromkeys({hidden!r}))")
    return subprocess.run(
        [sys.executable, "-m", "tnet_core.command", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "extra"), [("app", "app"), ("train", "training"), ("adapt", "training")])
def test_a_clone_s_command_without_its_packages_says_what_to_install(name: str, extra: str, tmp_path: Path) -> None:
    done = run_without((*GRADIO, *TRAINING, *OTHERS), tmp_path, name, "--help")
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1, done.stderr
    assert f"pip install '.[{extra}]' in {ROOT}." in done.stderr
    assert extra in EXTRAS and f"pip install '.[{extra}]'" in (ROOT / "docs/command_line.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(command.CLONE))
def test_a_clone_s_command_needs_no_more_than_it_says_and_is_called_by_its_name(name: str, tmp_path: Path) -> None:
    extra = command.CLONE[name].extra
    hidden = (*({"app": (), "training": GRADIO}.get(extra, (*GRADIO, *TRAINING))), *OTHERS)
    done = run_without(hidden if name != "app" else OTHERS[2:], tmp_path, name, "--help")  # gradio asks for the others
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: app.py " if name == "app" else f"usage: tnet {name} ")


def test_a_command_run_as_a_module_is_called_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/evaluate.py"])
    assert command.name_program("training.evaluate") == "python -m training.evaluate"
    monkeypatch.setenv("TNET_SUB_COMMAND", "adapt")  # which runs it in its turn
    assert command.name_program("training.evaluate") == "python -m training.evaluate"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which is as a full disk")
def test_output_that_a_full_disk_does_not_take_is_one_sentence() -> None:
    for arguments in (["checkpoints", "list"], ["--help"], ["--version"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "tnet_core.command", *arguments], cwd=ROOT, stdout=full, stderr=subprocess.PIPE,
                text=True, timeout=300,
            )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert done.stderr == "Cannot write the output: No space left on device.\n"


def test_ctrl_c_ends_a_command_with_one_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["tnet"])
    monkeypatch.setattr("tnet_core.imageio.ImageSource.open", interrupt)
    for arguments in (["look", "photo.jpg"], ["replay", __file__, "--image", "photo.jpg"]):
        assert command.main(arguments) == 130
        assert capsys.readouterr().err == "Interrupted.\n"
    monkeypatch.setattr("importlib.import_module", interrupt)  # PyTorch takes seconds to be imported
    assert command.main(["traverse", "photographs", "--out", "looks.parquet"]) == 130


@pytest.mark.slow
def test_commands_refuse_bad_input_in_one_sentence_and_overwrite_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tnet"])
    photo = str(ROOT / "examples" / "nuthatch.jpg")
    (tmp_path / "mine.json").write_text("mine")
    look = ["look", photo, "--checkpoint", "tnet-needles", "--budget", "1,1"]
    for arguments in (
        ["look", "none.jpg"],
        ["look", "a\nb.jpg"],
        ["replay", "none.json", "--image", photo],
        ["checkpoints", "show", "nothing"],
        ["convert-official", "none", "out", "--preset", "cub-b0"],
        [*look, "--json", "mine.json"],
        [*look, "--json", "none/t.json"],
    ):
        assert command.main(arguments) == 2, arguments
        assert capsys.readouterr().err.count("\n") == 1, arguments
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]
    assert (tmp_path / "mine.json").read_text() == "mine"
    longest = "x" * 250 + ".json"
    assert command.main([*look, "--json", longest]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.json", longest]
