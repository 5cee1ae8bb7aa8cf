"""One developer control plane from its first object to its last: what is applied, who may end it, how it is taken down.

A running plane holds a Lease in its own server. Whoever deletes that asks it to end, which needs no more than its
kubeconfig. It is taken down in the order in which nothing is left without its master: replica sets, which would make
new Executables; commands inside containers; Executables and Containers, whose processes end; what containers share;
Services, whose listeners close.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attractor.cache import Cache
from attractor.k8s.coordination_v1 import Lease
from attractor.k8s.core_v1 import Namespace
from attractor.objects.errors import AlreadyExists, ApiError, NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.application import CONTAINER_KINDS
from attractor.operators.devplane.api.container_networks import (
    ContainerNetwork,
    ContainerNetworkConnection,
    ContainerVolume,
)
from attractor.operators.devplane.api.containers import Container, ContainerExec
from attractor.operators.devplane.api.executables import Executable, ExecutableReplicaSet
from attractor.operators.devplane.api.services import Endpoint, Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from attractor.client import Client
    from attractor.objects.resource import Resource
    from attractor.operators.devplane.api.application import Part

KINDS: tuple[type[Resource], ...] = (Service, Endpoint, Executable, ExecutableReplicaSet, *CONTAINER_KINDS)
"""All kinds of the plane."""
ORDER: tuple[type[Resource], ...] = (
    ExecutableReplicaSet,
    ContainerExec,
    ContainerNetworkConnection,
    Executable,
    Container,
    ContainerNetwork,
    ContainerVolume,
    Service,
)
"""In which they are taken down; Endpoints go with their Executables and Containers."""
LEASE = Key("default", "attractor-dev")
MANAGER = "attractor-dev"
LOOK_S = 0.05


class Refused(Exception):
    """The server does not take a part of the application; the text says which, where it stands, and why."""


async def apply(client: Client, parts: Sequence[Part]) -> None:
    """Store the parts of an application, all of them or, if the server refuses one, none; raises ``Refused``."""
    for namespace in sorted({part.namespace for part in parts} - {"default"}):
        with suppress(AlreadyExists):
            await client.create(Namespace(metadata=ObjectMeta(name=namespace)))
    for is_rehearsal in (True, False):
        for part in parts:
            try:
                await client.apply(part.object, field_manager=MANAGER, force=True, dry_run=is_rehearsal)
            except ApiError as error:
                raise Refused(f"{part.place}: {part} is refused: {error.message}") from error


async def open_session(client: Client, holder: str) -> None:
    """Say that a plane runs here; whoever deletes what says so asks it to end."""
    lease: dict[str, Any] = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": LEASE.namespace, "name": LEASE.name},
        "spec": {"holderIdentity": holder},
    }
    await client.apply(lease, field_manager=MANAGER, force=True)


async def ask_to_end(client: Client) -> bool:
    """Ask the plane that a client reaches to end; False when it was asked already. Raises ``ApiError``."""
    try:
        await client.delete(Lease, LEASE)
    except NotFound:
        return False
    return True


@contextlib.asynccontextmanager
async def followed(client: Client) -> AsyncIterator[AsyncIterator[Mapping[str, Sequence[Any]]]]:
    """The objects of each kind, by its name, now and after each change; Leases are among them."""
    cache, changed = Cache(client, own_writes=False), asyncio.Event()
    kinds: tuple[type[Resource], ...] = (*ORDER, Lease)
    for kind in kinds:
        cache.informer(kind).add_handler(lambda _: changed.set())

    async def views() -> AsyncIterator[Mapping[str, Sequence[Any]]]:
        while True:
            changed.clear()
            yield {kind.__name__: await cache.list(kind) for kind in kinds}
            await changed.wait()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(cache.run())
        await cache.wait_synced()
        try:
            yield views()
        finally:
            running.cancel()


async def take_down(client: Client, tell: Callable[[str], None] = lambda _: None) -> None:
    """Delete everything in order, and wait for each step; ``tell`` hears what is waited for, whenever that changes."""
    said = ""
    for kind in ORDER:
        while left := await client.list(kind):
            for one in left:
                if not one.metadata.is_deleting:
                    with suppress(NotFound):
                        await client.delete(kind, one.key)
            if (text := _waiting(kind, (one.metadata.name for one in left))) != said:
                tell(text)
                said = text
            await asyncio.sleep(LOOK_S)


def _waiting(kind: type[Resource], names: Iterable[str]) -> str:
    found = sorted(names)
    shown = ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
    return f"waiting for {len(found)} {kind.__name__}{'' if len(found) == 1 else 's'}: {shown}"
