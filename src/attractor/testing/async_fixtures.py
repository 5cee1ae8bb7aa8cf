"""``attractor_cluster`` and ``virtual_time``, where pytest-asyncio is installed; ``fixtures`` loads them."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from attractor.testing.cluster import ClusterUnderTest
    from attractor.testing.virtual_time import VirtualTime


MODE = (
    "this test is async, and pytest-asyncio runs those that are marked only; write "
    'asyncio_mode = "auto" under [tool.pytest.ini_options] in pyproject.toml'
)


@pytest_asyncio.fixture
async def virtual_time() -> AsyncIterator[VirtualTime]:
    """Time that jumps: whenever nothing can happen before the next timer, the clock moves on to it."""
    from attractor.testing.virtual_time import VirtualTime

    clock = VirtualTime()
    with clock.install(asyncio.get_running_loop()):
        yield clock


@pytest.fixture
def chosen_clock(request: pytest.FixtureRequest) -> VirtualTime | None:
    """The test's virtual clock if it asks for one, whatever the order in which it names its fixtures."""
    clock: VirtualTime | None = None
    if "virtual_time" in request.fixturenames:
        clock = request.getfixturevalue("virtual_time")
    return clock


@pytest_asyncio.fixture
async def attractor_cluster(chosen_clock: VirtualTime | None) -> AsyncIterator[ClusterUnderTest]:
    """A cluster in this process, empty and gone after the test; under ``virtual_time`` its stamps are virtual too."""
    from attractor.testing.cluster import ClusterUnderTest
    from attractor.testing.faults import UnstruckFault

    async with ClusterUnderTest(chosen_clock) as made:
        yield made
    for fault in made.faults.unstruck:
        warnings.warn(f"a fault never struck, for no such request came: {fault}", UnstruckFault, stacklevel=1)


@pytest_asyncio.fixture
async def attractor_workloads(chosen_clock: VirtualTime | None) -> AsyncIterator[ClusterUnderTest]:
    """The same with Kubernetes' workload controllers and three simulated nodes: a Deployment becomes ready."""
    from attractor.testing.cluster import ClusterUnderTest

    async with ClusterUnderTest(chosen_clock, workloads=True) as made:
        yield made


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say how an async test with one of the fixtures is run, where pytest would say that something is missing."""
    is_async = inspect.iscoroutinefunction(getattr(item, "function", None))
    ours = {"attractor_cluster", "attractor_workloads", "virtual_time"}
    is_ours = not ours.isdisjoint(getattr(item, "fixturenames", ()))
    if is_async and is_ours and not any(item.get_closest_marker(name) for name in ("asyncio", "anyio")):
        pytest.fail(MODE, pytrace=False)
