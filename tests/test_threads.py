"""Commands keep OpenMP's waiting threads from spinning, before PyTorch is imported; importing the packages does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import startup

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
# Written when PyTorch begins to be imported, which is when its threads read the variable; nobody waits for the rest.
WATCH = """
import os, sys
def watch(event, values):
    if event == "import" and values[0] == "torch":
        with open(os.environ["WATCHED"], "w") as file:
            print(os.environ.get("OMP_WAIT_POLICY"), file=file)
        os._exit(0)
sys.addaudithook(watch)
"""
LOOK = ["examples/cat.jpg", "--checkpoint", "tnet-needles"]  # help needs no PyTorch
COMMANDS = {
    "python -m tnet_core": ("-m", "tnet_core", *LOOK),
    "python -m training.evaluate": ("-m", "training.evaluate", "--help"),
    "tnet look": ("-c", f"from tnet_core.command import main; main(['look', *{LOOK}])"),
    "python app.py": ("app.py", "--help"),
}


def find_policy(arguments: tuple[str, ...], folder: Path, value: str | None = None) -> str:
    """Return OMP_WAIT_POLICY at the moment when a Python process imports PyTorch."""
    (folder / "sitecustomize.py").write_text(WATCH)
    environment = {name: kept for name, kept in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"WATCHED": str(folder / "found.txt"), "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    environment |= {"TNET_ENGINE": "torch"} | ({} if value is None else {"OMP_WAIT_POLICY": value})
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr.decode()
    return (folder / "found.txt").read_text().strip()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_let_waiting_threads_sleep(command: str, tmp_path: Path) -> None:
    assert find_policy(COMMANDS[command], tmp_path) == "PASSIVE"


@pytest.mark.parametrize("command", ["python -m tnet_core", "python -m training.evaluate"])
def test_a_user_s_choice_is_kept(command: str, tmp_path: Path) -> None:
    assert find_policy(COMMANDS[command], tmp_path, value="ACTIVE") == "ACTIVE"


def test_importing_the_packages_sets_nothing(tmp_path: Path) -> None:
    assert find_policy(("-c", "import tnet_core, training; tnet_core.traverse"), tmp_path) == "None"


@pytest.mark.parametrize(
    ("contents", "quota"),
    [
        (["200000 100000\n"], 2),
        (["50000 100000\n"], 1),
        (["max 100000\n"], None),
        (["150000\n", "50000\n"], 3),
        (["-1\n", "100000\n"], None),
        ([], None),
    ],
)
def test_a_container_s_share_of_the_processors_is_found(
    contents: list[str], quota: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / str(number) for number in range(max(len(contents), 1))]
    for file, content in zip(files, contents, strict=False):
        file.write_text(content)
    monkeypatch.setattr(startup, "QUOTAS", (("nowhere",), tuple(map(str, files))))
    assert startup.find_quota() == quota


def test_no_more_threads_than_a_container_has_processors_unless_the_user_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(startup, "find_quota", lambda: 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setenv("OMP_NUM_THREADS", "")  # so that it is restored afterwards
    monkeypatch.delenv("OMP_NUM_THREADS")
    startup.set_threads()
    assert os.environ["OMP_NUM_THREADS"] == "2"
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    startup.set_threads()
    assert os.environ["OMP_NUM_THREADS"] == "5"


def test_what_starts_before_pytorch_does_not_import_it() -> None:
    code = "import sys; sys.argv[0] = 'app.py'; import startup; print(startup.started, 'torch' in sys.modules)"
    environment = {**os.environ, "TNET_ENGINE": "torch"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, timeout=60)
    assert done.stdout == b"None False\n", done.stderr.decode()
