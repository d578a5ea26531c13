"""Runs the app from the Space's folder alone, in an environment of its own, and measures its landing.

Usage: python -m tools.check_space [FOLDER] [--python PATH]     (default folder: build/space)

Without --python: asks the package index whether every pinned package exists for the Space's Python, then installs them
into a new environment under build/ (about 6 GB, removed afterwards) and runs the app there. With --python, the app runs
in that existing environment, and nothing is installed or downloaded. Ends with 1 where the app does not run, with 2
where folder or Python are not there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from tools.make_space import OUT, ROOT, find_version, is_build
from tools.space_run import RunError, measure

# What a Space's machine takes: Linux on x86-64 with a C library from 2022 or later.
AS_SOURCE = frozenset({"pyvips"})  # Python alone, published without a wheel; libvips itself comes as one
PLATFORMS = ("manylinux2014_x86_64", *(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.check_space", description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", type=Path, nargs="?", default=OUT, help="what make_space wrote (default: build/space)"
    )
    parser.add_argument("--python", type=Path, metavar="PATH", help="run in this existing environment")
    options = parser.parse_args(arguments)
    try:
        check(options.folder, options.python)
    except RunError as error:
        print(error, file=sys.stderr)
        return 1
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def check(folder: Path, python: Path | None) -> None:
    if not is_build(folder):
        raise ValueError(f"'{folder}' is not a folder that make_space wrote; run `make space` first.")
    if python is not None and shutil.which(python) is None:
        raise ValueError(f"'{python}' is no Python that can be run.")
    if python is not None:
        report(folder, python)
        return
    for pin in read_pins(folder):
        check_wheel(pin, read_python_version(folder))
        print(f"{pin}: a wheel for Python {read_python_version(folder)}", flush=True)
    with create_environment(folder) as fresh:
        report(folder, fresh)


def report(folder: Path, python: Path) -> None:
    """Runs a copy of the folder, so that nothing beside it is there and nothing is written into it."""
    with tempfile.TemporaryDirectory() as temporary:
        alone, home = Path(temporary, "app"), Path(temporary, "home")
        shutil.copytree(folder, alone, ignore=shutil.ignore_patterns(".git"))
        home.mkdir()
        measured = measure(alone, python.absolute(), home)
    print(f"The app answers after {measured.answers:.1f} s.")
    print(f"The landing traversal is finished after {measured.landing:.1f} s, as seen by {measured.by}.")
    cores = len(os.sched_getaffinity(0))
    print(f"It computed for {measured.processor:.1f} s until then, on {cores} core(s) that others may share.")
    print(f"Most memory: {measured.peak_bytes / 1e9:.2f} GB.")


def read_pins(folder: Path) -> list[str]:
    return (folder / "requirements.txt").read_text(encoding="utf-8").split()


def read_python_version(folder: Path) -> str:
    front = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)[1]
    return str(yaml.safe_load(front)["python_version"])


def check_wheel(pin: str, version: str) -> None:
    """Fetches the wheel for the Space's Python and machine, and drops it."""
    machine = [word for platform in PLATFORMS for word in ("--platform", platform)]
    with tempfile.TemporaryDirectory() as temporary:
        built = [] if pin.partition("==")[0] in AS_SOURCE else ["--only-binary=:all:"]
        wanted = ["--no-deps", *built, "--python-version", version, *machine, "--dest", temporary, pin]
        try:
            run_pip(Path(sys.executable), "download", *wanted)
        except RunError as error:
            raise RunError(f"{pin} has no wheel for Python {version} on a Space: {error}") from None


@contextmanager
def create_environment(folder: Path) -> Iterator[Path]:
    """Create a virtual environment and yield its Python.

    The Hub adds Gradio's extras to what the folder requires, so they are installed too.
    """
    base = find_interpreter(read_python_version(folder))
    place = ROOT / "build" / "space-environment"
    shutil.rmtree(place, ignore_errors=True)
    try:
        subprocess.run([base, "-m", "venv", place], check=True)
        python = place / "bin" / "python"
        gradio = f"gradio[oauth,mcp]=={find_version('gradio', read_pins(folder))}"
        print(f"Installing into {place} (several minutes) …", flush=True)
        run_pip(python, "install", "--requirement", str(folder / "requirements.txt"), gradio)
        yield python
    finally:
        shutil.rmtree(place, ignore_errors=True)


def find_interpreter(version: str) -> str:
    """Return the Space's Python where this machine has it, otherwise this one, and say so."""
    candidates = [os.environ.get("PYTHON", ""), f"python{version}"]
    candidates += [str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))]
    test = f"import ensurepip, sys; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    for candidate in filter(None, candidates):
        try:
            if subprocess.run([candidate, "-c", test], capture_output=True, check=False).returncode == 0:
                return candidate
        except OSError:
            continue
    major, minor = sys.version_info[:2]
    print(f"Python {version} was not found; the app runs with Python {major}.{minor} instead.")
    return sys.executable


def run_pip(python: Path, *arguments: str) -> None:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    done = subprocess.run([python, "-m", "pip", arguments[0], *quiet, *arguments[1:]], capture_output=True, text=True)
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise RunError(told[-1].removeprefix("ERROR: ") if told else done.stderr.strip())


if __name__ == "__main__":
    raise SystemExit(main())
