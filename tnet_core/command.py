"""Command lines: `tnet` with its sub-commands, and how every command ends.

`tnet` imports nothing but this file until it knows which sub-command is meant, so that its help appears at once. Those
of the core run in this process. The others need the app's or the training's code, which is not part of the installed
package: they run the code of the clone that the current folder belongs to, in a Python of its own.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from tnet_core.errors import TNetError, reason


class Command(NamedTuple):
    """A sub-command of `tnet`: the module it runs, what is put before its arguments, and a line of help.

    `needs` are modules that the package alone does not bring, and `extra` is what `pip install '.[EXTRA]'` brings them.
    """

    module: str
    help: str
    before: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    extra: str = ""


CORE = {
    "look": Command("tnet_core.__main__", "look at a picture: every look, its share of the decision, the classes"),
    "replay": Command(
        "tnet_core.__main__", "take the looks of a saved trace again and compare all numbers", ("replay",)
    ),
    "checkpoints": Command("tnet_core.checkpoints.__main__", "list, show, verify and add checkpoints"),
    "convert-official": Command("tnet_core.official.__main__", "convert the authors' TensorFlow weights"),
    "traverse": Command("tnet_core.batch.__main__", "take the looks of a whole data set; tables as Parquet files"),
    "export": Command("tnet_core.export", "write a checkpoint as ONNX graphs, to be used without PyTorch"),
}
_TRAINING = ("accelerate", "tensorboard")
CLONE = {
    "app": Command(
        "app", "the app, in a browser on this machine", needs=("gradio", "plotly", "starlette"), extra="app"
    ),
    "train": Command("training.train", "train a model by a recipe", needs=_TRAINING, extra="training"),
    "evaluate": Command("training.evaluate", "measure a checkpoint on images with known classes"),
    "adapt": Command(
        "training.adapt", "teach a pretrained classifier where to look", needs=_TRAINING, extra="training"
    ),
    "bundle": Command("training.bundle", "make a checkpoint ready to share: half precision, model card"),
    "publish": Command("training.publish", "put a checkpoint on the Hugging Face Hub"),
}
_NO_MEMORY = re.compile("out of memory|can't allocate memory|not enough memory")  # as PyTorch says it
# What 'accelerate launch' sets where processes have to find one another.
LAUNCHED = ("RANK", "LOCAL_RANK", "MASTER_ADDR")
_SUB_COMMAND = "TNET_SUB_COMMAND"  # tells the Python that runs a clone's command which one it is


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tnet SUB-COMMAND …` and return its exit status."""
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments)] or ["--help"]
    return run_command(lambda: _run(name, rest))


def _run(name: str, rest: list[str]) -> int:
    if name in ("--help", "-h", "help"):
        print(describe_commands())
        return 0
    if name == "--version":
        from tnet_core import __version__

        print(f"tnet-explorer {__version__}")
        return 0
    if name in CLONE:
        run_in_clone(name, rest)
    if name not in CORE:
        near = difflib.get_close_matches(name, [*CORE, *CLONE], n=1)
        hint = f"did you mean '{near[0]}'?" if near else "'tnet --help' lists them."
        raise TNetError(f"tnet has no sub-command {name!r:.60}; {hint}")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # PyTorch's threads read it when it is imported
    sys.argv[0] = f"tnet {name}"
    command = CORE[name]
    status: int = importlib.import_module(command.module).main([*command.before, *rest])
    return status


def describe_commands() -> str:
    """Return the page that `tnet --help` prints."""
    width = max(map(len, (*CORE, *CLONE)))
    core, clone = (
        "\n".join(f"  {name:<{width}}  {command.help}" for name, command in commands.items())
        for commands in (CORE, CLONE)
    )
    return f"""usage: tnet SUB-COMMAND …

TNet is an image classifier that looks at a thumbnail, chooses where to look closer, and
decides from the few regions it looked at. These commands show where it looks and why.

Start with any photograph:
  tnet look photo.jpg

Everywhere:
{core}

In a clone of the project, whose code they run:
{clone}

'tnet SUB-COMMAND --help' explains one of them, 'tnet --version' prints the version."""


def name_program(module: str) -> str:
    """Return what a command is called in its help: `tnet NAME`, or `python -m MODULE` where it was run that way."""
    if sys.argv[0].startswith("tnet "):
        return sys.argv[0]
    name = os.environ.get(_SUB_COMMAND, "")
    return f"tnet {name}" if name in CLONE and CLONE[name].module == module else f"python -m {module}"


