"""Watch delivery without the writing: events from the store to 100 watchers over HTTP, at several rates.

The server's process puts the events into its own store, which takes some 20 us each, so that nearly all of its time
is that of telling watchers; ``apiserver.py`` measures the same with writers over HTTP. The server has one core, the
watchers another. ``--slow`` adds a watcher that never reads. JSON on stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from attractor import __version__
from attractor.apiserver.auth.authorizer import MASTERS
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import Authenticator
from loadclient import Target
from watchload import NAP_S, STAMP, Apart, Heard, connected, receive

COLLECTION = "/api/v1/namespaces/default/configmaps"
KEY = "core/configmaps/default/watched"
OBJECT = (
    b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"watched","namespace":"default"},"data":{"filling":"%s",'
    % (b"v" * 800)
)
RATES = (1_000, 5_000, 10_000, 20_000)
WATCHERS = 100
SAMPLED = 5


def serve(pipe: Connection, core: int) -> None:
    os.sched_setaffinity(0, {core})
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    """Say the port, then put as many events a second for so long as the pipe says, and say what that took."""
    authenticator = Authenticator({"bench": User("admin", "admin", (MASTERS,))})
    async with EmbeddedCluster(controllers=(), authenticator=authenticator) as cluster:
        pipe.send((await cluster.listen()).port)
        loop = asyncio.get_running_loop()
        while (asked := await loop.run_in_executor(None, pipe.recv)) is not None:
            pipe.send(await _put(cluster, *asked))


async def _put(cluster: EmbeddedCluster, per_s: int, seconds: float) -> tuple[int, float, float]:
    """How many events there were, in how many seconds, with how much processor time."""
    total, sent = max(1, int(per_s * seconds)), 0
    cpu_s, started = time.process_time(), time.monotonic()
    while sent < total:
        for _ in range(min(total, int((time.monotonic() - started) * per_s) + 1) - sent):
            stamp = (STAMP % time.monotonic()).removeprefix(b'{"data":{')
            await cluster.store.commit({}, puts={KEY: OBJECT + stamp})
            sent += 1
        await asyncio.sleep(NAP_S)
    return total, time.monotonic() - started, time.process_time() - cpu_s


async def measured(server: Apart, target: Target, per_s: int, seconds: float, *, slow: bool) -> dict[str, Any]:
    path = f"{COLLECTION}?watch=true&fieldSelector=metadata.name%3Dwatched"
    alone, _, alone_cpu_s = await _asked(server, per_s, seconds / 2)
    stalled = connected(target) if slow else None
    if stalled is not None:
        stalled.sendall(target.request("GET", path))
    watchers = Apart(receive, target, path, WATCHERS, SAMPLED)
    assert await watchers.said() == "watching"
    count, took_s, cpu_s = await _asked(server, per_s, seconds)
    watchers.pipe.send(count)
    heard: Heard = await watchers.said()
    if stalled is not None:
        stalled.close()
    ages, telling_s = sorted(heard.ages_s), cpu_s - count * alone_cpu_s / alone
    return {
        "events_per_s": round(count / took_s),
        "deliveries_per_s": round(count * WATCHERS / took_s),
        "p50_ms": round(ages[len(ages) // 2] * 1000, 2),
        "p99_ms": round(ages[int(len(ages) * 0.99)] * 1000, 2),
        "missed": sum(count - events for events in heard.events),
        "events_at_once": round(count * WATCHERS / heard.reads, 1),
        "server_of_a_core": round(cpu_s / took_s, 2),
        "telling_us_per_event": round(telling_s / count * 1e6, 1),
        "telling_us_per_send": round(telling_s / heard.reads * 1e6, 1),
        "watchers_of_a_core": round(heard.cpu_s / took_s, 2),
    }


async def _asked(server: Apart, per_s: int, seconds: float) -> Any:
    server.pipe.send((per_s, seconds))
    return await server.said()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--slow", action="store_true")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    server = Apart(serve, cores[0])
    if len(cores) > 1:
        os.sched_setaffinity(0, set(cores[1:]))
    target = Target("127.0.0.1", await server.said(), "bench")
    await _asked(server, 1, 1)
    report: dict[str, Any] = {"version": __version__, "python": platform.python_version(), "watchers": WATCHERS}
    report["rates"] = {per_s: await measured(server, target, per_s, args.seconds, slow=args.slow) for per_s in RATES}
    server.pipe.send(None)
    json.dump(report, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    asyncio.run(main())
