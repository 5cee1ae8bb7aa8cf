"""``cluster`` and ``virtual_time``, where pytest-asyncio is installed; ``fixtures`` loads them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from attractor.testing.cluster import ClusterUnderTest
    from attractor.testing.virtualtime import VirtualTime


@pytest_asyncio.fixture
async def virtual_time() -> AsyncIterator[VirtualTime]:
    """Time that jumps: whenever nothing can happen before the next timer, the clock moves on to it."""
    from attractor.testing.virtualtime import VirtualTime

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
async def cluster(chosen_clock: VirtualTime | None) -> AsyncIterator[ClusterUnderTest]:
    """A cluster in this process, empty and gone after the test; under ``virtual_time`` its stamps are virtual too."""
    from attractor.testing.cluster import ClusterUnderTest

    async with ClusterUnderTest(chosen_clock) as made:
        yield made
