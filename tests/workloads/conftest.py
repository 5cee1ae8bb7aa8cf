"""A cluster whose workloads come alive, on virtual time."""

from collections.abc import AsyncIterator, Callable

import pytest

from attractor.testing import ClusterUnderTest, VirtualTime
from attractor.workloads import Behaviour

Clusters = Callable[..., ClusterUnderTest]


@pytest.fixture
async def cluster(virtual_time: VirtualTime) -> AsyncIterator[ClusterUnderTest]:
    async with ClusterUnderTest(virtual_time, workloads=True) as made:
        yield made


@pytest.fixture
async def slow_cluster(virtual_time: VirtualTime) -> AsyncIterator[ClusterUnderTest]:
    """Pods take five seconds to become ready and two to stop."""
    async with ClusterUnderTest(virtual_time, workloads=True, behaviour=Behaviour(ready_s=5, stop_s=2)) as made:
        yield made
