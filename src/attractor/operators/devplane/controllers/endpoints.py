"""The controller of Endpoints: one for each Service that an Executable serves, while it does.

An Executable serves while its process runs, nobody has told it to go, and its probes, where it has any, all succeed:
one that has not answered yet may not listen yet, and gets no clients. Its Endpoints are its children and never change:
each is named by a hash of what it says, so that one whose port is no longer right is told by its name, deleted, and
followed by another. What an Executable leaves behind goes with it, by garbage collection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.errors import AlreadyExists, Conflict, NotFound
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import Executable
from attractor.operators.devplane.api.services import Endpoint, EndpointSpec
from attractor.runtime import Index, controller
from attractor.runtime.toolkit.children import hashed_name, split_children
from attractor.runtime.toolkit.owners import set_controller

if TYPE_CHECKING:
    from attractor.runtime import Context, Key

BY_EXECUTABLE = "executable"
"""The index of Endpoints by the uid of the Executable that they belong to."""


def is_serving(executable: Executable) -> bool:
    """Return whether clients may be sent to it."""
    status = executable.status
    is_well = status.health == "Healthy" or not executable.spec.probes
    return status.phase == "Running" and is_well and not executable.metadata.is_deleting


def wanted_endpoints(executable: Executable) -> dict[str, Endpoint]:
    """The Endpoints that there should be now, by name; a service whose port is not known yet has none."""
    found: dict[str, Endpoint] = {}
    if not is_serving(executable):
        return found
    for served in executable.spec.serves:
        port = executable.status.ports.get(served.service)
        if port is None:
            continue
        spec = EndpointSpec(service=served.service, address=served.address, port=port)
        name = hashed_name(executable.metadata.name, [executable.metadata.uid, spec.service, spec.address, spec.port])
        found[name] = Endpoint(metadata=ObjectMeta(name=name, namespace=executable.metadata.namespace), spec=spec)
        set_controller(executable, found[name])
    return found


async def reconcile(ctx: Context, key: Key) -> None:
    """Delete what is not right any more, then create what is missing."""
    executable = await ctx.find(Executable, key)
    if executable is None:
        return
    wanted = wanted_endpoints(executable)
    known = await ctx.list(Endpoint, namespace=key.namespace, index=(BY_EXECUTABLE, executable.metadata.uid))
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


def _executables_of(endpoint: Endpoint) -> list[str]:
    owner = endpoint.metadata.controller
    return [] if owner is None else [owner.uid]


endpoints = controller(
    reconcile,
    name="devplane-endpoints",
    for_=Executable,
    owns=[Endpoint],
    indexes=[Index(Endpoint, BY_EXECUTABLE, _executables_of)],
    workers=4,
)
