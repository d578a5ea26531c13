"""Processes of tests that begin with PyTorch imported.

`python -m …` spends six seconds of a core on imports before it does anything, and tests start dozens of processes.
Here each is forked from a server that has imported the heavy libraries once (multiprocessing's fork server): a process
of its own with its own folder, environment, output, signals and exit code, only sooner. Nothing of this project, and
nothing that reads the environment when it is imported (Gradio, the Hub's client), is imported before.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
import types
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMPORTED = ["torch", "torchvision", "cv2", "PIL.Image", "yaml", "pandas", "fastapi", "uvicorn"]

_context = multiprocessing.get_context("forkserver")
_running: list[PythonProcess] = []


class PythonProcess:
    """Start `python ARGUMENTS`, where these are `-m MODULE …`, `-c CODE …` or `SCRIPT …`; offer what Popen does."""

    def __init__(
        self, *arguments: str, cwd: Path, env: Mapping[str, str], output: Path, errors: Path, new_session: bool = False
    ) -> None:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the server, read when PyTorch is imported
        _context.set_forkserver_preload(IMPORTED)
        self._process = _context.Process(
            target=_run_python, args=(arguments, cwd, dict(env), output, errors, new_session)
        )
        self._process.start()
        _running.append(self)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code once the process has ended; negative: the signal that ended it."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("python", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run_python(
    *arguments: str, cwd: Path, env: Mapping[str, str], folder: Path, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` to its end and return its code and output, which are kept in files of `folder`."""
    name = f"process-{time.monotonic_ns()}"
    output, errors = folder / f"{name}.out", folder / f"{name}.err"
    process = PythonProcess(*arguments, cwd=cwd, env=env, output=output, errors=errors)
    try:
        code = process.wait(timeout)
    finally:
        process.kill()
    return subprocess.CompletedProcess(list(arguments), code, output.read_text(), errors.read_text())


def run_ranks(
    *arguments: str, cwd: Path, env: Mapping[str, str], folder: Path, timeout: float
) -> list[subprocess.CompletedProcess[str]]:
    """Run `python ARGUMENTS` as two processes that know of each other, as `accelerate launch` would on two CPUs."""
    with socket.create_server(("localhost", 0)) as server:
        port = str(server.getsockname()[1])
    both = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": port}
    both |= {"ACCELERATE_USE_CPU": "true"}
    with ThreadPoolExecutor(2) as pool:
        started = [
            pool.submit(
                run_python, *arguments, cwd=cwd, env={**env, **both, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                folder=folder, timeout=timeout,
            )
            for rank in range(2)
        ]  # fmt: skip
        return [one.result() for one in started]


def _run_python(
    arguments: Sequence[str], cwd: Path, env: dict[str, str], output: Path, errors: Path, new_session: bool
) -> None:
    """Turn this fork into the process that the arguments describe."""
    multiprocessing.set_start_method(None, force=True)  # its own processes start as they always do, not as this one did
    if new_session:
        os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in ((1, output), (2, errors)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    # What was imported to get here is not there for the process, which may run another copy of the project.
    for name, module in list(sys.modules.items()):
        where = getattr(module, "__file__", None) or ""
        if where.startswith(f"{ROOT}/") and "site-packages" not in where:
            del sys.modules[name]
    own = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [str(cwd), *own, *(path for path in sys.path if path not in ("", str(ROOT)))]
    try:
        _execute(arguments)
    finally:
        atexit._run_exitfuncs()  # a process of multiprocessing ends without


def _execute(arguments: Sequence[str]) -> None:
    what, *rest = arguments
    if what == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif what == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(sys.modules["__main__"]))
    else:
        sys.argv = [what, *rest]
        runpy.run_path(what, run_name="__main__")


@atexit.register  # before multiprocessing waits for every process that a failed test left behind
def _end() -> None:
    for process in _running:
        process.kill()
