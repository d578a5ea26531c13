"""Assembles the folder to push to a Hugging Face Space.

Usage: python -m tools.make_space [OUT]     (default: build/space)

The same commit gives the same folder, byte for byte. Only files that git knows are copied, as they are in the work
tree. A folder that an earlier call made is made anew; a `.git` inside it stays, so it can be a clone of the Space.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "space"
PARTS = (
    "app.py", "startup.py", "pages", "viz", "tnet_core", "checkpoints.yaml", "checkpoints", "examples",
    "LICENSE", "NOTICE",
    # of training, what measures a visitor's own data and what that imports
    "training/__init__.py", "training/data", "training/evaluation",
    "training/recipes/recipe.py", "training/recipes/checks.py",
    "training/recipes/reading.py",
)  # fmt: skip
TEXT = "tools/space_readme.md"  # front matter and text of the Space's README.md
MARK = "# Made by tools/make_space.py."  # first line of .gitattributes: tells a former build
ZERO_GPU = "spaces==0.51.3"  # runs the traversal on ZeroGPU hardware; does nothing elsewhere
MAX_PLAIN_BYTES = 10_000_000  # bytes; the Hub refuses larger files outside Git LFS


class SpaceError(ValueError):
    """The folder cannot be made; the message is one sentence for whoever asked."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.make_space", description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", default=OUT, help="folder to write (default: build/space)")
    options = parser.parse_args(arguments)
    try:
        files = assemble(options.out)
    except (SpaceError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    size = sum((options.out / file).stat().st_size for file in files)
    print(f"{options.out}: {len(files)} files, {size / 1e6:.1f} MB")
    for line in run_git(ROOT, "status", "--porcelain", "--", *PARTS, TEXT, "requirements.txt").splitlines():
        print(f"{line[3:]}: {'left out, git does not know it' if line[:2] == '??' else 'not committed yet'}")
    return 0


def assemble(out: Path, root: Path = ROOT) -> list[str]:
    """Writes the folder; the names of its files, sorted."""
    prepare_folder(out)
    tracked = list_tracked_files(root)
    for name in tracked:
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target)
    pins = read_requirements((root / "requirements.txt").read_text(encoding="utf-8"))
    write_text(out / "requirements.txt", "\n".join([*pins, ""]))
    write_text(out / "README.md", build_readme((root / TEXT).read_text(encoding="utf-8"), pins, find_hub_names(root)))
    own = ["README.md", "requirements.txt"]
    write_text(out / ".gitattributes", build_attributes(out, sorted([*tracked, *own])))
    return sorted([*tracked, *own, ".gitattributes"])


def prepare_folder(out: Path) -> None:
    """Make an empty folder; only what this command made before may be removed."""
    if out.exists() and not out.is_dir():
        raise SpaceError(f"'{out}' is a file; name a folder for the Space.")
    present = sorted(out.iterdir()) if out.is_dir() else []
    if any(path.name != ".git" for path in present) and not is_build(out):
        raise SpaceError(f"'{out}' has files that make_space did not write; name an empty or a new folder.")
    for path in present:
        if path.is_dir() and not path.is_symlink():
            if path.name != ".git":
                shutil.rmtree(path)
        else:
            path.unlink()
    out.mkdir(parents=True, exist_ok=True)


def is_build(folder: Path) -> bool:
    """Whether an earlier call made this folder."""
    file = folder / ".gitattributes"
    return file.is_file() and file.read_text(encoding="utf-8", errors="replace").startswith(MARK)


def list_tracked_files(root: Path) -> list[str]:
    """List the files of the app that git tracks; every part must be there."""
    names = [name for name in run_git(root, "ls-files", "-z", "--", *PARTS).split("\0") if name]
    for part in PARTS:
        if not any(name == part or name.startswith(f"{part}/") for name in names):
            raise SpaceError(f"'{part}' is not in the repository, and the Space needs it.")
    for name in names:
        if not (root / name).is_file() or (root / name).is_symlink():
            raise SpaceError(f"'{name}' is in the repository but not a file of the work tree.")
    return sorted(names)


def run_git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise SpaceError(f"'{root}' is no git repository, so the files of the Space are not known.") from None
    return done.stdout


def read_requirements(text: str) -> list[str]:
    """Return the app's pins, and the package for ZeroGPU."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    pins = [line for line in lines if line]
    if loose := [pin for pin in pins if "==" not in pin]:
        raise SpaceError(f"requirements.txt: '{loose[0]}' does not name an exact version.")
    return sorted([*pins, ZERO_GPU], key=str.lower)


def find_version(package: str, pins: Iterable[str]) -> str:
    return next(pin.partition("==")[2] for pin in pins if pin.partition("==")[0] == package)


def find_hub_names(root: Path) -> dict[str, list[str]]:
    """Models and data sets of the Hub that the registry names."""
    registry = yaml.safe_load((root / "checkpoints.yaml").read_text(encoding="utf-8"))
    entries: list[dict[str, Any]] = registry["checkpoints"]
    places = [entry.get(field, {}).get("repo") for entry in entries for field in ("source", "hub")]
    found = {"models": places, "datasets": [entry.get("examples", {}).get("dataset") for entry in entries]}
    return {field: sorted({name for name in names if name}) for field, names in found.items()}


def build_readme(text: str, pins: Iterable[str], hub: dict[str, list[str]]) -> str:
    """Return the Space's README: the Hub installs the Gradio that the front matter names, so it is the pinned one."""
    _, front, body = text.split("---\n", 2)
    settings: dict[str, Any] = {}
    for name, value in yaml.safe_load(front).items():
        settings[name] = value
        if name == "sdk":
            settings["sdk_version"] = find_version("gradio", pins)
    settings |= {field: names for field, names in hub.items() if names}
    return f"---\n{yaml.safe_dump(settings, allow_unicode=True, sort_keys=False)}---\n{body}"


def build_attributes(out: Path, names: Iterable[str]) -> str:
    """Git LFS for what the Hub refuses to take otherwise: binary files of any size, and large ones."""
    rules = [f"{name} filter=lfs diff=lfs merge=lfs -text" for name in names if needs_lfs(out / name)]
    return "\n".join([MARK, *rules, ""])


def needs_lfs(file: Path) -> bool:
    with file.open("rb") as content:
        binary = b"\0" in content.read(8000)  # git's own rule
    return binary or file.stat().st_size > MAX_PLAIN_BYTES


def write_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    raise SystemExit(main())
