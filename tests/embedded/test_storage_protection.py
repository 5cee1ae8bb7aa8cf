"""Storage that is protected against deletion goes once nothing uses it, whatever its kind."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from attractor.apiserver.admission.plugins.storage import StorageObjectInUseProtection
from attractor.apiserver.controllers.storage_protection import PROTECTED
from attractor.embedded import EmbeddedCluster
from tests.embedded.test_controllers import call

CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(admission_plugins=("StorageObjectInUseProtection",)) as running:
        yield running


async def until_gone(cluster: EmbeddedCluster, path: str) -> None:
    async with asyncio.timeout(10), cluster.store.watch("", after=cluster.store.revision) as watch:
        while (await call(cluster, "GET", path))[0] != 404:
            await anext(watch)


async def make_class(cluster: EmbeddedCluster) -> None:
    body = {"metadata": {"name": "gold"}, "driverName": "d", "parameters": {"iops": "9"}}
    code, made = await call(cluster, "POST", CLASSES, body)
    assert (code, made["metadata"]["finalizers"]) == (201, ["kubernetes.io/vac-protection"])


def test_everything_that_admission_protects_is_let_go_again() -> None:
    prefixes = {f"{one.group or 'core'}/{one.resource}/" for one in StorageObjectInUseProtection.concerns}
    assert prefixes == set(PROTECTED)


async def test_a_class_of_volume_attributes_that_nothing_uses_goes(cluster: EmbeddedCluster) -> None:
    await make_class(cluster)
    await call(cluster, "DELETE", f"{CLASSES}/gold")
    await until_gone(cluster, f"{CLASSES}/gold")


async def test_a_class_of_volume_attributes_stays_until_the_last_claim_that_names_it_is_gone(
    cluster: EmbeddedCluster,
) -> None:
    await make_class(cluster)
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeAttributesClassName": "gold",
    }
    assert (await call(cluster, "POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec}))[0] == 201
    await call(cluster, "DELETE", f"{CLASSES}/gold")
    assert (await call(cluster, "GET", f"{CLASSES}/gold"))[1]["metadata"]["deletionTimestamp"]
    await call(cluster, "DELETE", f"{CLAIMS}/c")
    await until_gone(cluster, f"{CLASSES}/gold")
