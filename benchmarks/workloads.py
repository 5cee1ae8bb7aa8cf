"""How fast Deployments become ready on simulated nodes, in one process. Prints JSON.

`seconds` is from the first creation until the last Deployment is available, `cpu_seconds` the processor time of that,
which is comparable on a busy machine. Nodes have room for all Pods.

.venv/bin/python benchmarks/workloads.py                     1,000 Deployments of 3
.venv/bin/python benchmarks/workloads.py --deployments 100   fewer
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from typing import Any

from attractor import EmbeddedCluster
from attractor.k8s import Deployment

REPLICAS, PODS_A_NODE = 3, 100
AIMS = {"seconds": 5.0}


def deployment(name: str) -> Deployment:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": name, "namespace": "default"}
    return Deployment.from_dict({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})


async def wait_available(cluster: EmbeddedCluster, count: int) -> None:
    """Until so many Deployments have all replicas available, by a watch that begins with what is there."""
    ready: set[str] = set()
    async with cluster.client() as client, client.watch(Deployment, "default") as events:
        async for event in events:
            found = getattr(event, "object", None)  # a bookmark has none
            if found is not None and found.status.available_replicas == REPLICAS:
                ready.add(found.metadata.name)
            if len(ready) == count:
                return


async def measure(count: int) -> dict[str, Any]:
    nodes = count * REPLICAS // PODS_A_NODE + 3
    async with EmbeddedCluster(nodes=nodes) as cluster, cluster.client() as client:
        began, began_cpu = time.perf_counter(), time.process_time()
        for number in range(count):
            await client.create(deployment(f"web-{number}"))
        await wait_available(cluster, count)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pods = count * REPLICAS
    return {
        "deployments": count,
        "pods": pods,
        "nodes": nodes,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "pods_per_cpu_second": round(pods / cpu_seconds),
        "peak_mb": peak_kb // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deployments", type=int, default=1000)
    print(json.dumps({"aims": AIMS, **asyncio.run(measure(parser.parse_args().deployments))}, indent=2))


if __name__ == "__main__":
    main()
