"""An agent with the kubernetes driver works in another cluster: a second ``attractor serve``, by its kubeconfig."""

from pathlib import Path
from typing import Any

import pytest

from attractor.client import Client, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.embedded.kubeconfig import kubeconfig
from attractor.k8s.apps_v1 import Deployment
from attractor.k8s.core_v1 import Namespace
from attractor.objects.gvk import Key
from attractor.operators.edge.api.types import AppInst, ClusterInst
from attractor.testing import eventually
from tests.operators.edge.holds import Holds
from tests.operators.edge.programs import WITHIN_S, Program, Programs

SHOP = Key("berlin-one", "shop")


class Elsewhere:
    """Another cluster, as a process that can be killed and comes back with what it had, where it was."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._directory = programs.directory
        self.config = self._directory / "elsewhere"
        self._listen = "127.0.0.1:0"
        self._program: Program | None = None
        (self._directory / "tokens").write_text('driver,edge-driver,1,"system:masters"\n')

    async def start(self) -> None:
        admin = self._directory / "elsewhere-admin"
        admin.unlink(missing_ok=True)
        options = ["--listen", self._listen, "--no-tls", "--kubeconfig", str(admin), "--log-level", "error"]
        options += ["--store", f"sqlite:{self._directory / 'elsewhere.db'}"]
        options += [
            "--token-file",
            str(self._directory / "tokens"),
            "--state-dir",
            str(self._directory / "elsewhere-s"),
        ]
        self._program = self._programs.program("elsewhere", "serve", *options)
        await eventually(admin.exists, within_s=WITHIN_S)
        server = load_kubeconfig(admin).server
        self._listen = server.removeprefix("http://")
        self.config.write_bytes(kubeconfig(server, "driver", None))

    def client(self) -> Client:
        return Client(HttpTransport(load_kubeconfig(self.config)))

    def kill(self) -> None:
        assert self._program is not None
        self._program.kill()


async def allow_at_most_two(client: Client) -> None:
    """A rule of the other cluster."""
    group = "admissionregistration.k8s.io/v1"
    rules = [{"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["UPDATE"]}]
    spec = {
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "object.spec.replicas <= 2", "message": "two are enough"}],
    }
    for kind, content in (
        ("ValidatingAdmissionPolicy", spec),
        ("ValidatingAdmissionPolicyBinding", {"policyName": "two", "validationActions": ["Deny"]}),
    ):
        await client.create({"apiVersion": group, "kind": kind, "metadata": {"name": "two"}, "spec": content})


async def said(programs: Programs, kind: Any, name: str, error: str) -> Any:
    """The status in which an instance rests after an error."""

    async def is_so() -> Any:
        status = await programs.status(kind, name)
        assert status is not None
        assert status.message.startswith(error), status
        return status

    return await eventually(is_so, within_s=WITHIN_S)


@pytest.mark.slow
async def test_instances_appear_in_the_other_cluster_and_its_failures_become_documented_states(tmp_path: Path) -> None:
    async with Programs(tmp_path, Holds()) as programs:
        elsewhere, shop = Elsewhere(programs), Key("berlin", "shop")
        await elsewhere.start()
        await programs.coordinator()
        await programs.started(
            "berlin", "--driver", "kubernetes", "--driver-kubeconfig", str(elsewhere.config), "--no-wait"
        )
        await programs.create_cluster()
        await programs.create_app(replicas=2)
        assert (await programs.wait(AppInst, "shop", "Ready")).current.endpoint == "deployment/shop"
        async with elsewhere.client() as there:
            found = await there.get(Deployment, SHOP)
            assert found.to_dict()["spec"]["replicas"] == 2

            await allow_at_most_two(there)
            await programs.admin.patch(AppInst, shop, {"spec": {"replicas": 3}})
            failed = await said(programs, AppInst, "shop", "UpdateError: AppInst berlin/shop cannot be applied")
            assert failed.state == "Ready"
            assert "two are enough" in failed.error
            assert failed.target.settings == failed.current.settings
            found = await there.get(Deployment, SHOP)
            assert found.to_dict()["spec"]["replicas"] == 2

        elsewhere.kill()
        await programs.admin.patch(AppInst, shop, {"spec": {"replicas": 1}})
        failed = await said(programs, AppInst, "shop", "UpdateError: the cluster does not say what it has of AppInst")
        assert (failed.state, failed.current.settings["replicas"]) == ("Ready", "2")
        await programs.create_cluster("two")
        away = await said(programs, ClusterInst, "two", "CreateError: the cluster does not say what it has of Cluster")
        assert (away.state, away.current) == ("NotPresent", None)

        await elsewhere.start()
        for kind, name in ((AppInst, "shop"), (ClusterInst, "one"), (ClusterInst, "two")):
            await programs.admin.delete(kind, Key("berlin", name))
            await programs.wait_gone(kind, name)
        async with elsewhere.client() as there:
            assert await there.list(Deployment) == []
            left = {namespace.metadata.name for namespace in await there.list(Namespace)}
            assert left.isdisjoint({"berlin-one", "berlin-two"})
