"""`attractor serve` over HTTP: requests per second, watch delivery, lists, start and memory, for each store.

The server has one core, the load generator the other. `--quick` takes fewer requests; `--stores memory,sqlite` some of
the stores. What goes over TLS, as all of the rival's does, is under `over_tls`. The rival is a kube-apiserver with
etcd, measured too where `KUBEBUILDER_ASSETS` names a directory that has both; see `rival.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from attractor import __version__
from attractor.store import mvcc
from loadclient import Target, load
from rival import assets, kube_apiserver, unchecked
from watchload import Apart, receive, write

Running = AbstractContextManager[tuple[Target, subprocess.Popen[bytes], float]]
COLLECTION = "/api/v1/namespaces/default/configmaps"
AIMS = {
    "gets_per_s_32": 25_000,
    "creates_per_s_32": 8_000,
    "durable_creates_per_s_64": 6_000,
    "list_10000_s": 0.25,
    "ready_s": 0.4,
    "rss_empty_mb": 80,
    "watch_5000_p99_ms": 10,
}
MERGE = "application/merge-patch+json"
IS_COMPILED = not str(mvcc.__file__).endswith(".py")
WRITERS = 256
"""Connections that share the writing while watchers are measured: enough for 5,000 a second that each wait 50 ms for a
disk. Fewer would be the limit on SQLite, where all of them wait for the same sync."""
WATCHERS = 100
RUNS = 5
"""Of watch delivery; an odd number has one in the middle."""
ENOUGH = 0.9
"""The share of a core beyond which work queues up, and ages are those of a queue."""


def config_map(name: str, keys: int = 9) -> bytes:
    data = {f"key-{index}": "v" * 90 for index in range(keys)}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}).encode()


@contextmanager
def running(
    store: str, directory: Path, others: str = "", *, tls: bool = False
) -> Iterator[tuple[Target, subprocess.Popen[bytes], float]]:
    """A server on its own core, where to reach it, and how long it took to be ready; ``others`` are more tokens."""
    tokens = directory / "tokens.csv"
    tokens.write_text(f'bench,admin,admin,"system:masters"\n{others}')
    command = [sys.executable, "-m", "attractor", "serve", "--store", store, "--listen", "127.0.0.1:0"]
    command += [] if tls else ["--no-tls"]
    command += ["--token-file", str(tokens), "--state-dir", str(directory), "--controllers", "all"]
    started = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    os.sched_setaffinity(server.pid, {0})
    assert server.stdout is not None
    port = 0
    try:
        for line in server.stdout:
            if found := re.match(rb"address: +https?://127.0.0.1:(\d+)", line):
                port = int(found.group(1))
            if line == b"ready\n":
                break
        ready_s = time.perf_counter() - started
        yield Target("127.0.0.1", port, "bench", unchecked() if tls else None), server, ready_s
    finally:
        server.terminate()
        server.wait(10)


async def over_tls(serving: Running, *, quick: bool) -> dict[str, float]:
    """Throughput as the rival has it: its figures include what TLS costs."""
    with serving as (target, server, _):
        return await throughput(target, server.pid, 2_000 if quick else 10_000, 32)


def compile_modules() -> None:
    """Start a server once: installed modules are compiled, and whoever measures a start does not mean that."""
    with tempfile.TemporaryDirectory() as text, running("memory", Path(text)):
        pass


def rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def throughput(target: Target, pid: int, count: int, clients: int) -> dict[str, float]:
    """Requests per second, and per second of the server's core, which says more on a machine with other work.

    ``load_of_a_core`` is what the load generator itself needs of its core: near 1, it is what was measured.
    """
    tag, patch = f"t{clients}", b'{"data":{"patched":"%d"}}'
    loads: dict[str, Iterator[bytes]] = {
        "creates": (target.request("POST", COLLECTION, config_map(f"{tag}-{n}")) for n in range(count)),
        "gets": (target.request("GET", f"{COLLECTION}/{tag}-{n % count}") for n in range(count * 2)),
        "patches": (target.request("PATCH", f"{COLLECTION}/{tag}-{n}", patch % n, MERGE) for n in range(count)),
    }
    report: dict[str, float] = {}
    for name, requests in loads.items():
        used, own = cpu_s(pid), time.process_time()
        done = await load(target, requests, clients)
        own = time.process_time() - own
        assert set(done.codes) <= {200, 201}, done.codes
        report[f"{name}_per_s_{clients}"] = round(done.per_s)
        report[f"{name}_per_core_s_{clients}"] = round(len(done.latencies_s) / max(cpu_s(pid) - used, 0.01))
        report[f"{name}_p99_ms_{clients}"] = round(done.quantile_ms(0.99), 2)
        report[f"{name}_load_of_a_core_{clients}"] = round(own / done.seconds, 2)
    return report


async def list_all(target: Target, count: int) -> dict[str, float]:
    requests = (
        target.request("POST", "/api/v1/namespaces/kube-public/configmaps", config_map(f"l{n}")) for n in range(count)
    )
    await load(target, requests, 32)
    listed = await load(target, iter([target.request("GET", "/api/v1/namespaces/kube-public/configmaps")] * 5), 1)
    return {f"list_{count}_s": round(min(listed.latencies_s), 3)}


async def delivery(target: Target, pid: int, per_s: int, seconds: float, writers: int) -> dict[str, float | str]:
    """How old events of about 1 KB are when 100 watchers get them, and whose processor time limits that.

    Of the server's time, what it takes to write is measured on its own, with nobody watching.
    """
    name = f"watched-{per_s}"
    await load(target, iter([target.request("POST", COLLECTION, config_map(name, keys=3))]), 1)  # or it is there
    patch = (target, f"{COLLECTION}/{name}", MERGE, per_s)

    used = cpu_s(pid)
    alone = await Apart(write, *patch, seconds / 2, writers).said()
    writes_us = (cpu_s(pid) - used) / alone.count * 1e6

    # From version 0, for a kube-apiserver whose etcd does not report progress cannot begin at the newest.
    path = f"{COLLECTION}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3D{name}"
    watchers = Apart(receive, target, path, WATCHERS, 5)
    assert await watchers.said() == "watching"
    used = cpu_s(pid)
    wrote = await Apart(write, *patch, seconds, writers).said()
    watchers.pipe.send(wrote.count)
    heard = await watchers.said()
    server_us = (cpu_s(pid) - used) / wrote.count * 1e6
    ages = sorted(heard.ages_s)
    key = f"watch_{per_s}"
    costs = {"server": server_us, "load": (wrote.cpu_s + heard.cpu_s) / wrote.count * 1e6}
    return {
        f"{key}_reached_per_s": round(wrote.count / wrote.seconds),
        f"{key}_p50_ms": round(ages[len(ages) // 2] * 1000, 2),
        f"{key}_p99_ms": round(ages[int(len(ages) * 0.99)] * 1000, 2),
        f"{key}_missed": sum(wrote.count - events for events in heard.events) + wrote.refused,
        f"{key}_server_us_per_event": round(server_us),
        f"{key}_of_which_writing_us": round(writes_us),
        f"{key}_writers_us_per_event": round(wrote.cpu_s / wrote.count * 1e6),
        f"{key}_watchers_us_per_event": round(heard.cpu_s / wrote.count * 1e6),
        f"{key}_events_at_once": round(wrote.count * WATCHERS / heard.reads, 1),
        f"{key}_server_of_a_core": round(server_us * wrote.count / wrote.seconds / 1e6, 2),
        f"{key}_load_of_a_core": round((wrote.cpu_s + heard.cpu_s) / wrote.seconds, 2),
        f"{key}_limit": limit(
            {who: us * per_s / 1e6 for who, us in costs.items()}, wrote.count / wrote.seconds / per_s
        ),
    }


async def typical_delivery(
    target: Target, pid: int, per_s: int, seconds: float, writers: int
) -> dict[str, float | str]:
    """The run whose p99 is in the middle of several, and the least and the most that there was.

    One stall of the machine of 20 ms is more than a hundredth of a short run: such a run says nothing of the server.
    """
    key = f"watch_{per_s}_p99_ms"
    runs = [await delivery(target, pid, per_s, seconds, writers) for _ in range(RUNS)]
    runs.sort(key=lambda run: run[key])
    return runs[RUNS // 2] | {f"{key}_least": runs[0][key], f"{key}_most": runs[-1][key]}


def limit(cores: dict[str, float], reached: float) -> str:
    """Who needs more of its core than there is."""
    short = [f"{who} needs {share:.2f} of its core" for who, share in cores.items() if share > ENOUGH]
    return ", ".join(short) or ("none" if reached > ENOUGH else "others who use these cores")


async def measure(
    serving: Running, *, quick: bool, with_64: bool = True, writers: int = WRITERS
) -> dict[str, float | str]:
    count = 2_000 if quick else 10_000
    report: dict[str, float | str] = {}
    with serving as (target, server, ready_s):
        report["ready_s"] = round(ready_s, 3)
        report["rss_empty_mb"] = round(rss_mb(server.pid), 1)
        for clients, requests in ((32, count), (1, count // 4), *(((64, count),) if with_64 else ())):
            report |= await throughput(target, server.pid, requests, clients)
        report |= await list_all(target, 10_000)
        report["rss_full_mb"] = round(rss_mb(server.pid), 1)
        for per_s in (1000, 5000):
            report |= await typical_delivery(target, server.pid, per_s, 1.0 if quick else 4.0, writers)
    return report


@contextmanager
def etcd(binary: str, directory: Path) -> Iterator[str]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        client, peer = (f"127.0.0.1:{sock.getsockname()[1]}" for sock in (one, two))
    command = [binary, "--data-dir", str(directory / "etcd"), "--log-level", "error"]
    command += ["--listen-client-urls", f"http://{client}", "--advertise-client-urls", f"http://{client}"]
    command += ["--listen-peer-urls", f"http://{peer}", "--initial-advertise-peer-urls", f"http://{peer}"]
    command += ["--initial-cluster", f"default=http://{peer}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(client.rsplit(":", 1)[1]))) == 0:
                    break
            time.sleep(0.05)
        yield f"etcd:{client}"
    finally:
        process.terminate()
        process.wait(10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--stores", default="memory,sqlite,etcd")
    args = parser.parse_args()
    cores = os.sched_getaffinity(0)
    if len(cores) > 1:
        os.sched_setaffinity(0, cores - {0})
    compile_modules()
    report: dict[str, Any] = {"version": __version__, "python": platform.python_version(), "compiled": IS_COMPILED}
    report["stores"] = {name: found for name in args.stores.split(",") if (found := measured(name, quick=args.quick))}
    report["over_tls"] = {name: secured(name, quick=args.quick) for name in report["stores"]}
    if assets() is not None:
        report["kube_apiserver"] = measured("kube-apiserver", quick=args.quick)
    report["aims"] = AIMS
    json.dump(report, sys.stdout, indent=2)
    print()


def secured(name: str, *, quick: bool) -> dict[str, float]:
    """The figures of a store over TLS."""
    print(f"measuring {name} over TLS …", file=sys.stderr)
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text)
        if name == "etcd":
            with etcd("etcd", directory) as address:
                return asyncio.run(over_tls(running(address, directory, tls=True), quick=quick))
        store = "memory" if name == "memory" else f"sqlite:{directory / 'bench.db'}"
        return asyncio.run(over_tls(running(store, directory, tls=True), quick=quick))


def measured(name: str, *, quick: bool) -> dict[str, float | str] | None:
    """The figures of a store, or of the rival; None when what it needs is not installed."""
    print(f"measuring {name} …", file=sys.stderr)
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text)
        match name:
            case "memory":
                return asyncio.run(measure(running("memory", directory), quick=quick, with_64=False))
            case "sqlite":
                return asyncio.run(measure(running(f"sqlite:{directory / 'bench.db'}", directory), quick=quick))
            case "etcd" if shutil.which("etcd"):
                with etcd("etcd", directory) as address:
                    return asyncio.run(measure(running(address, directory), quick=quick))
            case "kube-apiserver" if (binaries := assets()) is not None:
                with etcd(str(binaries / "etcd"), directory) as address:
                    # Of many writers of one object all but one find it changed, and begin anew; ten writes a second is
                    # all that kube-apiserver then does. With one writer it is delivery that is measured.
                    rival = kube_apiserver(binaries, address, directory)
                    return asyncio.run(measure(rival, quick=quick, writers=1))
    print(f"{name} is not installed; left out", file=sys.stderr)
    return None


if __name__ == "__main__":
    main()
