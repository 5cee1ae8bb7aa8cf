"""Tests marked ``any_cluster`` run against the cluster of a kubeconfig, too: ``pytest --kubeconfig ~/.kube/config``.

They use namespaces of their own, rely on nothing that another controller of that cluster might put there, and are
cleaned up after at the end of the run. On a bare API server, beside which no controller manager runs, what needs one is
left out, and the namespaces are finished by the tests themselves.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from attractor.client import Client, load_kubeconfig
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.k8s.core_v1 import Namespace, ServiceAccount
from attractor.objects.errors import AlreadyExists, Conflict, InternalError, NotFound
from attractor.objects.resource import ObjectMeta
from attractor.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from attractor.client import ClientConfig
    from attractor.objects.resource import Resource

PATIENCE_S = 60.0
GARBAGE_COLLECTION, PROGRESS = "garbage collection", "progress of etcd"
"""What not every API server has."""
KUBECONFIG = "kubeconfig"
"""The way to a cluster that somebody else runs, in the place of those that the tests make."""


def given_config(config: pytest.Config) -> ClientConfig | None:
    """The cluster that ``--kubeconfig`` names."""
    path = config.getoption("--kubeconfig")
    return None if path is None else load_kubeconfig(path, context=config.getoption("--kube-context"))


def ways(config: pytest.Config, own: Sequence[str]) -> Sequence[str]:
    """How tests reach a cluster: in the ways that they bring, or through the kubeconfig that was given."""
    return own if config.getoption("--kubeconfig") is None else (KUBECONFIG,)


async def has_controller_manager(client: Client) -> bool:
    """Whether somebody does the controllers' work: every namespace then has its default service account."""
    try:
        await client.get(ServiceAccount, ("default", "default"))
    except NotFound:
        return False
    return True


async def _reports_progress(client: Client) -> bool:
    """Whether a watch can begin at the newest version.

    A kube-apiserver whose etcd does not tell how far it is (before 3.4.25 and 3.5.8) cannot do it.
    """
    try:
        async with client.watch(Namespace, timeout_s=1, initial_events=True) as events:
            await anext(events)
    except InternalError as error:
        if "RequestWatchProgress" not in error.message:
            raise
        return False
    return True


def lacking(config: ClientConfig) -> set[str]:
    """What a cluster does not have that some tests need (their mark ``needs`` says so)."""

    async def look() -> set[str]:
        async with Client.connect(config) as client:
            found = {
                GARBAGE_COLLECTION: await has_controller_manager(client),
                PROGRESS: await _reports_progress(client),
            }
            return {name for name, is_there in found.items() if not is_there}

    return asyncio.run(look())


class Leftovers:
    """What tests have put into a cluster that outlives them."""

    def __init__(self, config: ClientConfig | None) -> None:
        self._config = config
        self._made: dict[tuple[type[Resource], str], None] = {}

    def __len__(self) -> int:
        return len(self._made)

    def note(self, kind: type[Resource], name: str) -> None:
        """Remove this cluster-scoped object in the end."""
        self._made[kind, name] = None

    def remove(self) -> None:
        """Remove everything and wait until it is gone; clusters that the tests made themselves are gone already."""
        if self._config is not None:
            asyncio.run(self._remove(self._config))

    async def _remove(self, config: ClientConfig) -> None:
        async with Client.connect(config) as client:
            for kind, name in reversed(self._made):
                try:
                    await client.delete(kind, ("", name))
                except (NotFound, Conflict):
                    continue
            if not await has_controller_manager(client):
                for kind, name in self._made:
                    if kind is Namespace:
                        await _finish(client, name)
            for kind, name in self._made:
                await eventually(lambda kind=kind, name=name: _is_gone(client, kind, name), within_s=PATIENCE_S)  # type: ignore[misc]


async def _finish(client: Client, name: str) -> None:
    """End a namespace that no controller will end; what is in it stays behind in the store, out of sight."""
    namespace = await client.get(Namespace, ("", name))
    namespace.spec.finalizers = []
    await client.update(namespace, subresource="finalize")


async def _is_gone(client: Client, kind: type[Resource], name: str) -> bool:
    try:
        await client.get(kind, ("", name))
    except NotFound:
        return True
    return False


async def own_namespace(client: Client, leftovers: Leftovers) -> str:
    """A new namespace for one test, labelled so that a run that was cut off can be cleaned up after."""
    meta = ObjectMeta(name=f"attractor-test-{secrets.token_hex(4)}", labels={"attractor.dev/test": "yes"})
    made = await client.create(Namespace(metadata=meta))
    leftovers.note(Namespace, made.metadata.name)
    return made.metadata.name


async def installed(client: Client, kind: type[Resource], leftovers: Leftovers) -> None:
    """Have a custom kind served. A definition that was there before is somebody else's, and stays."""
    definition = CustomResourceDefinition.from_dict(kind.crd())
    with suppress(AlreadyExists):
        await client.create(definition)
        leftovers.note(CustomResourceDefinition, definition.metadata.name)

    async def is_served() -> bool:
        await client.list(kind, limit=1)
        return True

    await eventually(is_served, within_s=PATIENCE_S)
