"""``attractor demo devplane``: two servers behind one Service, a client, a server that dies, one server more."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Awaitable, Callable

    from attractor.client import Client
    from attractor.operators.devplane.api.executables import Executable

APP = """\
apiVersion: dev.attractor.dev/v1
kind: Service
metadata:
  name: web
---
apiVersion: dev.attractor.dev/v1
kind: ExecutableReplicaSet
metadata:
  name: api
spec:
  replicas: 2
  template:
    spec:
      command: [python3, server.py]
      args: ['{{addressForServing "web"}}', '{{portForServing "web"}}']
      serves:
        - service: web
      probes:
        - name: answers
          http:
            url: 'http://{{addressForServing "web"}}:{{portForServing "web"}}/'
          initialDelaySeconds: 0.5
          intervalSeconds: 1
      restartPolicy: Always
---
apiVersion: dev.attractor.dev/v1
kind: Executable
metadata:
  name: client
spec:
  command: [python3, client.py]
  env:
    - name: WEB
      value: 'http://{{addressFor "web"}}:{{portFor "web"}}/'
  restartPolicy: OnFailure
"""
SERVER = """\
import http.server
import os
import sys


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"process {os.getpid()} answers".encode())

    def log_message(self, *args):
        pass


address, port = sys.argv[1:]
http.server.ThreadingHTTPServer((address, int(port)), Answer).serve_forever()
"""
CLIENT = """\
import os
import time
import urllib.request

while True:
    with urllib.request.urlopen(os.environ["WEB"]) as answer:
        print(answer.read().decode(), flush=True)
    time.sleep(0.2)
"""
FILES = {"app.yaml": APP, "server.py": SERVER, "client.py": CLIENT}
"""The application, as docs/how-to/run-a-developer-control-plane.md has it too."""
WITHIN_S = 60.0
LOOK_S = 0.05
INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor demo devplane`` takes."""
    parser.description = (
        "Run two servers behind one Service and a client with `attractor dev up`; kill a server, add one, "
        "and take everything down."
    )
    parser.epilog = "example:\n  attractor demo devplane"
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Run the demonstration; 0 when everything ended in good order, 1 when it did not."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="attractor-dev-") as directory:
            for name, content in FILES.items():
                Path(directory, name).write_text(content)
            return asyncio.run(_demo(Path(directory)))
    except KeyboardInterrupt:
        print("\nstopped; all that was started is ended")
        return INTERRUPTED


def _say(step: str, text: str) -> None:
    print(f"{step:<10}{text}", flush=True)


async def _demo(directory: Path) -> int:
    from attractor.client import Client, load_kubeconfig
    from attractor.client.http.transport import HttpTransport

    began = time.perf_counter()
    async with _plane(directory) as plane:
        async with Client(HttpTransport(load_kubeconfig(directory / ".attractor" / "kubeconfig"))) as client:
            story = _Story(client)
            _say("up", "`attractor dev up app.yaml`: a Service, two servers behind it, and a client")
            await story.begin()
            await story.kill()
            await story.scale()
            asked, restarts = await story.count()
        _say("down", "Ctrl-C: replica sets first, then processes, then services")
        plane.send_signal(signal.SIGINT)
        code = await plane.wait()
        _say("", f"it ended with {code}, and nothing is left running")
    _say(
        "done", f"in {time.perf_counter() - began:.0f} s: the client was answered {asked} times, and failed {restarts}"
    )
    return 1 if restarts or code else 0


@asynccontextmanager
async def _plane(directory: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """``attractor dev up``, as anybody would run it."""
    words = ("-P", "-m", "attractor", "dev", "up", "app.yaml")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    plane = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        cwd=directory,
        env={**os.environ, "PATH": path},
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert plane.stdout is not None
        await asyncio.wait_for(plane.stdout.readuntil(b"kubeconfig:"), WITHIN_S)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(plane.stdout.read())
            yield plane
            reading.cancel()
    finally:
        for number in (signal.SIGINT, signal.SIGINT):
            if plane.returncode is None:
                plane.send_signal(number)
                await asyncio.wait({asyncio.ensure_future(plane.wait())}, timeout=2)
        await plane.wait()


async def _until(condition: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(WITHIN_S):
        while True:
            if found := await condition():
                return found
            await asyncio.sleep(LOOK_S)


class _Story:
    """The demonstration on one application, step by step."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def begin(self) -> None:
        from attractor.operators.devplane.api.services import Service

        await _until(lambda: self._has_endpoints(2))
        (service,) = await self._client.list(Service)
        place = f"{service.status.effective_address}:{service.status.effective_port}"
        _say("ready", f"the Service is at {place}; both servers answer their probe")
        await _until(lambda: self._has_answered(2))
        _say("answer", f"the client is answered by {' and '.join(await self._has_answered(2))}, in turn")

    async def kill(self) -> None:
        victim = (await self._servers())[0]
        before, name = victim.status.pid, victim.metadata.name
        assert before is not None
        os.kill(before, signal.SIGKILL)
        _say("kill", f"kill -9 of process {before}, which is {name}; the other one goes on alone")
        after = await _until(lambda: self._is_another(name, before))
        await _until(lambda: self._has_endpoints(2))
        _say("restart", f"{name} is process {after} now, at the same port, and gets clients again")

    async def scale(self) -> None:
        from attractor.objects.gvk import Key
        from attractor.operators.devplane.api.executables import ExecutableReplicaSet

        await self._client.patch(ExecutableReplicaSet, Key("default", "api"), {"spec": {"replicas": 3}})
        await _until(lambda: self._has_endpoints(3))
        pids = [f"process {one.status.pid}" for one in await self._servers()]
        _say("scale", f"three servers now: {', '.join(pids)}")
        await _until(lambda: self._has_answered_all(pids))
        _say("answer", "the client has been answered by each of them")

    async def count(self) -> tuple[int, int]:
        """Return how often the client was answered, and how often it failed."""
        client = await self._executable("client")
        return len(await self._answers()), client.status.restarts

    async def _executable(self, name: str) -> Executable:
        from attractor.objects.gvk import Key
        from attractor.operators.devplane.api.executables import Executable

        return await self._client.get(Executable, Key("default", name))

    async def _servers(self) -> list[Executable]:
        from attractor.operators.devplane.api.executables import REPLICA_SET, Executable

        return list(await self._client.list(Executable, "default", label_selector=f"{REPLICA_SET}=api"))

    async def _has_endpoints(self, count: int) -> bool:
        from attractor.operators.devplane.api.services import Service

        services = await self._client.list(Service)
        healthy = [one for one in await self._servers() if one.status.health == "Healthy"]
        return [one.status.endpoints for one in services] == [count] and len(healthy) == count

    async def _answers(self) -> list[str]:
        file = (await self._executable("client")).status.stdout_file
        return re.findall(r"process \d+", Path(file).read_text()) if file else []  # noqa: ASYNC240 - a small local file

    async def _has_answered(self, count: int) -> list[str]:
        found = sorted(set(await self._answers()))
        return found if len(found) >= count else []

    async def _has_answered_all(self, pids: list[str]) -> bool:
        return set(pids) <= set(await self._answers())

    async def _is_another(self, name: str, before: int) -> int | None:
        status = (await self._executable(name)).status
        return status.pid if status.phase == "Running" and status.pid != before else None
