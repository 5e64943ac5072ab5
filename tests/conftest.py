"""Settings of all tests. Tests of extras: `@pytest.mark.extra("torch", …)` names the packages a test needs.

Where one is missing the test is skipped. `make test-extras` runs just these tests where all are installed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest
from hypothesis import settings

from tests.demos import DemoRun, run_demo, shared_home

# How long an example takes says something about the machine, not about the code.
settings.register_profile("failscape", deadline=None)
settings.load_profile("failscape")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], DemoRun]:
    """The demo of a kind of hunt, with a small budget."""
    home = shared_home(tmp_path_factory.getbasetemp())
    return lambda kind: run_demo(home, kind)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        needed = {package for mark in item.iter_markers("extra") for package in mark.args}
        missing = sorted(package for package in needed if find_spec(package) is None)
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))
