"""Clusters for tests, a source of entropy that can be counted, and pods that are ready as soon as they are wanted."""

from typing import Any

from attractor.client import Client
from attractor.k8s.apps_v1 import StatefulSet
from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.dbcluster import Cluster, ClusterSpec, Component
from attractor.operators.dbcluster.controllers.entropy import Certificate, Entropy
from attractor.runtime import Context, Result, controller
from attractor.testing.faults import Fault, FaultInjector
from attractor.testing.request_log import LoggedRequest

KEY = Key("default", "shop")


class CountedEntropy:
    """Each password is another one, and how many were made is known."""

    def __init__(self) -> None:
        self.count = 0

    async def password(self, length: int) -> str:
        self.count += 1
        return f"password-{self.count}"

    async def certificate(self, name: str, alternatives: tuple[str, ...]) -> Certificate:
        self.count += 1
        return Certificate(f"certificate-{self.count} of {name}", "key")


def externals(entropy: CountedEntropy | None = None) -> dict[Any, object]:
    return {Entropy: entropy or CountedEntropy()}


def component(name: str = "cache", **fields: Any) -> Component:
    return Component(name=name, **fields)


def cluster_of(*components: Component, **fields: Any) -> Cluster:
    spec = ClusterSpec(components=list(components or (component(),)), **fields)
    return Cluster(metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace), spec=spec)


@controller(for_=StatefulSet)
async def ready_pods(ctx: Context, key: Key) -> Result | None:
    """Stands for a kubelet: a StatefulSet's pods are all there and ready at once."""
    stored = await ctx.find(StatefulSet, key)
    if stored is not None and not stored.metadata.is_deleting:
        await set_ready(ctx, stored)
    return None


async def set_ready(ctx: Context, stored: StatefulSet) -> None:
    done = stored.deep_copy()
    replicas = stored.spec.replicas or 0
    done.status.observed_generation = stored.metadata.generation
    done.status.replicas = done.status.ready_replicas = done.status.updated_replicas = replicas
    if done != stored:
        await ctx.patch_from(stored, done, subresource="status")


async def edit(client: Client, **fields: Any) -> Cluster:
    """Change a cluster's spec as a user does, field by field."""
    return await client.patch(Cluster, KEY, {"spec": fields})


async def make_ready(client: Client, name: str) -> None:
    """One StatefulSet's pods become ready."""
    stored = await client.get(StatefulSet, Key(KEY.namespace, name))
    replicas = stored.spec.replicas or 0
    status = {"observedGeneration": stored.metadata.generation, "replicas": replicas}
    status |= {"readyReplicas": replicas, "updatedReplicas": replicas}
    await client.patch(StatefulSet, stored.key, {"status": status}, subresource="status")


async def is_gone(client: Client, kind: Any, key: Key) -> bool:
    try:
        await client.get(kind, key)
    except NotFound:
        return True
    return False


class Mortal(FaultInjector):
    """The network of a process that dies after so many writes: nothing of it reaches the server any more."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self._left = writes
        self.is_dead = False

    def next_for(self, entry: LoggedRequest) -> Fault | None:
        if entry.is_write:
            self.is_dead = self.is_dead or self._left == 0
            self._left -= 1
        return Fault("unreachable") if self.is_dead else None
