"""Test tools for those who write controllers and specifications: a cluster in process, time that jumps, faults.

    async def test_a_pair_appears(attractor_cluster, virtual_time):
        async with attractor_cluster.running(pairs):
            await attractor_cluster.client.create(ConfigPair(...))
            await eventually(lambda: attractor_cluster.client.get(ConfigMap, key))

Two pytest plugins are loaded by pytest itself: ``fixtures`` (``attractor_cluster`` and ``virtual_time``) and ``plugin``
(verdicts of the checker). Read ``cluster`` first, then ``virtual_time``, ``faults`` and ``request_log``. Names are
imported when first used, so that pytest starts as fast as without.

``directed`` runs the product step by step as told, ``replay`` carries counterexamples out in it, ``recording`` keeps
real runs and lets a world follow them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attractor.testing.cluster import ClusterUnderTest
    from attractor.testing.faults import FaultInjector
    from attractor.testing.request_log import LoggedRequest, RequestLog
    from attractor.testing.virtual_time import VirtualTime
    from attractor.testing.waiting import eventually

__all__ = ["ClusterUnderTest", "FaultInjector", "LoggedRequest", "RequestLog", "VirtualTime", "eventually"]

_HOMES = {
    "ClusterUnderTest": "cluster",
    "FaultInjector": "faults",
    "LoggedRequest": "request_log",
    "RequestLog": "request_log",
    "VirtualTime": "virtual_time",
    "eventually": "waiting",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
