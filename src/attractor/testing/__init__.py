"""Test tools for those who write controllers and specifications: a cluster in process, time that jumps, faults.

    async def test_a_pair_appears(attractor_cluster, virtual_time):
        async with attractor_cluster.running(pairs):
            await attractor_cluster.client.create(ConfigPair(...))
            await eventually(lambda: attractor_cluster.client.get(ConfigMap, key))

Two pytest plugins are loaded by pytest itself: ``fixtures`` (``attractor_cluster``, ``attractor_workloads`` and
``virtual_time``) and ``plugin``
(verdicts of the checker). Read ``cluster`` first, then ``virtual_time``, ``faults`` and ``request_log``. Names are
imported when first used, so that pytest starts as fast as without.

``directed`` runs the product step by step as told, ``replay`` carries counterexamples out in it, ``recording`` keeps
real runs and lets a world follow them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attractor.runtime import effects
    from attractor.runtime.steps import Steps
    from attractor.testing.cluster import ClusterUnderTest
    from attractor.testing.faults import FaultInjector
    from attractor.testing.generated_objects import assert_round_trips, generated
    from attractor.testing.recording import Recorder, Recording
    from attractor.testing.recording.admission import follow
    from attractor.testing.replay import Turn, withstand
    from attractor.testing.request_log import LoggedRequest, RequestLog
    from attractor.testing.virtual_time import VirtualTime
    from attractor.testing.waiting import eventually

__all__ = [
    "ClusterUnderTest",
    "FaultInjector",
    "LoggedRequest",
    "Recorder",
    "Recording",
    "RequestLog",
    "Steps",
    "Turn",
    "VirtualTime",
    "assert_round_trips",
    "effects",
    "eventually",
    "follow",
    "generated",
    "withstand",
]

_HOMES = {
    "attractor.runtime": ("effects",),
    "attractor.runtime.steps": ("Steps",),
    "attractor.testing.cluster": ("ClusterUnderTest",),
    "attractor.testing.faults": ("FaultInjector",),
    "attractor.testing.generated_objects": ("assert_round_trips", "generated"),
    "attractor.testing.recording": ("Recorder", "Recording"),
    "attractor.testing.recording.admission": ("follow",),
    "attractor.testing.replay": ("Turn", "withstand"),
    "attractor.testing.request_log": ("LoggedRequest", "RequestLog"),
    "attractor.testing.virtual_time": ("VirtualTime",),
    "attractor.testing.waiting": ("eventually",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
