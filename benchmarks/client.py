"""The client against the official one, on the same ``attractor serve``, in one run.

GET one object one at a time and by 32 callers, list and decode Pods, start of the interpreter to a usable client, and
the time until an informer is synced. The server has one core, the clients the other. ``--quick`` takes fewer requests.
Each client lists as it does when it is not told how: ours in pages, the official one in one piece; ours in one piece
is ``list_pods_whole_s``. What a caller does with a list is not measured, nor is throwing it away.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attractor import __version__

AIMS = {"list_pods_ratio": 10.0, "import_s": 0.25}


def pod(number: int) -> dict[str, Any]:
    """A Pod as clusters have them: about 4 KB."""
    container = {
        "name": "main",
        "image": f"registry.example.org/team/app:{number}",
        "args": ["--listen=:8080", "--verbose"],
        "env": [{"name": f"NAME_{index}", "value": f"value {index}"} for index in range(12)],
        "ports": [{"containerPort": 8080, "name": "http"}, {"containerPort": 9090, "name": "metrics"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app"}],
    }
    labels = {"app": "app", "tier": "web", "pod-template-hash": f"{number:010d}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number:05d}", "namespace": "default", "labels": labels},
        "spec": {"containers": [container], "volumes": [{"name": "config", "configMap": {"name": "app"}}]},
    }


class Server:
    """``attractor serve`` on its own core."""

    def __init__(self, directory: Path) -> None:
        self.kubeconfig = directory / "kubeconfig"
        command = [sys.executable, "-m", "attractor", "serve", "--listen", "127.0.0.1:0", "--no-tls"]
        command += ["--kubeconfig", str(self.kubeconfig), "--state-dir", str(directory), "--controllers", "none"]
        command += ["--disable-admission-plugins", "ServiceAccount"]  # nobody makes accounts without controllers
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        os.sched_setaffinity(self.process.pid, {0})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line == "ready\n":
                return
        raise SystemExit("the server did not start")

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate()


def median(took: list[tuple[float, float]]) -> tuple[float, float]:
    """Of times on the clock and of the processor's times, each."""
    return statistics.median(wall for wall, _ in took), statistics.median(cpu for _, cpu in took)


def timed(work: Callable[[], object], repeat: int) -> tuple[float, float]:
    """The median time on the clock, and of this process's processor time, in seconds."""
    took = []
    for _ in range(repeat):
        gc.collect()
        started, cpu_started = time.perf_counter(), time.process_time()
        made = work()
        took.append((time.perf_counter() - started, time.process_time() - cpu_started))
        del made
    return median(took)


async def fill(kubeconfig: Path, count: int) -> None:
    from attractor.client import Client, load_kubeconfig

    async with Client.connect(load_kubeconfig(kubeconfig)) as client:
        numbers = iter(range(count))

        async def work() -> None:
            for number in numbers:
                await client.create(pod(number))

        async with asyncio.TaskGroup() as group:
            for _ in range(16):
                group.create_task(work())


