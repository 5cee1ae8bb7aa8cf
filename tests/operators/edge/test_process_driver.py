"""The process driver keeps its contract when the work fails half way: what was before is there again."""

import os
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from attractor.client import Client, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.core_v1 import ConfigMap, Node
from attractor.objects.errors import ServiceUnavailable
from attractor.operators.edge.drivers import DriverSettings
from attractor.operators.edge.drivers.process import ProcessDriver
from attractor.operators.edge.drivers.protocols import DriverError, Ref
from attractor.operators.local.processes import Process, exit_code, kill_naming, marked
from attractor.testing import eventually

CLUSTER = Ref("ClusterInst", "berlin", "one")
APP = Ref("AppInst", "berlin", "web")


def revision(name: str) -> tuple[tuple[str, str], ...]:
    """The settings of an app."""
    return (("cluster", "one"), ("revision", name))


REFUSED = revision("--nothing")
"""An app with this revision does not start: it takes it for an option."""


class Died(Exception):
    """The agent is gone."""


class DiesWhenRegistered(ProcessDriver):
    """Gets as far as the register, and no further."""

    async def _register(self, ref: Ref, cluster: Ref, revision: str, endpoint: str) -> None:
        await super()._register(ref, cluster, revision, endpoint)
        raise Died


class LosesTheAnswer(ProcessDriver):
    """The cluster registers everything that is new, and never says so."""

    async def _register(self, ref: Ref, cluster: Ref, revision: str, endpoint: str) -> None:
        await super()._register(ref, cluster, revision, endpoint)
        if revision != "1":
            raise ServiceUnavailable("the answer was lost")


def has_ended(process: Process) -> bool:
    """Whether a child has ended."""
    return exit_code(process) is not None


class StartsWhatEnds(ProcessDriver):
    """What is started is killed as soon as it is registered."""

    async def _register(self, ref: Ref, cluster: Ref, revision: str, endpoint: str) -> None:
        await super()._register(ref, cluster, revision, endpoint)
        for mark in self._records.marks(ref):
            for process in marked(mark):
                os.kill(process.pid, signal.SIGKILL)
                await eventually(partial(has_ended, process))


async def refuse_a_third_node(client: Client) -> None:
    """A rule of the cluster."""
    group = "admissionregistration.k8s.io/v1"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["nodes"], "operations": ["CREATE"]}]
    spec = {
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "object.metadata.name != 'node-3'", "message": "two are enough"}],
    }
    for kind, content in (
        ("ValidatingAdmissionPolicy", spec),
        ("ValidatingAdmissionPolicyBinding", {"policyName": "two", "validationActions": ["Deny"]}),
    ):
        await client.create({"apiVersion": group, "kind": kind, "metadata": {"name": "two"}, "spec": content})


@pytest.mark.slow
async def test_an_update_of_a_cluster_that_fails_half_way_is_taken_back(tmp_path: Path) -> None:
    driver = ProcessDriver(DriverSettings(state_dir=tmp_path))
    try:
        before = await driver.apply(CLUSTER, 1, (("nodes", "1"),))
        config = tmp_path / "instances" / "ClusterInst.berlin.one" / "kubeconfig"
        async with Client(HttpTransport(load_kubeconfig(config))) as client:
            await refuse_a_third_node(client)
            with pytest.raises(DriverError, match=r"does not take its nodes.*two are enough"):
                await driver.apply(CLUSTER, 2, (("nodes", "3"),))
            assert [node.metadata.name for node in await client.list(Node)] == ["node-1"]
        assert await driver.find(CLUSTER) == before
        await driver.remove(CLUSTER)
        assert await driver.find(CLUSTER) is None
    finally:
        kill_naming(tmp_path)


class Cloudlet:
    """A cluster that is up, and what drivers find and leave there."""

    def __init__(self, directory: Path) -> None:
        self.settings = DriverSettings(state_dir=directory)
        self.driver = ProcessDriver(self.settings)
        self._kubeconfig = directory / "instances" / "ClusterInst.berlin.one" / "kubeconfig"

    async def entry(self) -> str:
        """The address that the cluster's register has for the app; empty where it has none."""
        async with Client(HttpTransport(load_kubeconfig(self._kubeconfig))) as client:
            found = [one for one in await client.list(ConfigMap, namespace="default") if one.metadata.name == "app-web"]
        return found[0].data["endpoint"] if found else ""


@pytest_asyncio.fixture
async def cloudlet(tmp_path: Path) -> AsyncIterator[Cloudlet]:
    made = Cloudlet(tmp_path)
    try:
        await made.driver.apply(CLUSTER, 1, (("nodes", "1"),))
        yield made
        await made.driver.remove(APP)
        await made.driver.remove(CLUSTER)
    finally:
        kill_naming(tmp_path)


@pytest.mark.slow
async def test_an_update_that_fails_after_one_that_died_registered_leaves_the_entry_of_what_runs(
    cloudlet: Cloudlet,
) -> None:
    before = await cloudlet.driver.apply(APP, 1, revision("1"))
    with pytest.raises(Died):
        await DiesWhenRegistered(cloudlet.settings).apply(APP, 2, revision("2"))
    assert await cloudlet.entry() not in {"", before.endpoint}
    successor = ProcessDriver(cloudlet.settings)
    with pytest.raises(DriverError, match="ended with 2"):
        await successor.apply(APP, 2, REFUSED)
    assert await successor.find(APP) == before
    assert await cloudlet.entry() == before.endpoint


@pytest.mark.slow
async def test_a_create_that_fails_after_one_that_died_registered_leaves_no_entry(cloudlet: Cloudlet) -> None:
    with pytest.raises(Died):
        await DiesWhenRegistered(cloudlet.settings).apply(APP, 1, revision("1"))
    assert await cloudlet.entry()
    with pytest.raises(DriverError, match="ended with 2"):
        await ProcessDriver(cloudlet.settings).apply(APP, 1, REFUSED)
    assert await cloudlet.entry() == ""


@pytest.mark.slow
async def test_removing_what_died_registered_and_was_never_recorded_removes_its_entry(cloudlet: Cloudlet) -> None:
    with pytest.raises(Died):
        await DiesWhenRegistered(cloudlet.settings).apply(APP, 1, revision("1"))
    await ProcessDriver(cloudlet.settings).remove(APP)
    assert await cloudlet.entry() == ""


@pytest.mark.slow
@pytest.mark.parametrize("driver", [LosesTheAnswer, StartsWhatEnds])
async def test_an_update_that_fails_after_it_was_registered_is_taken_back(
    cloudlet: Cloudlet, driver: type[ProcessDriver]
) -> None:
    before = await cloudlet.driver.apply(APP, 1, revision("1"))
    with pytest.raises(DriverError):
        await driver(cloudlet.settings).apply(APP, 2, revision("2"))
    assert await cloudlet.driver.find(APP) == before
    assert await cloudlet.entry() == before.endpoint
    after = await cloudlet.driver.apply(APP, 3, revision("3"))
    assert await cloudlet.entry() == after.endpoint != before.endpoint
