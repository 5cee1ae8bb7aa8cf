"""The roles and bindings that every cluster starts with, as Kubernetes names them.

``cluster-admin``, ``admin``, ``edit`` and ``view`` are for people to bind; discovery, health and self-reviews are bound
already. What is there is left as it is, so that an administrator's change survives a restart. The roles of Kubernetes'
own controllers, schedulers and nodes are left out: none of them runs here.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from attractor.apiserver.operation import Operation, WriteOptions
from attractor.apiserver.rbac import GROUP
from attractor.objects.errors import AlreadyExists

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.server import Server
    from attractor.objects.jsontypes import JsonObject


@cache
def roles() -> Mapping[str, Mapping[str, JsonObject]]:
    """The ClusterRoles and their bindings as kube-apiserver 1.36 makes them, by resource and name."""
    found: Mapping[str, Mapping[str, JsonObject]] = json.loads(
        files("attractor.embedded").joinpath("roles.json").read_bytes()
    )
    return found


PRIORITY_CLASSES = {
    "system-node-critical": (
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
}
"""Value and description of the classes that are reserved for the system."""


async def create_priority_classes(server: Server) -> None:
    """Create the system's priority classes where they are missing."""
    snapshot = await server.store.snapshot()
    for name, (value, description) in PRIORITY_CLASSES.items():
        if snapshot.get(f"scheduling.k8s.io/priorityclasses/{name}") is not None:
            continue
        op = Operation(
            verb="create",
            group="scheduling.k8s.io",
            version="v1",
            resource="priorityclasses",
            body={"metadata": {"name": name}, "value": value, "description": description},
            write=WriteOptions(field_manager="kube-apiserver"),
        )
        try:
            await server.perform(op)
        except AlreadyExists:
            continue


async def create_default_roles(server: Server) -> None:
    """Create what is missing; several servers on one store may do it at once."""
    snapshot = await server.store.snapshot()
    if snapshot.get(f"{GROUP}/clusterrolebindings/system:public-info-viewer") is not None:
        return
    every = [(resource, name, body) for resource, named in roles().items() for name, body in named.items()]
    for resource, name, body in every:
        if snapshot.get(f"{GROUP}/{resource}/{name}") is not None:
            continue
        op = Operation(
            verb="create",
            group=GROUP,
            version="v1",
            resource=resource,
            body={**body, "metadata": {"name": name, **body["metadata"]}},
            write=WriteOptions(field_manager="kube-apiserver"),
        )
        try:
            await server.perform(op)
        except AlreadyExists:
            continue