def run_in_clone(name: str, arguments: Sequence[str]) -> NoReturn:
    """Replace this process by a new Python that runs a command of the clone, which comes first on its path."""
    clone = find_clone()
    if clone is None:
        raise TNetError(
            f"'tnet {name}' runs code of the project's repository, which is not part of the installed package: "
            "clone the repository and call it in a folder of the clone."
        )
    module, needs, extra = CLONE[name].module, CLONE[name].needs, CLONE[name].extra
    missing = [need for need in needs if importlib.util.find_spec(need) is None]
    if missing:
        raise TNetError(
            f"'tnet {name}' needs packages that are not installed ({', '.join(missing)}): "
            f"run pip install '.[{extra}]' in {clone}."
        )
    code = [str(clone / "app.py")] if module == "app" else ["-m", module]
    path = os.pathsep.join([str(clone), *filter(None, [os.environ.get("PYTHONPATH")])])
    # -P: neither the current folder nor that of a script comes before the clone. The new Python takes this one's
    # place, so that signals reach it and its exit status is the command's.
    sys.stdout.flush()
    environment = {**os.environ, "PYTHONPATH": path, _SUB_COMMAND: name}
    os.execve(sys.executable, [sys.executable, "-P", *code, *arguments], environment)


def find_clone() -> Path | None:
    """Return the clone that the current folder lies in, or else the one that this code was imported from."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise TNetError("The current folder is not there any more; change to another one.") from None
    for folder in (here, *here.parents, Path(__file__).resolve().parents[1]):
        if all((folder / part).is_file() for part in ("app.py", "tnet_core/command.py", "training/train.py")):
            return folder
    return None


def parse_budget(text: str | None) -> tuple[int, ...] | None:
    """Return the looks per grid that an option such as '4,2' names; None where it is not given."""
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise TNetError(f"A budget is whole numbers separated by commas, not '{text}'.") from None


def parse_levels(text: str | None) -> int | Literal["auto"] | None:
    """Return the number of levels that an option names, or 'auto'; None where it is not given."""
    if text is None:
        return None
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise TNetError(f"The number of levels is a whole number or 'auto', not '{text}'.")
    return int(text)


def parse_policy(text: str) -> str | list[int]:
    """Return a policy's name, or the cells that an option such as '3,7' names."""
    parts = text.split(",")
    return [int(part) for part in parts] if all(part.strip().isdecimal() for part in parts) else text


def run_command(run: Callable[[], int | None], interrupted: str = "Interrupted.", prefix: str = "") -> int:
    """Run a command and return its exit status: its own (None: 0), 2 after an error in one sentence, 130 after Ctrl-C.

    `run` reads the arguments too, so that a help text also ends well on a full disk or where letters are missing.
    `prefix` is put before the sentence about an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
    try:
        status = run() or 0
        sys.stdout.flush()  # here and not when Python ends, where an error has no sentence
        return status
    except TNetError as error:
        _say(prefix + str(error))
        return 2
    except KeyboardInterrupt:
        _say(interrupted)
        return 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        discard_output()
        return 1
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not _NO_MEMORY.search(str(error)):
            raise
        _say(f"{prefix}The command cannot go on: there is not enough memory for that many images or numbers at a time.")
        return 2
    except OSError as error:
        what = "write the output" if error.filename is None else f"use '{error.filename}'"
        _say(f"{prefix}Cannot {what}: {reason(error)}.")
        discard_output()
        return 2


def discard_output() -> None:
    """Send nowhere what is still to be printed: what could not be written would be tried again at the end."""
    with suppress(OSError, ValueError):  # an output that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def count_processes(*needed: str) -> int:
    """Return how many processes a launcher started, 1 without one; `needed` are variables that it must have set too."""
    count = read_number("WORLD_SIZE", 1)
    missing = [variable for variable in needed if count > 1 and not os.environ.get(variable)]
    if missing:
        raise TNetError(
            f"WORLD_SIZE asks for {count} processes, but {', '.join(missing)} is not set: start them with 'accelerate "
            "launch', or unset WORLD_SIZE."
        )
    return count


def read_number(variable: str, default: int) -> int:
    """Return the whole number in an environment variable that launchers of several processes set."""
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal():
        raise TNetError(f"The environment variable {variable} is {text!r:.40}, but must be a whole number; unset it.")
    return int(text)


def is_first_process() -> bool:
    """Return whether this process speaks: what there is to say is said once, not by every process of several."""
    return os.environ.get("WORLD_SIZE", "1") in ("", "1") or os.environ.get("RANK", "0") == "0"


def _say(sentence: str) -> None:
    if is_first_process():
        print(*sentence.splitlines(), file=sys.stderr)  # one line, whatever a file's name holds


def warn_of_lone_process() -> None:
    """Say so where Accelerate was asked for several processes and, since --multi_gpu is missing, started one."""
    count, started = read_launched_count(_read_parent_command()), count_processes()
    if count > 1 and started == 1:
        print(
            f"Accelerate started one process, not {count}: add --multi_gpu to 'accelerate launch', also without a GPU.",
            file=sys.stderr,
        )


def _read_parent_command() -> list[str]:
    """Return the words of the command that started this process; none where they cannot be read."""
    try:
        return Path(f"/proc/{os.getppid()}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def read_launched_count(words: Sequence[str]) -> int:
    """Return how many processes an 'accelerate launch' asks for; 1 for any other command."""
    if not any("accelerate" in word for word in words):
        return 1
    pairs = [part for word in words for part in word.split("=", 1)]
    for name, value in pairwise(pairs):
        if name.replace("-", "_") == "__num_processes" and value.isdigit():
            return int(value)
    return 1


if __name__ == "__main__":
    sys.exit(main())