def ours(kubeconfig: Path, requests: int, repeat: int) -> dict[str, float]:
    from attractor.client import Client, load_kubeconfig
    from attractor.client.verbs.reads import PAGE_SIZE
    from attractor.k8s.core_v1 import Pod

    async def gets(callers: int) -> float:
        async with Client.connect(load_kubeconfig(kubeconfig)) as client:
            left = iter(range(requests))

            async def work() -> None:
                for _ in left:
                    await client.get(Pod, ("default", "pod-00000"))

            await client.get(Pod, ("default", "pod-00000"))
            started = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for _ in range(callers):
                    group.create_task(work())
            return requests / (time.perf_counter() - started)

    async def lists(page_size: int) -> tuple[float, float]:
        async with Client.connect(load_kubeconfig(kubeconfig)) as client:
            took = []
            for _ in range(repeat):
                gc.collect()
                started, cpu_started = time.perf_counter(), time.process_time()
                listed = await client.list(Pod, page_size=page_size)
                took.append((time.perf_counter() - started, time.process_time() - cpu_started))
                assert listed[0].spec.containers[0].name == "main"
                del listed
            return median(took)

    async def informer() -> float:
        from attractor.cache import Cache

        async with Client.connect(load_kubeconfig(kubeconfig)) as client:
            cache = Cache(client)
            started = time.perf_counter()
            running = asyncio.ensure_future(cache.run())
            await cache.informer(Pod).wait_synced()
            took = time.perf_counter() - started
            running.cancel()
            await asyncio.wait({running})
            return took

    list_s, list_cpu_s = asyncio.run(lists(PAGE_SIZE))
    whole_s, _ = asyncio.run(lists(0))
    return {
        "gets_per_s_1": round(asyncio.run(gets(1))),
        "gets_per_s_32": round(asyncio.run(gets(32))),
        "list_pods_s": round(list_s, 4),
        "list_pods_cpu_s": round(list_cpu_s, 4),
        "list_pods_whole_s": round(whole_s, 4),
        "informer_synced_s": round(asyncio.run(informer()), 4),
    }


def official(kubeconfig: Path, requests: int, repeat: int) -> dict[str, Any] | None:
    try:
        import kubernetes
    except ImportError:
        return None
    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(str(kubeconfig), client_configuration=configuration)
    configuration.connection_pool_maxsize = 32
    # The kubeconfig's token is sent over plain HTTP here, which kubectl would not do.
    api = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration))

    def get(_: int) -> None:
        api.read_namespaced_pod("pod-00000", "default")

    fewer = max(20, requests // 10)
    one, _ = timed(lambda: [get(0) for _ in range(fewer)], 1)
    with ThreadPoolExecutor(32) as pool:
        many, _ = timed(lambda: list(pool.map(get, range(fewer))), 1)
    list_s, list_cpu_s = timed(lambda: api.list_namespaced_pod("default"), repeat)
    return {
        "version": kubernetes.__version__,
        "gets_per_s_1": round(fewer / one),
        "gets_per_s_32": round(fewer / many),
        "list_pods_s": round(list_s, 4),
        "list_pods_cpu_s": round(list_cpu_s, 4),
        "import_s": import_time("import kubernetes.client"),
    }


def import_time(statement: str) -> float:
    """The median processor time over new interpreters, without the interpreter's own start."""
    code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = [float(subprocess.check_output([sys.executable, "-c", code], env=environ)) for _ in range(8)]
    return round(statistics.median(runs[1:]), 4)  # the first one may have had to compile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests and Pods")
    parser.add_argument("--pods", type=int, default=5000)
    args = parser.parse_args()
    pods, requests, repeat = (500, 500, 2) if args.quick else (args.pods, 10_000, 5)
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory))
        os.sched_setaffinity(0, {(os.cpu_count() or 1) - 1})
        try:
            asyncio.run(fill(server.kubeconfig, pods))
            mine = ours(server.kubeconfig, requests, repeat)
            rival = official(server.kubeconfig, requests, max(1, repeat // 2))
        finally:
            server.stop()
    mine["import_s"] = import_time("from attractor.runtime import Manager")
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "pods": pods,
        "attractor": {"version": __version__, **mine},
        "kubernetes": rival,
        "aims": AIMS,
    }
    if rival is not None:
        report["ratios"] = {
            "gets_per_s_1": round(mine["gets_per_s_1"] / rival["gets_per_s_1"], 1),
            "gets_per_s_32": round(mine["gets_per_s_32"] / rival["gets_per_s_32"], 1),
            "list_pods": round(rival["list_pods_s"] / mine["list_pods_s"], 1),
            "list_pods_cpu": round(rival["list_pods_cpu_s"] / mine["list_pods_cpu_s"], 1),
            "import": round(rival["import_s"] / mine["import_s"], 1),
        }
    json.dump(report, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
