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
