"""The process driver keeps its contract when the work fails half way: what was before is there again."""

from pathlib import Path

import pytest

from attractor.client import Client, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.objects.builtin.core_v1 import Node
from attractor.operators.edge.driver import DriverError, Ref
from attractor.operators.edge.drivers import DriverSettings
from attractor.operators.edge.drivers.process import ProcessDriver
from attractor.operators.edge.drivers.processes import kill_naming

CLUSTER = Ref("ClusterInst", "berlin", "one")


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
