"""The stores: writes with the disk synced, against each other in the same run; reads, forks, memory, fan-out.

Run from the root of the repository: ``python benchmarks/store.py [--seconds 1.5] [--rounds 3]``. JSON on stdout. Files
lie in ``.benchmarks/``, so on the disk of the repository. Rounds of the engines alternate; each figure is the median.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from attractor.store import MemoryStore, open_store  # noqa: E402
from tests.store.etcdserver import EtcdServer  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from attractor.store import Store

VALUE = os.urandom(1024)
WRITERS = (1, 64)


def key(number: int) -> str:
    return f"/registry/pods/namespace-{number % 20}/object-{number:06}"


def syncs_per_second(directory: Path, seconds: float) -> float:
    """What the disk can do: 1 KB written in place and synced, one after the other."""
    with (directory / "sync").open("w+b", buffering=0) as file:
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())
        count, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            os.pwrite(file.fileno(), VALUE, count % 256 * 4096)
            os.fdatasync(file.fileno())
            count += 1
    return count / seconds


async def writes(store: Store, writers: int, seconds: float) -> dict[str, float]:
    """Writers that each wait for their write before the next; 2,000 keys."""
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def write(writer: int) -> None:
        number = writer
        while (start := time.perf_counter()) < end:
            await store.commit({}, puts={key(number % 2000): VALUE})
            took.append(time.perf_counter() - start)
            number += writers
            if isinstance(store, MemoryStore) and not number % 50:
                await asyncio.sleep(0)

    start = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for writer in range(writers):
            group.create_task(write(writer))
    spent = time.perf_counter() - start
    took.sort()
    return {
        "per_s": len(took) / spent,
        "p50_ms": took[len(took) // 2] * 1e3,
        "p99_ms": took[len(took) * 99 // 100] * 1e3,
    }


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    middle = {name: round(statistics.median(one[name] for one in rounds), 3) for name in rounds[0]}
    return {**middle, "best_per_s": round(max(one["per_s"] for one in rounds))}


async def write_rates(directory: Path, seconds: float, rounds: int) -> dict[str, Any]:
    server = EtcdServer(directory / "etcd").start()
    addresses = {"memory": "memory", "sqlite": f"sqlite:{directory / 'store.db'}", "etcd": f"etcd:{server.endpoint}"}
    stores = {name: await open_store(address) for name, address in addresses.items()}
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    syncs = []
    for _ in range(rounds):
        syncs.append(syncs_per_second(directory, seconds / 4))
        for writers in WRITERS:
            for name, store in stores.items():
                one = await writes(store, writers, seconds)
                found.setdefault(f"writers_{writers}", {}).setdefault(name, []).append(one)
    for store in stores.values():
        await store.aclose()
    server.kill()
    result: dict[str, Any] = {"disk_syncs_per_s": round(statistics.median(syncs))}
    for label, engines in found.items():
        rates: dict[str, Any] = {name: medians(ones) for name, ones in engines.items()}
        rates["sqlite_to_etcd"] = round(rates["sqlite"]["per_s"] / rates["etcd"]["per_s"], 2)
        result[label] = rates
    return result


def nanoseconds(work: Callable[[], object], times: int) -> int:
    """The best of five: what it costs when nobody disturbs."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(times):
            work()
        best = min(best, time.perf_counter() - start)
    return round(best / times * 1e9)


