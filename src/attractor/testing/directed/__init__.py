"""A directed runtime: production managers on an embedded server, in which nothing happens until somebody says so.

    async with DirectedRuntime([pairs], objects=[...]) as runtime:
        await runtime.start("host1")
        await runtime.list("host1", ConfigMap)                         # the cache lists, and watches from there
        key = await runtime.begin("host1", "pairs")                    # a worker takes a key
        await runtime.go_on("host1", "pairs", key)                     # one effect: a read of the cache, a request
        await runtime.go_on("host1", "pairs", key, "answer lost")
        await runtime.deliver("host1", ConfigMap)                      # one watch event reaches the cache
        await runtime.crash("host1")

Everything in it is the product: manager, cache, work queue, client, API server. Only what decides *when* is
replaced, at seams that the product has anyway: the transport (requests and watch streams wait for their turn), the
queue of a running controller (workers and timers do), the declared reconcile function (each effect does), the clock.
Read ``gates`` first, then ``host`` and ``runtime``. What is asked for and cannot happen raises ``Departed``.
"""

from attractor.testing.directed.gates import Departed
from attractor.testing.directed.host import Host
from attractor.testing.directed.runtime import DirectedRuntime
from attractor.testing.directed.transport import Outcome, Performed

__all__ = ["Departed", "DirectedRuntime", "Host", "Outcome", "Performed"]
