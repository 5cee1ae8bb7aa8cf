"""One object that everybody writes, through one server and through two on the same etcd: writes per second.

Two loads: blind patches, and increments (read, add one, replace with the version that was read; a conflict begins
anew). Rounds of one server and of two alternate; each figure is the median. `--seconds`, `--rounds`, `--clients`.
The sum that the counter shows must be the number of increments that were acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from apiserver import COLLECTION, IS_COMPILED, MERGE, etcd, running
from attractor import __version__
from loadclient import Target, load

HUNG_S = 20.0
"""Without an answer for so long, a client counts as hung."""


class Caller:
    """One connection that sends a request and reads its answer."""

    def __init__(self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._target, self._reader, self._writer = target, reader, writer

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        self._writer.write(self._target.request(method, path, body))
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r", 1)[0])
        return int(head.split(b" ", 2)[1]), await self._reader.readexactly(length)


@asynccontextmanager
async def calling(target: Target) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection(target.host, target.port, limit=1 << 22)
    try:
        yield Caller(target, reader, writer)
    finally:
        writer.close()


async def increments(targets: Sequence[Target], name: str, clients: int, seconds: float) -> dict[str, float]:
    """Increments per second of all clients together, conflicts for each, and who hung."""
    path = f"{COLLECTION}/{name}"
    await load(targets[0], iter([targets[0].request("POST", COLLECTION, counter(name))]), 1)
    done = conflicts = hung = 0
    by_server = [0] * len(targets)
    end = time.perf_counter() + seconds

    async def increment(place: int) -> None:
        nonlocal done, conflicts, hung
        async with calling(targets[place]) as caller:
            while time.perf_counter() < end:
                try:
                    async with asyncio.timeout(HUNG_S):
                        _, text = await caller.ask("GET", path)
                        shown = json.loads(text)
                        shown["data"]["n"] = str(int(shown["data"]["n"]) + 1)
                        code, _ = await caller.ask("PUT", path, json.dumps(shown).encode())
                except TimeoutError:
                    hung += 1
                    return
                if code == 200:
                    done += 1
                    by_server[place] += 1
                elif code == 409:
                    conflicts += 1
                else:
                    raise RuntimeError(f"an increment was answered {code}")

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(increment(number % len(targets)))
    spent = time.perf_counter() - started
    async with calling(targets[-1]) as caller:
        found = int(json.loads((await caller.ask("GET", path))[1])["data"]["n"])
    assert hung or found == done, f"{done} increments were acknowledged, and the counter shows {found}"
    share = min(by_server) / max(done, 1) * len(targets)
    return {"per_s": done / spent, "conflicts_each": conflicts / max(done, 1), "hung": hung, "least_share": share}


async def patches(targets: Sequence[Target], name: str, clients: int, seconds: float) -> dict[str, float]:
    """Blind patches per second of all clients together."""
    await load(targets[0], iter([targets[0].request("POST", COLLECTION, counter(name))]), 1)
    end = time.perf_counter() + seconds

    def requests(target: Target, tag: int) -> Iterator[bytes]:
        number = 0
        while time.perf_counter() < end:
            number += 1
            yield target.request("PATCH", f"{COLLECTION}/{name}", b'{"data":{"k%d":"%d"}}' % (tag, number), MERGE)

    async with asyncio.TaskGroup() as group:
        runs = [
            group.create_task(load(target, requests(target, tag), clients // len(targets)))
            for tag, target in enumerate(targets)
        ]
    results = [run.result() for run in runs]
    codes = {code for result in results for code in result.codes}
    counts = [len(result.latencies_s) for result in results]
    return {
        "per_s": sum(counts) / max(result.seconds for result in results),
        "p99_ms": max(result.quantile_ms(0.99) for result in results),
        "refused": sum(count for result in results for code, count in result.codes.items() if code != 200),
        "codes": float(max(codes)),
        "least_share": min(counts) / sum(counts) * len(targets),
    }


def counter(name: str) -> bytes:
    return json.dumps(
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"n": "0"}}
    ).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=16)
    args = parser.parse_args()
    if not shutil.which("etcd"):
        sys.exit("etcd is not installed")
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {0} or {0})
    report: dict[str, object] = {"version": __version__, "python": platform.python_version(), "compiled": IS_COMPILED}
    seen: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as text, ExitStack() as stack:
        directory = Path(text)
        address = stack.enter_context(etcd("etcd", directory))
        targets = []
        for name in ("one", "two"):
            (directory / name).mkdir()
            targets.append(stack.enter_context(running(address, directory / name))[0])
        for number in range(args.rounds):
            for servers in (1, 2):
                for kind in (increments, patches):
                    label = f"{kind.__name__}_on_{servers}"
                    made = kind(targets[:servers], f"{label.replace('_', '-')}-{number}", args.clients, args.seconds)
                    seen.setdefault(label, []).append(asyncio.run(made))
    for label, rounds in seen.items():
        report[label] = {key: round(statistics.median(one[key] for one in rounds), 2) for key in rounds[0]}
    json.dump(report, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
