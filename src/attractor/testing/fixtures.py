"""The pytest plugin: ``attractor_cluster`` and ``virtual_time``, loaded by itself; async tests need pytest-asyncio.

Where pytest-asyncio is missing, other tests run all the same, and one that asks for a fixture is told what to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import NoReturn

import pytest

MISSING = "the fixture `{}` needs pytest-asyncio; install it with: pip install 'attractor[testing]'"


class WithoutAsync:
    """The fixtures by name, for a person who has to install something first."""

    @pytest.fixture
    def attractor_cluster(self) -> NoReturn:
        """Say what is missing."""
        pytest.fail(MISSING.format("attractor_cluster"), pytrace=False)

    @pytest.fixture
    def attractor_workloads(self) -> NoReturn:
        """Say what is missing."""
        pytest.fail(MISSING.format("attractor_workloads"), pytrace=False)

    @pytest.fixture
    def virtual_time(self) -> NoReturn:
        """Say what is missing."""
        pytest.fail(MISSING.format("virtual_time"), pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    """Bring the fixtures, if they can work."""
    try:
        import_module("pytest_asyncio")
    except ModuleNotFoundError:
        config.pluginmanager.register(WithoutAsync(), "attractor-without-async")
    else:
        config.pluginmanager.register(import_module("attractor.testing.async_fixtures"), "attractor-async")
