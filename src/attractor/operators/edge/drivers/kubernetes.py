"""The ``kubernetes`` driver: a ClusterInst is a namespace of another cluster, an AppInst a Deployment in it.

The truth is what that cluster stores: annotations say which wish an object fulfils, and a Deployment counts once it is
available (unless the driver is told not to wait for that, as on a server that runs no pods).
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from attractor.client import Client, ConfigError, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.apps_v1 import Deployment
from attractor.k8s.core_v1 import Namespace
from attractor.objects.errors import ApiError, NotFound
from attractor.objects.gvk import Key
from attractor.operators.edge.api.types import GROUP
from attractor.operators.edge.drivers import tell_nobody
from attractor.operators.edge.drivers.gate import Gate, changes
from attractor.operators.edge.drivers.protocols import APP, CLUSTER, DriverError, Found, Ref, Step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from attractor.operators.edge.drivers import DriverSettings
    from attractor.operators.edge.drivers.protocols import Tell

GENERATION, SETTINGS, INSTANCE = f"{GROUP}/generation", f"{GROUP}/settings", f"{GROUP}/instance"
CLOUDLET = f"{GROUP}/cloudlet"
MANAGER = "edge-agent"
WAIT_S = 120.0
POLL_S = 0.1
Settings = tuple[tuple[str, str], ...]


def place(cluster: Ref) -> str:
    """The namespace that a ClusterInst is."""
    return f"{cluster.namespace}-{cluster.name}"


class KubernetesDriver:
    """Keeps the instances of one cloudlet in another cluster."""

    def __init__(self, client: Client, *, wait_available: bool = True, tell: Tell = tell_nobody) -> None:
        self._client = client
        self._wait_available = wait_available
        self._tell = tell
        self._gate = Gate()
        self._homes: dict[Ref, str] = {}
        """The namespaces in which apps were last seen."""
        self._last: dict[Ref, Found | None] = {}

    @classmethod
    def of(cls, settings: DriverSettings) -> KubernetesDriver:
        """The driver for a kubeconfig; raises ``ConfigError``."""
        if settings.kubeconfig is None:
            raise ConfigError("the kubernetes driver needs a cluster to work in; give --driver-kubeconfig PATH")
        client = Client(HttpTransport(load_kubeconfig(settings.kubeconfig)))
        return cls(client, wait_available=settings.wait_available, tell=settings.tell)

    async def drain(self) -> bool:
        """Begin nothing more."""
        return self._gate.close()

    async def resume(self) -> None:
        """Begin again."""
        self._gate.open()

    def changes(self, kind: str) -> AsyncIterator[Ref]:
        """Every instance that is there, then every one that changes."""
        return changes(kind, self.inventory)

    async def inventory(self) -> dict[Ref, Found | None]:
        """All that is there, of all cloudlets that use this cluster."""
        try:
            namespaces = await self._client.list(Namespace, label_selector=CLOUDLET)
            deployments = await self._client.list(Deployment, label_selector=CLOUDLET)
        except ApiError:
            return self._last  # who cannot be asked has said nothing new
        there: dict[Ref, Found | None] = {}
        for kind, objects in ((CLUSTER, namespaces), (APP, deployments)):
            for obj in objects:
                ref = Ref(kind, obj.metadata.labels[CLOUDLET], obj.metadata.annotations[INSTANCE])
                there[ref] = self._found(obj)
                if kind == APP:
                    self._homes[ref] = obj.metadata.namespace
        self._last = there
        return there

    async def find(self, ref: Ref) -> Found | None:
        """Return the state of an instance in the cluster; raises ``DriverError`` when it cannot be asked."""
        try:
            obj = await self._object(ref)
        except ApiError as error:
            raise DriverError(f"the cluster does not say what it has of {ref}: {error.message}") from error
        return None if obj is None else self._found(obj)

    async def apply(self, ref: Ref, generation: int, settings: Settings) -> Found:
        """Create or change an instance; a change that fails is taken back."""
        with self._gate.working():
            before = await self.find(ref)
            try:
                self._tell(ref, Step(1, 2, "asks the cluster for it"))
                await self._client.apply(self._wanted(ref, generation, settings), field_manager=MANAGER, force=True)
                self._tell(ref, Step(2, 2, "waits until it is there"))
                return await self._settled(ref, settings)
            except (ApiError, TimeoutError) as error:
                await self._take_back(ref, before)
                raise DriverError(f"{ref} cannot be applied: {getattr(error, 'message', error)}") from error

    async def remove(self, ref: Ref) -> None:
        """Delete an instance, and wait until it is gone."""
        with self._gate.working():
            self._tell(ref, Step(1, 1, "waits until it is gone"))
            try:
                async with asyncio.timeout(WAIT_S):
                    while (obj := await self._object(ref)) is not None:
                        if not obj.metadata.is_deleting:
                            await self._client.delete(type(obj), obj.key)
                        await asyncio.sleep(POLL_S)
            except (ApiError, TimeoutError) as error:
                raise DriverError(f"{ref} does not go: {getattr(error, 'message', error)}") from error

    async def _take_back(self, ref: Ref, before: Found | None) -> None:
        try:
            if before is not None:
                wanted = self._wanted(ref, before.generation, before.settings)
                await self._client.apply(wanted, field_manager=MANAGER, force=True)
            elif (obj := await self._object(ref)) is not None:
                await self._client.delete(type(obj), obj.key)
        except ApiError:
            return  # the next report tells what is there

    async def _object(self, ref: Ref) -> Any:
        try:
            if ref.kind == CLUSTER:
                return await self._client.get(Namespace, Key("", place(ref)))
            home = self._homes.get(ref) or await self._home_of(ref)
            return None if home is None else await self._client.get(Deployment, Key(home, ref.name))
        except NotFound:
            return None

    async def _home_of(self, app: Ref) -> str | None:
        for found in await self._client.list(Deployment, label_selector=f"{CLOUDLET}={app.namespace}"):
            if found.metadata.name == app.name:
                return str(found.metadata.namespace)
        return None

    async def _settled(self, ref: Ref, settings: Settings) -> Found:
        if ref.kind == APP:
            self._homes[ref] = place(Ref(CLUSTER, ref.namespace, dict(settings)["cluster"]))
        async with asyncio.timeout(WAIT_S):
            while True:
                found = await self.find(ref)
                if found is not None:
                    return found
                await asyncio.sleep(POLL_S)

    def _found(self, obj: Any) -> Found | None:
        """Return the state of an object, if it is all there."""
        said = obj.metadata.annotations
        if obj.metadata.is_deleting or SETTINGS not in said or not (isinstance(obj, Namespace) or self._available(obj)):
            return None
        settings = tuple(sorted(json.loads(said[SETTINGS]).items()))
        return Found(int(said[GENERATION]), settings, f"{obj.kind.lower()}/{obj.metadata.name}")

    def _available(self, deployment: Any) -> bool:
        if not self._wait_available:
            return True
        status = deployment.to_dict().get("status") or {}
        is_seen = status.get("observedGeneration", 0) >= deployment.metadata.generation
        return bool(is_seen and status.get("availableReplicas", 0) >= deployment.to_dict()["spec"]["replicas"])

    def _wanted(self, ref: Ref, generation: int, settings: Settings) -> Any:
        said = dict(settings)
        metadata = {
            "name": place(ref) if ref.kind == CLUSTER else ref.name,
            "labels": {CLOUDLET: ref.namespace},
            "annotations": {GENERATION: str(generation), SETTINGS: json.dumps(said), INSTANCE: ref.name},
        }
        if ref.kind == CLUSTER:
            return Namespace.from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        metadata["namespace"] = place(Ref(CLUSTER, ref.namespace, said["cluster"]))
        labels = {"app": ref.name}
        container = {"name": "app", "image": said["image"] or "registry.k8s.io/pause:3.10"}
        container["env"] = [{"name": "REVISION", "value": said["revision"]}]  # type: ignore[assignment]
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": int(said["replicas"]), "selector": {"matchLabels": labels}, "template": template}
        return Deployment.from_dict({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