def reads() -> dict[str, Any]:
    tracemalloc.start()
    store = MemoryStore()
    for number in range(10_000):
        store.commit_nowait({key(number): 0}, puts={key(number): number.to_bytes(4, "big") * 256})
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    view = store.snapshot_nowait()
    middle = (store.compacted + store.revision) // 2

    def write_to_fork() -> None:
        store.fork().commit_nowait({}, puts={key(1): VALUE})

    return {
        "bytes_per_object_of_1_kb_with_history": round(used / 10_000),
        "get_ns": nanoseconds(lambda: view.get(key(4711)), 10_000),
        "range_of_500_ns": nanoseconds(lambda: view.range("/registry/pods/namespace-7/"), 500),
        "range_of_10000_ns": nanoseconds(lambda: view.range("/registry/pods/"), 20),
        "count_of_10000_ns": nanoseconds(lambda: view.count("/registry/pods/"), 5_000),
        "snapshot_at_old_revision_ns": nanoseconds(lambda: store.snapshot_at(middle), 200),
        "commit_ns": nanoseconds(lambda: store.commit_nowait({}, puts={key(1): VALUE}), 5_000),
        "fork_core_ns": nanoseconds(store._mvcc.fork, 10_000),  # noqa: SLF001
        "fork_store_and_write_ns": nanoseconds(write_to_fork, 2_000),
    }


async def offered(
    watching: Callable[[MemoryStore], Awaitable[Callable[[], int]]], rate: int, seconds: float
) -> dict[str, float]:
    """Write events at a rate, one for each turn of the loop if it keeps up; what arrives at 100 watchers?"""
    store = MemoryStore()
    delivered = await watching(store)
    cpu, start, written = time.process_time(), time.perf_counter(), 0
    while (now := time.perf_counter() - start) < seconds:
        if written < now * rate:
            store.commit_nowait({}, puts={key(written % 1000): VALUE})
            written += 1
            await asyncio.sleep(0)
        else:
            await asyncio.sleep(written / rate - now)
    cpu, spent = time.process_time() - cpu, time.perf_counter() - start
    await asyncio.sleep(0.05)
    seen = delivered()
    await store.aclose()
    return {
        "events_per_s": round(written / spent),
        "delivered": seen / written / 100,
        "of_a_core": round(cpu / spent, 2),
    }


async def iterators(store: MemoryStore) -> Callable[[], int]:
    """A task for each watcher."""
    counts = [0] * 100

    async def watch(number: int) -> None:
        async with store.watch("/registry/", after=0) as batches:
            async for batch in batches:
                counts[number] += len(batch.events)

    tasks = [asyncio.create_task(watch(number)) for number in range(100)]
    await asyncio.sleep(0)
    return lambda: sum(counts) + 0 * len(tasks)


async def subscriptions(store: MemoryStore) -> Callable[[], int]:
    """One subscription, read every 2 ms at most, and what was read handed to all: as a server would do."""
    counts = [0] * 100
    loop = asyncio.get_running_loop()
    state = {"read": 0, "armed": False}

    def flush() -> None:
        state["armed"] = False
        batch = store.events_after("/registry/", state["read"])
        state["read"] = batch.revision
        for number in range(100):
            counts[number] += len(batch.events)

    def heard(_: int) -> None:
        if not state["armed"]:
            state["armed"] = True
            loop.call_later(0.002, flush)

    store.subscribe("/registry/", heard)
    return lambda: sum(counts)


def versions() -> dict[str, str]:
    etcd = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": apsw.apsw_version(),
        "protobuf": importlib.metadata.version("protobuf"),
        "etcd": etcd.split()[2],
        "cores": str(os.cpu_count()),
    }


def measure(seconds: float, rounds: int) -> dict[str, Any]:
    scratch = ROOT / ".benchmarks"
    scratch.mkdir(exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=scratch))
    try:
        return {
            "benchmark": "store",
            "versions": versions(),
            "writes_of_1_kb_synced": asyncio.run(write_rates(directory, seconds, rounds)),
            "in_memory": reads(),
            "fan_out_to_100_watchers": {
                "a_task_each": asyncio.run(offered(iterators, 5000, seconds)),
                "shared_read_every_2_ms": asyncio.run(offered(subscriptions, 5000, seconds)),
            },
        }
    finally:
        shutil.rmtree(directory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is repeated")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.seconds, arguments.rounds), indent=2))


if __name__ == "__main__":
    main()
