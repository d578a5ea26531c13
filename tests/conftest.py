"""Settings for all tests: one thread each, and what stays together when several processes share the tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# Converting a model takes seconds; tests of the engine, of parity and of speed use it all the same.
os.environ.setdefault("TNET_ENGINE", "torch")

TESTS = Path(__file__).parent


def pytest_configure() -> None:
    """Keep absl from closing the stream that pytest captures, whenever a server sets up its logging.

    OpenVINO imports absl where TensorBoard brought it along.
    """
    try:
        from absl import logging
    except ImportError:
        return
    logging.get_absl_handler().python_handler.stream = sys.__stderr__


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the browser tests and begin with what takes longest: browser, training, other slow files, the rest."""
    import torch  # not above: the process that only shares the tests out would spend seconds on it

    torch.set_num_threads(1)  # the models of most tests are tiny: threads would cost more than they bring
    for item in items:
        if item.path.is_relative_to(TESTS / "browser"):
            item.add_marker(pytest.mark.browser)
    slow_files = {item.path for item in items if item.get_closest_marker("slow")}

    def turn(item: pytest.Item) -> int:
        if item.get_closest_marker("browser"):
            return 0
        if item.path in slow_files:
            return 1 if item.path.is_relative_to(TESTS / "training") else 2
        return 3

    items.sort(key=turn)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")


MAX_BROWSERS = 2  # at once, each beside an app of its own; they spend most of their time waiting for each other


class FilesTogether(LoadScopeScheduling):
    """Give a process one file at a time, so that its fixtures are made once, and browser tests to few processes.

    A process that has opened a browser goes on with the next browser file, whose tests share its Chromium and its apps;
    the others run everything else meanwhile. Cases named after a seed are trainings of their own and need not wait for
    one another.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, rest = nodeid.partition("::")
        return f"{file}[seed {rest.partition('[seed ')[2]}" if "[seed " in rest else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        drivers = [one for one, units in self.assigned_work.items() if any(map(_drives_browser, units))]
        browsers = min(MAX_BROWSERS, max(1, len(self.nodes) - 1))  # one process is left for the rest
        is_driver = node in drivers or len(drivers) < browsers
        first = next((unit for unit in self.workqueue if _drives_browser(unit) == is_driver), None)
        if first is not None:
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)


def _drives_browser(unit: str) -> bool:
    return unit.startswith("tests/browser/")


@pytest.hookimpl(optionalhook=True)  # known only where several processes share the tests
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether:
    return FilesTogether(config, log)
