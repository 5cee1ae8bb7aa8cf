"""The controllers of ContainerNetworks, ContainerNetworkConnections and ContainerVolumes.

Each call of the runtime is short and may be asked again, so that nothing runs in the background and nothing is
remembered: a reconcile looks, does what is missing, and looks again after a while, for runtimes do not tell of networks
and volumes. What the session has made is told by its labels; what others have made is used and never removed. That a
network is removed by somebody is told, and it is not made again: the containers in it have lost it for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.operators.devplane.api.container_networks import (
    ContainerNetwork,
    ContainerNetworkConnection,
    ContainerVolume,
)
from attractor.operators.devplane.api.containers import Container
from attractor.operators.devplane.controllers import container_orders as orders
from attractor.operators.local.containers.runtime import (
    ContainerRuntime,
    InUse,
    NameTaken,
    NotThere,
    Refused,
    RuntimeProblem,
)
from attractor.runtime import Index, Reconciler, Result, Watches, controller

if TYPE_CHECKING:
    from attractor.operators.local.containers.runtime import FoundNetwork
    from attractor.runtime import Context

LATER_S = 1.0
WATCH_S = 5.0
"""How often to look at what nobody tells of."""
BY_NETWORK, BY_CONTAINER = "network", "container"


class Networks(Reconciler[ContainerNetwork]):
    """Keeps a network of the runtime for each ContainerNetwork."""

    kind = ContainerNetwork

    async def sync(self, ctx: Context, obj: ContainerNetwork) -> Result | None:
        """Make the network, or wait for the one that somebody else makes, and say where it is."""
        status = obj.status
        status.observed_generation = obj.metadata.generation
        if status.phase in {"FailedToStart", "Removed"}:
            return None
        if status.phase == "":
            status.network_name = orders.runtime_name(obj, obj.spec.network_name)
            status.phase = "Pending"
            return None
        try:
            return await self._look(ctx, obj)
        except (Refused, NameTaken) as problem:
            status.phase, status.message = "FailedToStart", str(problem)
            return None
        except RuntimeProblem as problem:
            if status.phase != "Running":
                status.phase = "RuntimeUnhealthy"
            status.message = str(problem)
            return Result(requeue_after_s=LATER_S)

    async def _look(self, ctx: Context, obj: ContainerNetwork) -> Result | None:
        status, runtime = obj.status, ctx.external(ContainerRuntime)
        found = await runtime.find_network(status.network_name)
        if found is not None and is_foreign(obj, found):
            raise NameTaken(f"network {found.name} is there, and not of this object; give this one another networkName")
        if found is not None:
            status.phase, status.message = "Running", ""
            status.network_id, status.driver = found.id, found.driver
            status.subnets, status.gateways = list(found.subnets), list(found.gateways)
            return Result(requeue_after_s=WATCH_S)
        if status.network_id:
            status.phase, status.message = "Removed", "it is gone: somebody has removed it"
            return None
        if obj.spec.mode == "Existing":
            status.phase = "NotFound"
            status.message = f"there is no network {status.network_name}; somebody else makes it"
            return Result(requeue_after_s=LATER_S)
        stored = await ctx.find(ContainerNetwork, obj.key, cached=False)
        if stored is not None and stored.metadata.uid == obj.metadata.uid and not stored.metadata.is_deleting:
            labels = tuple(sorted(orders.own_labels(obj, obj.spec.mode).items()))
            spec = obj.spec
            await runtime.create_network(status.network_name, labels, ipv6=spec.ipv6, internal=spec.internal)
        return Result(requeue=True)

    async def clean_up(self, ctx: Context, obj: ContainerNetwork) -> Result | None:
        """Remove the network if it is the session's; it is waited for until no container is in it."""
        if obj.spec.mode != "Session" or obj.status.phase == "":
            return None
        runtime = ctx.external(ContainerRuntime)
        try:
            found = await runtime.find_network(obj.status.network_name)
            if found is not None and found.label(orders.UID) == obj.metadata.uid:
                await runtime.remove_network(found.name)
        except RuntimeProblem as problem:
            obj.status.message = f"cannot be removed yet: {problem}"
            return Result(requeue_after_s=LATER_S)
        return None


def is_foreign(obj: ContainerNetwork, found: FoundNetwork) -> bool:
    """Return whether a network that has the wanted name is somebody else's."""
    if obj.spec.mode == "Session":
        return found.label(orders.UID) != obj.metadata.uid
    return obj.spec.mode == "Persistent" and found.label(orders.MODE) != "Persistent"


