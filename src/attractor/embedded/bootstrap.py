"""The objects that every cluster starts with, as Kubernetes names them.

A cluster with admission of built-in kinds has everything that a fresh kube-apiserver has, another one only the roles
that are for people to bind, and those for discovery, health and reviews, which are bound already. What is there is
left as it is, so that an administrator's change survives a restart.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from attractor.apiserver.auth.rbac import GROUP
from attractor.apiserver.request.operation import Operation, WriteOptions
from attractor.objects.errors import AlreadyExists
from attractor.store.contract import Stale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.server import Server
    from attractor.objects.json_types import JsonObject


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


@cache
def flow_control() -> Mapping[str, bytes]:
    """The FlowSchemas and PriorityLevelConfigurations that kube-apiserver makes, by key."""
    lines = files("attractor.embedded").joinpath("fresh.jsonl").read_bytes().splitlines()
    named = (line.partition(b" ") for line in lines if line.startswith(b"flowcontrol.apiserver.k8s.io/"))
    return {key.decode(): text for key, _, text in named}


async def create_fresh_objects(server: Server) -> None:
    """Create what a fresh kube-apiserver has, where it is missing: roles, flow control, API services, ``kubernetes``.

    The objects are ready-made (``fresh.jsonl``): nothing is decoded or validated, only uids and times are filled in.
    Each has a version of its own; a store makes durable together what is written at once.
    """
    snapshot = await server.store.snapshot()
    now = server.source.now().encode()
    async with asyncio.TaskGroup() as group:
        for line in files("attractor.embedded").joinpath("fresh.jsonl").read_bytes().splitlines():
            name, _, text = line.partition(b" ")
            key = name.decode()
            if snapshot.get(key) is not None:
                continue
            uid = server.source.uid().encode()
            made = text.replace(b"{uid}", uid).replace(b"{now}", now).replace(b"{today}", now[: len("2026-01-01")])
            group.create_task(_put_new(server, key, made))


AUTHENTICATION = "extension-apiserver-authentication"
"""The ConfigMap in ``kube-system`` by which API servers of others learn whose certificates this one believes."""


async def publish_authentication(server: Server, client_ca: str) -> None:
    """Say by which authority's certificates clients are known, PEM; of several servers, the last one says it."""
    data = {"client-ca-file": client_ca} if client_ca else {}
    found = (await server.store.snapshot()).get(f"core/configmaps/kube-system/{AUTHENTICATION}")
    if found is not None and (json.loads(found.value).get("data") or {}) == data:
        return
    op = Operation(
        verb="create" if found is None else "patch",
        group="",
        version="v1",
        resource="configmaps",
        namespace="kube-system",
        name="" if found is None else AUTHENTICATION,
        body={"metadata": {"name": AUTHENTICATION}, "data": data} if found is None else {"data": {**_NOTHING, **data}},
        write=WriteOptions(field_manager="kube-apiserver"),
    )
    with suppress(AlreadyExists):
        await server.perform(op)


_NOTHING: JsonObject = {"client-ca-file": None}


async def _put_new(server: Server, key: str, value: bytes) -> None:
    with suppress(Stale):  # another server on the same store was faster
        await server.store.commit({key: 0}, puts={key: value})


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
