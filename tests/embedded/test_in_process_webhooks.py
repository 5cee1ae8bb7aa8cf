"""Webhooks that are functions of the embedded server's own process."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from attractor import AdmissionRequest, ApiError, Client, EmbeddedCluster, Invalid, Key, validate
from attractor.k8s import ConfigMap
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.testing import ClusterUnderTest
from tests.factories import config_map
from tests.webhooks.services import WebService, fits, service, sized

KEY = Key("default", "a")


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ClusterUnderTest(webhooks=[sized, fits]) as cluster:
        await cluster.install(WebService)
        yield cluster.client


async def test_writes_are_changed_and_judged(client: Client) -> None:
    made = await client.create(service(tier="large"))
    assert made.spec.replicas == 3
    made.spec.tier = "small"
    with pytest.raises(
        Invalid, match=r'webhook "fits.webservices.web.example.org" denied.*spec.tier: cannot be changed'
    ):
        await client.update(made)
    with pytest.raises(ApiError, match="10 at most"):
        await client.patch(WebService, KEY, {"spec": {"replicas": 11}})
    assert (await client.get(WebService, KEY)).spec.replicas == 3


async def test_deletions_are_judged(client: Client) -> None:
    await client.create(service(labels={"keep": "yes"}))
    with pytest.raises(ApiError, match="it has the label `keep`"):
        await client.delete(WebService, KEY)


async def test_a_function_that_fails_refuses_the_write_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    @validate(ConfigMap)
    def broken(obj: ConfigMap, request: AdmissionRequest[ConfigMap]) -> None:
        raise KeyError(obj.metadata.name)

    async with ClusterUnderTest() as cluster:
        await cluster.register(broken)
        with caplog.at_level(logging.ERROR), pytest.raises(ApiError, match=r"failed calling webhook .*KeyError: 'a'"):
            await cluster.client.create(config_map("a"))
    assert "broken" in caplog.text


async def test_a_dry_run_is_told_to_be_one() -> None:
    seen: list[bool] = []

    @validate(ConfigMap, object_labels={"mine": "yes"})
    def notes(obj: ConfigMap, request: AdmissionRequest[ConfigMap]) -> None:
        seen.append(request.dry_run)

    async with ClusterUnderTest(webhooks=[notes]) as cluster:
        await cluster.client.create(config_map("a", {"mine": "yes"}), dry_run=True)
        await cluster.client.create(config_map("a", {"mine": "yes"}))
    assert seen == [True, False]


async def test_registrations_of_an_earlier_process_are_not_left_behind(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'cluster.db'}"
    definition: Any = CustomResourceDefinition.from_dict(WebService.crd())
    async with EmbeddedCluster(store, webhooks=[sized, fits]) as first, first.client() as client:
        await client.create(definition)
        await client.create(service())
    async with EmbeddedCluster(store) as second, second.client() as client:
        await client.patch(WebService, KEY, {"spec": {"replicas": 11}})
