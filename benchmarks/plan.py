"""Plans of 1,000 objects against a straight loop of the same requests, on a server in this process.

Three jobs: create all (1 Secret, then 999 ConfigMaps in ten layers), make the plan again when there is nothing to do,
and delete all but one. Reported: processor time of the whole process (server included) in milliseconds, the best of
``--rounds``, and the requests that each way made. `--objects 200` takes fewer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, cast

from attractor import __version__
from attractor.client import Client
from attractor.k8s.core_v1 import ConfigMap, Secret
from attractor.objects.errors import AlreadyExists
from attractor.objects.resource import ObjectMeta, Resource
from attractor.plan import Chain, Compare, Freeze, ObjectGraph, Own, Plan, Ref, RemoveOrphans, SecretsFirst, Snapshot
from attractor.plan.comparison import marked
from attractor.runtime import Context
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller
from attractor.runtime.worker.driver import drive
from attractor.runtime.worker.performer import Performer
from attractor.testing import ClusterUnderTest

LAYERS = 10


def wanted(count: int) -> list[Resource]:
    meta = [ObjectMeta(name=f"object-{number}", namespace="default") for number in range(count)]
    return [Secret(metadata=meta[0], data={"a": b"1"}), *(ConfigMap(metadata=one, data={"a": "1"}) for one in meta[1:])]


def plan_for(root: Resource, snapshot: Snapshot, objects: list[Resource]) -> Plan:
    def layers(graph: ObjectGraph) -> None:
        width = max(1, len(objects) // LAYERS)
        for below, above in zip(objects[1:], objects[1 + width :], strict=False):
            graph.depend(Ref.of(above), Ref.of(below))

    graph = ObjectGraph(root)
    for obj in objects:
        graph.want(obj)
    rules = [Own(), Freeze(), Compare(snapshot), layers, RemoveOrphans(snapshot), SecretsFirst()]
    return Plan.build(graph, Chain(cast("Any", rules)))


def performer(client: Client) -> Performer:
    nobody: Any = None
    return Performer(
        "bench", client=client, views=nobody, recorder=nobody, externals={}, now=lambda: datetime.now(UTC),
        start=nobody, schedule=nobody, may_write=lambda: True,
    )  # fmt: skip


async def snapshot_of(client: Client, root: Resource) -> Snapshot:
    found: list[Resource] = [*await client.list(ConfigMap, "default"), *await client.list(Secret, "default")]
    return Snapshot(obj for obj in found if is_controlled_by(obj, root))


async def straight(client: Client, root: Resource, objects: list[Resource]) -> None:
    """Create each, and look at the one that is there already: the loop that people write."""
    for obj in objects:
        mine = obj.deep_copy()
        set_controller(root, mine)
        try:
            await client.create(marked(mine))
        except AlreadyExists:
            await client.get(type(obj), obj.key)


async def by_plan(client: Client, root: Resource, objects: list[Resource]) -> None:
    plan = plan_for(root, await snapshot_of(client, root), objects)
    await drive(plan.execute(Context("bench", root.key)), performer(client).perform)


async def measured(work: Callable[[], Awaitable[None]], cluster: ClusterUnderTest) -> dict[str, float]:
    cluster.requests.clear()
    began, clock = time.process_time(), time.perf_counter()
    await work()
    return {
        "cpu_ms": round(1000 * (time.process_time() - began), 1),
        "wall_ms": round(1000 * (time.perf_counter() - clock), 1),
        "requests": len(cluster.requests),
    }


async def round_of(way: Any, count: int) -> dict[str, dict[str, float]]:
    objects, report = wanted(count), {}
    async with ClusterUnderTest() as cluster:
        client = cluster.controller_client()
        root = await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="root", namespace="default")))
        report["create"] = await measured(lambda: way(client, root, objects), cluster)
        report["again"] = await measured(lambda: way(client, root, objects), cluster)
        if way is by_plan:
            snapshot = await snapshot_of(client, root)
            began = time.process_time()
            assert plan_for(root, snapshot, objects).is_empty
            report["plan only"] = {"cpu_ms": round(1000 * (time.process_time() - began), 1), "requests": 0}
            report["delete"] = await measured(lambda: way(client, root, objects[:1]), cluster)
        else:
            report["delete"] = await measured(lambda: _delete(client, objects[1:]), cluster)
    return report


async def _delete(client: Client, objects: list[Resource]) -> None:
    for obj in objects:
        stored = await client.get(type(obj), obj.key)
        await client.delete(type(obj), obj.key, uid=stored.metadata.uid)


def best(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {job: min((one[job] for one in rounds), key=lambda entry: entry["cpu_ms"]) for job in rounds[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    ways = {"plan": by_plan, "straight loop": straight}
    measured_ways = {
        name: best([asyncio.run(round_of(way, args.objects)) for _ in range(args.rounds)]) for name, way in ways.items()
    }
    ratios = {
        job: round(measured_ways["plan"][job]["cpu_ms"] / measured_ways["straight loop"][job]["cpu_ms"], 2)
        for job in ("create", "again", "delete")
    }
    report = {
        "objects": args.objects,
        "python": platform.python_version(),
        "attractor": __version__,
        "ways": measured_ways,
        "plan against straight loop, cpu": ratios,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
