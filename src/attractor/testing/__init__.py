"""Test tools for controllers: a cluster in the test's own process, time that jumps, faults, a log of requests.

    async def test_a_pair_appears(cluster):
        await cluster.install(ConfigPair)
        async with cluster.running(pairs):
            await cluster.client.create(ConfigPair(...))
            await eventually(lambda: cluster.client.get(ConfigMap, key))

The pytest plugin (``attractor.testing.fixtures``, loaded by itself) provides ``cluster`` and ``virtual_time``. Read
``cluster`` first, then ``virtualtime``, ``faults`` and ``requestlog``.
"""

from attractor.testing.cluster import ClusterUnderTest
from attractor.testing.eventually import eventually
from attractor.testing.faults import Faults
from attractor.testing.requestlog import LoggedRequest, RequestLog
from attractor.testing.virtualtime import VirtualTime

__all__ = ["ClusterUnderTest", "Faults", "LoggedRequest", "RequestLog", "VirtualTime", "eventually"]
