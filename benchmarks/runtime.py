"""The same operator, written with Attractor, kopf and controller-runtime, against the same `attractor serve`.

1,000 objects, each with 3 owned children, until converged; then an update of each. Reported for each peer: objects a
second, requests per object (by the server's own count), write-to-converged latency, resident memory, idle CPU, the
processor time that operator, server and load take for an object, and how busy each was: who is near 1 sets the pace.
`server_cpu_ms` is the server's work for load and operator; `load` has what the load alone makes it do, and
`server_cpu_ms_for_operator` is the rest. On two cores the server is what limits objects a second for all but kopf;
objects per second of the operator's own processor time compare the operators alone.
`--objects 200` takes fewer; `--rounds 3` the best of three, for a machine that is not quiet; `--peers attractor` some
of the peers. CONTROLLER_RUNTIME_PEER names a compiled Go peer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attractor import __version__
from attractor.client import Client, ClientRequest
from attractor.client.configuration.config import tls_context
from attractor.client.configuration.credentials import Rewritten
from attractor.client.configuration.kubeconfig import load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.k8s.core_v1 import Namespace
from attractor.objects.errors import ApiError
from attractor.objects.resource import ObjectMeta
from loadclient import Target
from peers.triokind import Trio
from trioload import Load

HERE = Path(__file__).parent

AIMS = {
    "objects_per_s against kopf": 10.0,
    "rss against kopf": 1 / 3,
    "objects_per_s against controller-runtime": 0.5,
    "requests against controller-runtime": 1.0,
}
PEERS = ("attractor", "embedded", "kopf", "kopf-tuned", "controller-runtime")
"""``embedded`` is Attractor's operator and server in one process; ``kopf`` is written as its tutorial has it."""
LOAD = "load"


@contextmanager
def process(*command: str, ready: str, environ: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **(environ or {})})
    assert child.stdout is not None
    try:
        for line in child.stdout:
            if line.decode().strip().startswith(ready):
                break
        else:
            raise SystemExit(f"{command[1]} ended before it was ready")
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()


def rss_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return round(int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024, 1)  # type: ignore[index]


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def target_of(kubeconfig: Path) -> Target:
    """The server of a kubeconfig, and whom it knows us as, for bare sockets."""
    config = load_kubeconfig(kubeconfig)
    assert isinstance(config.credentials, Rewritten)
    where, token = urlsplit(config.server), config.credentials.credential.authorization.removeprefix("Bearer ")
    assert where.hostname
    assert where.port
    return Target(where.hostname, where.port, token, tls_context(config, None))


async def served_requests(kubeconfig: Path) -> float:
    """How many requests the server has answered."""
    async with Client(HttpTransport(load_kubeconfig(kubeconfig))) as client:
        text = (await client.request(ClientRequest("GET", "/metrics", accept="text/plain"))).body.decode()
    return sum(
        float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith("apiserver_request_total")
    )


def command_of(peer: str, folder: Path, kubeconfig: Path) -> tuple[list[str], str]:
    """How to start a peer, and the line that it prints once it is ready."""
    ours = str(HERE / "peers" / "attractor_operator.py")
    match peer:
        case "attractor":
            return [sys.executable, ours, str(kubeconfig)], "ready"
        case "embedded":
            return [sys.executable, "-m", "attractor", "run", f"{ours}:trios", "--log-level", "error"], "running:"
        case "kopf":
            return [sys.executable, str(HERE / "peers" / "kopf_operator.py")], "ready"
        case "kopf-tuned":
            return [sys.executable, str(HERE / "peers" / "kopf_operator.py"), "tuned"], "ready"
        case "controller-runtime":
            return [str(build_go(folder))], "ready"
    raise SystemExit(f"no peer is called {peer!r}; there are {', '.join(PEERS)}")


