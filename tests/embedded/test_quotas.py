"""Quotas in a cluster whose controllers run: counted, charged, given back, and never exceeded by a race."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from attractor.embedded import EmbeddedCluster
from tests.embedded.test_controllers import call

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
PODS = "/api/v1/namespaces/default/pods"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(admission_plugins=("ResourceQuota",)) as running:
        yield running


async def used(cluster: EmbeddedCluster, name: str) -> Any:
    return ((await call(cluster, "GET", f"{QUOTAS}/{name}"))[1].get("status") or {}).get("used")


async def until_used(cluster: EmbeddedCluster, name: str, wanted: dict[str, str]) -> None:
    """Wait for the events of the store until a quota says so."""
    async with asyncio.timeout(10), cluster.store.watch("", after=cluster.store.revision) as watch:
        while await used(cluster, name) != wanted:
            await anext(watch)


async def limit(cluster: EmbeddedCluster, hard: dict[str, str], counted: dict[str, str], **spec: Any) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    assert (await call(cluster, "POST", QUOTAS, body))[0] == 201
    await until_used(cluster, "q", counted)


async def test_what_is_there_already_counts(cluster: EmbeddedCluster) -> None:
    await call(cluster, "POST", SECRETS, {"metadata": {"name": "a"}})
    await limit(cluster, {"count/secrets": "1", "pods": "3"}, {"count/secrets": "1", "pods": "0"})
    code, refusal = await call(cluster, "POST", SECRETS, {"metadata": {"name": "b"}})
    assert code == 403
    assert refusal["message"] == (
        'secrets "b" is forbidden: exceeded quota: q, requested: count/secrets=1, '
        "used: count/secrets=1, limited: count/secrets=1"
    )


async def test_what_is_deleted_is_given_back(cluster: EmbeddedCluster) -> None:
    await limit(cluster, {"secrets": "1"}, {"secrets": "0"})
    assert (await call(cluster, "POST", SECRETS, {"metadata": {"name": "a"}}))[0] == 201
    assert await used(cluster, "q") == {"secrets": "1"}
    await call(cluster, "DELETE", f"{SECRETS}/a")
    await until_used(cluster, "q", {"secrets": "0"})
    assert (await call(cluster, "POST", SECRETS, {"metadata": {"name": "b"}}))[0] == 201


async def test_a_pod_that_has_ended_gives_back_what_it_asked_for(cluster: EmbeddedCluster) -> None:
    await limit(cluster, {"requests.cpu": "1", "pods": "2"}, {"requests.cpu": "0", "pods": "0"})
    resources = {"requests": {"cpu": "1"}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}}
    assert (await call(cluster, "POST", PODS, pod))[0] == 201
    assert await used(cluster, "q") == {"requests.cpu": "1", "pods": "1"}
    _, stored = await call(cluster, "GET", f"{PODS}/p")
    stored["status"]["phase"] = "Succeeded"
    await call(cluster, "PUT", f"{PODS}/p/status", stored)
    await until_used(cluster, "q", {"requests.cpu": "0", "pods": "0"})


async def test_of_many_that_race_for_the_last_one_gets_it(cluster: EmbeddedCluster) -> None:
    await limit(cluster, {"count/secrets": "3"}, {"count/secrets": "0"})

    async def make(number: int) -> int:
        return (await call(cluster, "POST", SECRETS, {"metadata": {"name": f"s{number}"}}))[0]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(make(number)) for number in range(12)]
    codes = sorted(task.result() for task in tasks)
    assert codes == [201] * 3 + [403] * 9
    assert await used(cluster, "q") == {"count/secrets": "3"}


async def test_a_quota_for_some_pods_lets_others_alone(cluster: EmbeddedCluster) -> None:
    await limit(cluster, {"pods": "0"}, {"pods": "0"}, scopes=["BestEffort"])
    burstable = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    assert (await call(cluster, "POST", PODS, {"metadata": {"name": "a"}, "spec": burstable}))[0] == 201
    best_effort = {"containers": [{"name": "c", "image": "i"}]}
    assert (await call(cluster, "POST", PODS, {"metadata": {"name": "b"}, "spec": best_effort}))[0] == 403


async def test_objects_of_other_namespaces_are_not_charged(cluster: EmbeddedCluster) -> None:
    await limit(cluster, {"count/secrets": "0"}, {"count/secrets": "0"})
    elsewhere = "/api/v1/namespaces/kube-public/secrets"
    assert (await call(cluster, "POST", elsewhere, {"metadata": {"name": "a"}}))[0] == 201


async def test_a_pod_that_a_change_brings_into_a_scope_is_charged_there_and_given_back_elsewhere(
    cluster: EmbeddedCluster,
) -> None:
    await limit(cluster, {"pods": "1"}, {"pods": "0"}, scopes=["Terminating"])
    elsewhere = {"metadata": {"name": "r"}, "spec": {"hard": {"pods": "9"}, "scopes": ["NotTerminating"]}}
    assert (await call(cluster, "POST", QUOTAS, elsewhere))[0] == 201
    await until_used(cluster, "r", {"pods": "0"})
    for name in "ab":
        spec = {"containers": [{"name": "c", "image": "i"}]}
        assert (await call(cluster, "POST", PODS, {"metadata": {"name": name}, "spec": spec}))[0] == 201
    codes = []
    for name in "ab":
        _, stored = await call(cluster, "GET", f"{PODS}/{name}")
        stored["spec"]["activeDeadlineSeconds"] = 60
        codes.append((await call(cluster, "PUT", f"{PODS}/{name}", stored))[0])
    assert codes == [200, 403]
    assert await used(cluster, "q") == {"pods": "1"}
    await until_used(cluster, "r", {"pods": "1"})


async def test_a_change_that_takes_nothing_more_is_never_refused(cluster: EmbeddedCluster) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    assert (await call(cluster, "POST", PODS, {"metadata": {"name": "a"}, "spec": spec}))[0] == 201
    await limit(cluster, {"pods": "0", "requests.cpu": "1"}, {"pods": "1", "requests.cpu": "0"})
    _, stored = await call(cluster, "GET", f"{PODS}/a")
    stored["metadata"]["labels"] = {"changed": "yes"}
    assert (await call(cluster, "PUT", f"{PODS}/a", stored))[0] == 200


async def test_claims_are_charged_by_their_volume_attributes_class(cluster: EmbeddedCluster) -> None:
    chosen = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}
    await limit(
        cluster,
        {"persistentvolumeclaims": "1"},
        {"persistentvolumeclaims": "0"},
        scopeSelector={"matchExpressions": [chosen]},
    )
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"

    async def make(name: str, attributes: str) -> int:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeAttributesClassName": attributes,
        }
        return (await call(cluster, "POST", claims, {"metadata": {"name": name}, "spec": spec}))[0]

    assert [await make("a", "silver"), await make("b", "gold"), await make("c", "gold")] == [201, 201, 403]
    assert await used(cluster, "q") == {"persistentvolumeclaims": "1"}
