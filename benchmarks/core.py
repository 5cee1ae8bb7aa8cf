"""The API core in process, on the memory store: 1-KB objects per second of processor time, and weight.

Processor time, not wall time: the work is one thread's, and waiting for a core is left out. A busy neighbour still
lowers the figures (by a fifth was seen), because cores share caches.

The rival is the same work done by a plain dictionary of decoded objects behind `json`: what a mock server does.
"""

from __future__ import annotations

import asyncio
import json
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from attractor import __version__
from attractor.apiserver.core import Request
from attractor.apiserver.server import Server
from attractor.embedded import SystemSource
from attractor.store.memory import MemoryStore

PATH = "/api/v1/namespaces/default/configmaps"
COUNT = 5_000
AIMS = {"gets_per_s": 30_000, "creates_per_s": 10_000, "merge_patches_per_s": 8_000}


def body(number: int) -> bytes:
    data = {f"key-{index}": "v" * 90 for index in range(9)}
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}, "data": data}
    ).encode()


async def measure(server: Server, requests: list[Request]) -> float:
    started = time.process_time()
    for request in requests:
        response = await server.handle(request)
        response.encode()
    assert response.code in {200, 201}, response.json()
    return len(requests) / (time.process_time() - started)


async def ours() -> dict[str, float]:
    server = Server(MemoryStore(), SystemSource())
    await server.start()
    warm = [Request("POST", PATH, {}, body(COUNT + number), "application/json") for number in range(200)]
    await measure(server, warm)
    creates = [Request("POST", PATH, {}, body(number), "application/json") for number in range(COUNT)]
    gets = [Request("GET", f"{PATH}/c{number}") for number in range(COUNT)]
    change = b'{"data":{"key-1":"new","key-new":"1"}}'
    patches = [
        Request("PATCH", f"{PATH}/c{number}", {}, change, "application/merge-patch+json") for number in range(COUNT)
    ]
    found = {
        "creates_per_s": await measure(server, creates),
        "gets_per_s": await measure(server, gets),
        "merge_patches_per_s": await measure(server, patches),
    }
    started = time.process_time()
    (await server.handle(Request("GET", PATH))).encode()
    found["list_5000_ms"] = (time.process_time() - started) * 1000
    return found


def plain_dictionary() -> dict[str, float]:
    """Decode, keep, encode: no validation, no versions, no ownership, no history."""
    kept: dict[str, Any] = {}

    def create(number: int) -> None:
        obj = json.loads(body(number))
        kept[obj["metadata"]["name"]] = obj
        json.dumps(obj)

    def get(number: int) -> None:
        json.dumps(kept[f"c{number}"])

    def patch(number: int) -> None:
        kept[f"c{number}"]["data"] |= json.loads('{"key-1":"new","key-new":"1"}')
        json.dumps(kept[f"c{number}"])

    def rate(step: Callable[[int], None]) -> float:
        started = time.process_time()
        for number in range(COUNT):
            step(number)
        return COUNT / (time.process_time() - started)

    return {"creates_per_s": rate(create), "gets_per_s": rate(get), "merge_patches_per_s": rate(patch)}


async def weight() -> float:
    """Bytes that 10,000 created objects take, history included."""
    server = Server(MemoryStore(), SystemSource())
    await server.start()
    tracemalloc.start()
    for number in range(10_000):
        await server.handle(Request("POST", PATH, {}, body(number), "application/json"))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / 1e6


def main() -> None:
    measured, rival = asyncio.run(ours()), plain_dictionary()
    report = {
        "benchmark": "core",
        "clock": "processor time of this process",
        "versions": {"attractor": __version__, "python": platform.python_version()},
        "attractor": {name: round(value, 1) for name, value in measured.items()},
        "megabytes_of_10000_objects": round(asyncio.run(weight()), 1),
        "plain_dictionary": {name: round(value, 1) for name, value in rival.items()},
        "ratio": {name: round(measured[name] / rival[name], 2) for name in rival},
        "aims": {**AIMS, "megabytes_of_10000_objects": 60},
    }
    json.dump(report, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