def build_go(folder: Path) -> Path:
    """The controller-runtime peer, compiled."""
    built = Path(os.environ.get("CONTROLLER_RUNTIME_PEER") or folder / "peer")
    if not built.exists():
        subprocess.run(["go", "build", "-o", str(built), "."], cwd=HERE / "peers" / "controller-runtime", check=True)
    return built


def timed_phase(load: Load, value: str, operator: int, server: int) -> dict[str, float]:
    """A phase, with the processor time per object of operator, server and load, and how busy they were."""
    before = cpu_s(operator), cpu_s(server), cpu_s(os.getpid())
    found = load.phase(value)
    for name, pid, began in zip(("operator", "server", "load"), (operator, server, os.getpid()), before, strict=True):
        each_s = (cpu_s(pid) - began) / load.objects
        found[f"{name}_cpu_ms"] = round(1000 * each_s, 3)
        found[f"{name}_busy"] = round(each_s * found["objects_per_s"], 2)
    load.check(value)
    return found


async def make_namespace(kubeconfig: Path, name: str) -> None:
    async with Client(HttpTransport(load_kubeconfig(kubeconfig))) as client:
        await client.create(Namespace(metadata=ObjectMeta(name=name)))


def load_alone(kubeconfig: Path, objects: int, server: int) -> dict[str, Any]:
    """What the load makes the server do when no operator runs."""
    asyncio.run(make_namespace(kubeconfig, "bench-load"))
    found = {}
    with Load(target_of(kubeconfig), "bench-load", objects) as load:
        for phase, value in (("create", "one"), ("update", "two")):
            began = cpu_s(server)
            load.alone(value)
            found[phase] = {"server_cpu_ms": round(1000 * (cpu_s(server) - began) / objects, 3)}
    return found


