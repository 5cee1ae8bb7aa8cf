"""How long an administrator waits while one user who may only read lists with many connections.

Prints JSON: the median and the 99th percentile of the administrator's gets, alone and beside so many listing
connections, in plain JSON and as the Table that kubectl asks for. `--objects` is how many objects a list has.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from apiserver import COLLECTION, config_map, cpu_s, running
from loadclient import Result, Target, load

READER = "reads"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "reader"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
}


def listing(target: Target, accept: str) -> bytes:
    """A list of everything, as Go's clients ask for it."""
    request = target.request("GET", COLLECTION).replace(b"Accept: application/json", f"Accept: {accept}".encode())
    return request.replace(b"\r\n\r\n", b"\r\nAccept-Encoding: gzip\r\n\r\n")


async def list_for(target: Target, clients: int, accept: str, seconds: float) -> None:
    """List with so many connections; ours to be killed after."""
    until = time.monotonic() + seconds

    def requests():
        while time.monotonic() < until:
            yield listing(target, accept)

    done = await load(target, requests(), clients)
    print(json.dumps({"lists": len(done.latencies_s), "codes": done.codes, "p50_ms": done.quantile_ms(0.5)}))


async def gets(target: Target, seconds: float) -> Result:
    """One connection that gets one object after the other, every 5 ms at most."""
    result, until = Result(), time.monotonic() + seconds
    reader, writer = await asyncio.open_connection(target.host, target.port)
    while time.monotonic() < until:
        sent = time.perf_counter()
        writer.write(target.request("GET", f"{COLLECTION}/o7"))
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
        result.latencies_s.append(time.perf_counter() - sent)
        await asyncio.sleep(0.005)
    writer.close()
    return result


async def measure(target: Target, pid: int, objects: int, clients: int, seconds: float) -> dict[str, object]:
    bodies = (target.request("POST", COLLECTION, config_map(f"o{n}")) for n in range(objects))
    made = await load(target, bodies, 8)
    assert set(made.codes) == {201}, made.codes
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    await load(target, iter([target.request("POST", path, json.dumps(BINDING).encode())]), 1)
    report: dict[str, object] = {"objects": objects, "clients": clients}
    alone = await gets(target, seconds)
    report["alone_ms"] = [round(alone.quantile_ms(share), 2) for share in (0.5, 0.99)]
    for name, accept in (("json", "application/json"), ("table", TABLE)):
        command = [sys.executable, __file__, "--list", f"{target.port}", "--clients", str(clients), "--accept", accept]
        command += ["--seconds", str(seconds + 1)]
        lister = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: ASYNC220 - it runs beside this
        await asyncio.sleep(1)
        used = cpu_s(pid)
        beside = await gets(target, seconds)
        report[f"beside_{name}_ms"] = [round(beside.quantile_ms(share), 2) for share in (0.5, 0.99)]
        report[f"beside_{name}_core"] = round((cpu_s(pid) - used) / seconds, 2)
        said, _ = lister.communicate()
        report[f"lists_{name}"] = json.loads(said)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--list", type=int, metavar="PORT", help="be the one who lists")
    parser.add_argument("--accept", default="application/json")
    asked = parser.parse_args()
    if asked.list:
        asyncio.run(list_for(Target("127.0.0.1", asked.list, READER), asked.clients, asked.accept, asked.seconds))
        return
    with tempfile.TemporaryDirectory() as text:
        others = f'{READER},reader,reader,"people"\n'
        with running("memory", Path(text), others) as (target, server, _):
            os.sched_setaffinity(0, {1})
            print(json.dumps(asyncio.run(measure(target, server.pid, asked.objects, asked.clients, asked.seconds))))


if __name__ == "__main__":
    main()
