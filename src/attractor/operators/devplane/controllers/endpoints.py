"""The controllers of Endpoints: one for each Service that an Executable or a Container serves, while it does.

An Executable serves while its process runs, nobody has told it to go, and its probes, where it has any, all succeed:
one that has not answered yet may not listen yet, and gets no clients. A Container serves likewise, where the machine
publishes its port. Their Endpoints are their children and never change:
each is named by a hash of what it says, so that one whose port is no longer right is told by its name, deleted, and
followed by another. What is left behind goes with the owner, by garbage collection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.errors import AlreadyExists, Conflict, NotFound
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.containers import Container
from attractor.operators.devplane.api.executables import Executable
from attractor.operators.devplane.api.services import Endpoint, EndpointSpec
from attractor.operators.devplane.controllers.container_orders import served_at
from attractor.runtime import Index, controller
from attractor.runtime.toolkit.children import hashed_name, split_children
from attractor.runtime.toolkit.owners import set_controller

if TYPE_CHECKING:
    from attractor.runtime import Context, Key

BY_OWNER = "owner"
"""The index of Endpoints by the uid of the Executable or Container that they belong to."""


def is_serving(owner: Executable | Container) -> bool:
    """Return whether clients may be sent to it."""
    status = owner.status
    is_well = status.health == "Healthy" or not owner.spec.probes
    return status.phase == "Running" and is_well and not owner.metadata.is_deleting


def wanted_endpoints(owner: Executable | Container) -> dict[str, Endpoint]:
    """The Endpoints that there should be now, by name; a service whose port is not known yet has none."""
    found: dict[str, Endpoint] = {}
    if not is_serving(owner):
        return found
    for service, (address, port) in _places(owner).items():
        spec = EndpointSpec(service=service, address=address, port=port)
        name = hashed_name(owner.metadata.name, [owner.metadata.uid, spec.service, spec.address, spec.port])
        found[name] = Endpoint(metadata=ObjectMeta(name=name, namespace=owner.metadata.namespace), spec=spec)
        set_controller(owner, found[name])
    return found


def _places(owner: Executable | Container) -> dict[str, tuple[str, int]]:
    """Where the Services that it serves are reached, as far as their ports are known."""
    if isinstance(owner, Container):
        return served_at(owner)
    ports = owner.status.ports
    return {one.service: (one.address, ports[one.service]) for one in owner.spec.serves if one.service in ports}


async def reconcile(ctx: Context, key: Key) -> None:
    """Delete what is not right any more for an Executable, then create what is missing."""
    await _reconcile(ctx, await ctx.find(Executable, key))


async def reconcile_container(ctx: Context, key: Key) -> None:
    """Delete what is not right any more for a Container, then create what is missing."""
    await _reconcile(ctx, await ctx.find(Container, key))


async def _reconcile(ctx: Context, owner: Executable | Container | None) -> None:
    if owner is None:
        return
    wanted = wanted_endpoints(owner)
    known = await ctx.list(Endpoint, namespace=owner.metadata.namespace, index=(BY_OWNER, owner.metadata.uid))
    current, stale = split_children(known, wanted)
    for endpoint in stale:
        try:
            await ctx.delete(endpoint)
        except (NotFound, Conflict):
            continue  # it is gone, and so is its name: nobody gives it to another object
    for name in sorted(wanted.keys() - {one.metadata.name for one in current}):
        try:
            await ctx.create(wanted[name])
        except AlreadyExists:
            continue  # an earlier run made it, and nobody else gives such a name


def _owners_of(endpoint: Endpoint) -> list[str]:
    owner = endpoint.metadata.controller
    return [] if owner is None else [owner.uid]


endpoints = controller(
    reconcile,
    name="devplane-endpoints",
    for_=Executable,
    owns=[Endpoint],
    indexes=[Index(Endpoint, BY_OWNER, _owners_of)],
    workers=4,
)
container_endpoints = controller(
    reconcile_container,
    name="devplane-container-endpoints",
    for_=Container,
    owns=[Endpoint],
    indexes=[Index(Endpoint, BY_OWNER, _owners_of)],
    workers=4,
)
