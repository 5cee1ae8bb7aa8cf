"""The controllers' process is killed at every step of a container's start and end: nothing twice, nothing left.

A listener stands between the controllers and the runtime. When a request of a given kind comes, it kills the
controllers: before the request reaches the runtime, while the runtime is at it, or after it is done and before the
answer reaches anybody. The steps are those that the runtime is really asked for, in their order.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from attractor.client import Client
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.containers import Container, ContainerSpec, VolumeMount
from attractor.testing import eventually
from tests.operators.devplane.test_kills import WITHIN_S, Operator, operating
from tests.operators.podman import IMAGE, Podman

CREATE, START = r"POST /containers/create", r"POST /containers/[0-9a-f]+/start"
STOP, REMOVE = r"POST /containers/[0-9a-f]+/stop", r"DELETE /containers/[0-9a-f]+"
STEPS = ((CREATE, STOP), (START, REMOVE))
"""A step of the start and one of the end, for each container."""


class Between:
    """A listener that hands requests on to the runtime, and kills the controllers at one of them."""

    def __init__(self, runtime: str, moment: str) -> None:
        self._runtime = runtime
        self._moment = moment
        self.operator: Operator | None = None
        self.awaited = ""
        """The request at which the controllers are to be killed, once."""
        self.has_struck = asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()

    async def end(self) -> None:
        """Close what is open: a stream of events never ends by itself."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One more connection."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, and its answer."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            body = await reader.readexactly(int(length.group(1))) if length else b""
            if self.awaited and re.match(self.awaited, head.decode("latin-1")):
                self.awaited = ""
                await self._strike(head + body)
                return
            source, sink = await asyncio.open_unix_connection(self._runtime)
            try:
                sink.write(head + body)
                while piece := await source.read(65536):
                    writer.write(piece)
                    await writer.drain()
            finally:
                sink.close()
        except (OSError, asyncio.IncompleteReadError):
            return  # whoever asked was killed, or the runtime is away
        finally:
            writer.close()

    async def _strike(self, request: bytes) -> None:
        assert self.operator is not None
        if self._moment == "before":
            self.operator.kill()
        else:
            source, sink = await asyncio.open_unix_connection(self._runtime)
            sink.write(request)
            await sink.drain()
            if self._moment == "after":
                await source.read()
            self.operator.kill()
            sink.close()
            await sink.wait_closed()
        self.has_struck.set()

    async def next_kill(self) -> None:
        """Wait until the controllers were killed, and start them again."""
        async with asyncio.timeout(WITHIN_S):
            await self.has_struck.wait()
        self.has_struck.clear()
        assert self.operator is not None
        self.operator.start()


@asynccontextmanager
async def between(podman: Podman, directory: Path, moment: str) -> AsyncIterator[tuple[Client, Between]]:
    """Controllers that reach the runtime through a listener."""
    made, socket = Between(podman.socket, moment), directory / "between"
    server = await asyncio.start_unix_server(made.accept, socket)
    try:
        async with operating(directory, CONTAINER_HOST=f"unix://{socket}") as (client, made.operator):
            yield client, made
    finally:
        server.close()
        await made.end()


def container(directory: Path, name: str) -> Container:
    """One that notes each of its starts in a file of the machine."""
    script = f"trap 'exit 0' TERM; echo {name} >>/noted/starts; while :; do sleep 1000 & wait; done"
    spec = ContainerSpec(
        image=IMAGE,
        command=["sh", "-c", script],
        pull_policy="Never",
        networks=[],
        volume_mounts=[VolumeMount(host_path=str(directory / "noted"), target="/noted")],
    )
    return Container(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "during", "after"])
async def test_nothing_is_started_twice_and_nothing_is_left_wherever_the_controllers_are_killed(
    podman: Podman, tmp_path: Path, moment: str
) -> None:
    async with between(podman, tmp_path, moment) as (client, listener):
        for number, (starting, ending) in enumerate(STEPS):
            name = f"web-{number}"
            key = Key("default", name)

            async def is_running(key: Key = key) -> bool:
                return (await client.get(Container, key)).status.phase == "Running"

            async def is_gone(key: Key = key) -> bool:
                return key not in [one.key for one in await client.list(Container, "default")]

            listener.awaited = starting
            await client.create(container(tmp_path, name))
            await listener.next_kill()
            await eventually(is_running, within_s=WITHIN_S)
            assert [found.rpartition("-")[0] for found in podman.names] == [name]
            assert (tmp_path / "noted" / "starts").read_text().split() == [f"web-{one}" for one in range(number + 1)]

            listener.awaited = ending
            await client.delete(Container, key)
            await listener.next_kill()
            await eventually(is_gone, within_s=WITHIN_S)
            assert podman.names == []