class Volumes(Reconciler[ContainerVolume]):
    """Keeps a volume of the runtime for each ContainerVolume."""

    kind = ContainerVolume

    async def sync(self, ctx: Context, obj: ContainerVolume) -> Result | None:
        """Make the volume if there is none of its name."""
        status = obj.status
        status.observed_generation = obj.metadata.generation
        if status.phase == "":
            status.volume_name = orders.runtime_name(obj, obj.spec.volume_name)
            status.phase = "Pending"
            return None
        runtime = ctx.external(ContainerRuntime)
        try:
            if await runtime.find_volume(status.volume_name) is None:
                mode = "Persistent" if obj.spec.persistent else "Session"
                labels = tuple(sorted({**obj.spec.labels, **orders.own_labels(obj, mode)}.items()))
                await runtime.create_volume(status.volume_name, labels)
        except RuntimeProblem as problem:
            if status.phase != "Ready":
                status.phase = "RuntimeUnhealthy"
            status.message = str(problem)
            return Result(requeue_after_s=LATER_S)
        status.phase, status.message = "Ready", ""
        return Result(requeue_after_s=WATCH_S)

    async def clean_up(self, ctx: Context, obj: ContainerVolume) -> Result | None:
        """Remove the volume if it is not to stay; it is waited for until no container has it."""
        if obj.spec.persistent or obj.status.phase == "":
            return None
        runtime = ctx.external(ContainerRuntime)
        try:
            found = await runtime.find_volume(obj.status.volume_name)
            if found is not None and found.label(orders.UID) == obj.metadata.uid:
                await runtime.remove_volume(found.name)
        except RuntimeProblem as problem:
            obj.status.message = f"cannot be removed yet: {problem}"
            return Result(requeue_after_s=LATER_S)
        return None


class Connections(Reconciler[ContainerNetworkConnection]):
    """Keeps a Container in one network more; connections that others have made are left alone."""

    kind = ContainerNetworkConnection

    async def sync(self, ctx: Context, obj: ContainerNetworkConnection) -> Result | None:
        """Connect them as soon as both are there."""
        status, spec, namespace = obj.status, obj.spec, obj.metadata.namespace
        status.observed_generation = obj.metadata.generation
        network = await ctx.find(ContainerNetwork, Key(namespace, spec.network))
        container = await ctx.find(Container, Key(namespace, spec.container))
        if network is None or network.status.phase != "Running":
            status.phase, status.message = "Pending", f"waits for ContainerNetwork {spec.network}"
            return None
        if container is None or not container.status.container_id or container.metadata.is_deleting:
            status.phase, status.message = "Pending", f"waits for Container {spec.container}"
            return None
        status.network_id, status.container_id = network.status.network_id, container.status.container_id
        try:
            await ctx.external(ContainerRuntime).connect(
                network.status.network_name, status.container_id, tuple(spec.aliases)
            )
        except NotThere as problem:
            status.phase, status.message = "Pending", str(problem)
            return Result(requeue_after_s=LATER_S)
        except RuntimeProblem as problem:
            status.phase, status.message = "RuntimeUnhealthy", str(problem)
            return Result(requeue_after_s=LATER_S)
        status.phase, status.message = "Connected", ""
        return Result(requeue_after_s=WATCH_S)

    async def clean_up(self, ctx: Context, obj: ContainerNetworkConnection) -> Result | None:
        """Take the Container out of the network, unless its own spec has it there."""
        spec, namespace = obj.spec, obj.metadata.namespace
        network = await ctx.find(ContainerNetwork, Key(namespace, spec.network))
        container = await ctx.find(Container, Key(namespace, spec.container))
        if network is None or container is None or not container.status.container_id:
            return None
        if spec.network in orders.needed_networks(container.spec):
            return None
        try:
            await ctx.external(ContainerRuntime).disconnect(network.status.network_name, container.status.container_id)
        except (NotThere, InUse):
            return None
        except RuntimeProblem as problem:
            obj.status.message = f"cannot be disconnected yet: {problem}"
            return Result(requeue_after_s=LATER_S)
        return None


networks = controller(Networks(), name="containernetworks", externals=[ContainerRuntime], workers=2)
volumes = controller(Volumes(), name="containervolumes", externals=[ContainerRuntime], workers=2)
connections = controller(
    Connections(),
    name="containernetworkconnections",
    watches=[Watches(ContainerNetwork, index=BY_NETWORK), Watches(Container, index=BY_CONTAINER)],
    indexes=[
        Index(
            ContainerNetworkConnection,
            BY_NETWORK,
            lambda one: orders.keys_in(one.metadata.namespace, [one.spec.network]),
        ),
        Index(
            ContainerNetworkConnection,
            BY_CONTAINER,
            lambda one: orders.keys_in(one.metadata.namespace, [one.spec.container]),
        ),
    ],
    externals=[ContainerRuntime],
    workers=2,
)
