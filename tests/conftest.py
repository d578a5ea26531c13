"""Settings for all tests: one thread each, and what stays together when several processes share the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

# The models of most tests are tiny: threads would cost more than they bring.
torch.set_num_threads(1)

BROWSER_TESTS = Path(__file__).parent / "browser"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the browser tests, keep each file in one process and begin with what takes longest.

    Fixtures of a file are made once that way. All browser tests are one group, so that they share one Chromium and
    one app, and so that no two of them compete for the machine while one of them waits for a page.
    """
    for item in items:
        if item.path.is_relative_to(BROWSER_TESTS):
            item.add_marker(pytest.mark.browser)
        if item.get_closest_marker("xdist_group") is None:
            group = "browser" if item.get_closest_marker("browser") else item.nodeid.partition("::")[0]
            item.add_marker(pytest.mark.xdist_group(group))
    slow_files = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("long")}
    items.sort(key=lambda item: 0 if item.get_closest_marker("browser") else 1 if item.path in slow_files else 2)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