def measure(peer: str, folder: Path, kubeconfig: Path, objects: int, server: int) -> dict[str, Any]:
    command, ready = command_of(peer, folder, kubeconfig)
    environ = {"KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(HERE / "peers"), "XDG_STATE_HOME": str(folder)}
    with process(*command, ready=ready, environ=environ) as child:
        os.sched_setaffinity(child.pid, {1 % (os.cpu_count() or 1)})
        if peer == "embedded":
            kubeconfig = folder / "attractor" / "kubeconfig"
        asyncio.run(make_namespace(kubeconfig, f"bench-{peer}"))
        idle_rss = rss_mb(child.pid)
        with Load(target_of(kubeconfig), f"bench-{peer}", objects) as load:
            before = asyncio.run(served_requests(kubeconfig))
            created = timed_phase(load, "one", child.pid, server)
            updated = timed_phase(load, "two", child.pid, server)
            time.sleep(2)
            requests = asyncio.run(served_requests(kubeconfig)) - before - load.requests - 1
            busy = cpu_s(child.pid)
            time.sleep(3)
            return {
                "create": created,
                "update": updated,
                "requests_per_object": None if peer == "embedded" else round(requests / objects, 2),
                "rss_idle_mb": idle_rss,
                "rss_mb": rss_mb(child.pid),
                "idle_cpu_percent": round(100 * (cpu_s(child.pid) - busy) / 3, 1),
            }


async def install(kubeconfig: Path) -> None:
    async with Client(HttpTransport(load_kubeconfig(kubeconfig))) as client:
        await client.create(CustomResourceDefinition.from_dict(Trio.crd()))
        while True:
            try:
                await client.list(Trio)
                return
            except ApiError:
                await asyncio.sleep(0.05)


def whole_cpu_ms(phase: dict[str, float]) -> float:
    """What operator and server take for an object, in one process or two."""
    return phase["operator_cpu_ms"] + phase["server_cpu_ms"]


def better(known: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The better of two runs, phase by phase: what else the machine does can only make a run worse."""
    for phase in ("create", "update"):
        faster = max(known[phase], found[phase], key=lambda run: run.get("objects_per_s", 0.0))
        cpu = {name: min(known[phase][name], found[phase][name]) for name in known[phase] if name.endswith("_cpu_ms")}
        known[phase] = {**faster, **cpu}
    return known


def attribute_server(peers: dict[str, Any], load: dict[str, Any]) -> None:
    """Say what each operator makes the server do, beside the load."""
    for name, peer in peers.items():
        for phase in ("create", "update"):
            if name != "embedded":
                rest = peer[phase]["server_cpu_ms"] - load[phase]["server_cpu_ms"]
                peer[phase]["server_cpu_ms_for_operator"] = round(rest, 3)


def whole_per_s(peer: dict[str, Any]) -> float:
    """Objects a second over both phases, one after the other."""
    return 2 / (1 / peer["create"]["objects_per_s"] + 1 / peer["update"]["objects_per_s"])


def against(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, float]:
    """Ratios: above 1 we do more objects, below 1 we take less of the server and of memory."""
    found = {"objects_per_s": whole_per_s(ours) / whole_per_s(theirs)}
    for phase in ("create", "update"):
        mine, other = ours[phase], theirs[phase]
        found[f"{phase}_objects_per_s"] = mine["objects_per_s"] / other["objects_per_s"]
        found[f"{phase}_objects_per_cpu_s"] = other["operator_cpu_ms"] / mine["operator_cpu_ms"]
        found[f"{phase}_server_cpu"] = mine["server_cpu_ms_for_operator"] / other["server_cpu_ms_for_operator"]
    found["requests"] = ours["requests_per_object"] / theirs["requests_per_object"]
    found["rss"] = ours["rss_mb"] / theirs["rss_mb"]
    return {name: round(ratio, 2) for name, ratio in found.items()}


def one_run(peer: str, objects: int) -> dict[str, Any]:
    """One peer, with a server of its own."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        serve = ["-m", "attractor", "serve", "--listen", "127.0.0.1:0", "--state-dir", folder, "--log-level", "error"]
        with process(sys.executable, *serve, "--kubeconfig", str(kubeconfig), ready="ready") as server:
            os.sched_setaffinity(server.pid, {0})
            asyncio.run(install(kubeconfig))
            if peer == LOAD:
                return load_alone(kubeconfig, objects, server.pid)
            return measure(peer, Path(folder), kubeconfig, objects, server.pid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=1, help="take the best of so many runs of each peer")
    parser.add_argument(
        "--peers", default="attractor,embedded,kopf,kopf-tuned" + (",controller-runtime" if shutil.which("go") else "")
    )
    args = parser.parse_args()
    report: dict[str, Any] = {
        "attractor": __version__, "kopf": version("kopf"), "kubernetes_client": version("kubernetes"),
        "python": platform.python_version(), "cores": os.cpu_count(), "objects": args.objects, "peers": {},
    }  # fmt: skip
    found: dict[str, Any] = {}
    for number in range(args.rounds):
        for peer in (LOAD, *args.peers.split(",")):
            print(f"round {number + 1}: {peer} …", file=sys.stderr)
            run = one_run(peer, args.objects)
            found[peer] = better(found[peer], run) if peer in found else run
    report[LOAD] = found.pop(LOAD)
    report["peers"] = found
    attribute_server(found, report[LOAD])
    for rival in ("kopf", "kopf-tuned", "controller-runtime"):
        if "attractor" in found and rival in found:
            report[f"against {rival}"] = against(found["attractor"], found[rival])
    embedded, go = report["peers"].get("embedded"), report["peers"].get("controller-runtime")
    if embedded and go:
        report["embedded against controller-runtime"] = {
            f"{phase}_{what}": ratio
            for phase in ("create", "update")
            for what, ratio in (
                ("objects_per_s", round(embedded[phase]["objects_per_s"] / go[phase]["objects_per_s"], 2)),
                ("objects_per_cpu_s", round(whole_cpu_ms(go[phase]) / whole_cpu_ms(embedded[phase]), 2)),
            )
        }
    report["aims"] = AIMS
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
