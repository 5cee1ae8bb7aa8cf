"""Convergence under fire: many resources at once, IAM that fails, rival writers, an operator that is killed."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

import pytest

from attractor.client import Client, WatchEvent
from attractor.embedded import EmbeddedCluster
from attractor.embedded.kubeconfig import kubeconfig
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.k8s.core_v1 import ServiceAccount
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.json_types import JsonObject
from attractor.operators.irsa.api import IamRoleServiceAccount, Policy, Role
from attractor.operators.irsa.controllers.names import aws_names
from attractor.operators.irsa.drivers.aws import AwsIam
from attractor.operators.irsa.drivers.simulated import SimulatedAws
from attractor.operators.irsa.proofs.model import IamState, ModelIam
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.operators.irsa.things import PROVIDER, SETTINGS, irsa, operating
from tests.operators.irsa.trouble import FaultyIam, assert_as_desired, names_in

COUNT = 100
KEYS = [Key("default", f"app-{number:03}") for number in range(COUNT)]
KINDS = (IamRoleServiceAccount, Policy, Role)


async def conditions(client: Client) -> Counter[str]:
    return Counter(one.status.condition for one in await client.list(IamRoleServiceAccount, "default"))


async def no_leftovers(client: Client) -> bool:
    found = [one for kind in (*KINDS, ServiceAccount) for one in await client.list(kind, "default")]
    return not [one for one in found if one.metadata.name != "default"]


async def test_a_hundred_resources_converge_on_a_bad_day_and_leave_nothing_behind(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    faulty = FaultyIam(iam, "made")
    for resource in ("policies", "roles", "iamroleserviceaccounts"):
        cluster.faults.conflict("patch", resource, times=20)
        cluster.faults.lost_answer("patch", resource, times=10)
    cluster.faults.lost_answer("create", "policies", times=10)
    cluster.faults.lost_answer("create", "roles", times=10)
    async with operating(cluster, faulty):
        for key in KEYS:
            await cluster.client.create(irsa(key.name))
        await eventually(lambda: has_created(cluster.client, COUNT), within_s=600)
    await assert_as_desired(iam, KEYS)
    assert [len(names) for names in names_in(iam)] == [COUNT, COUNT]
    assert faulty.struck > 2 * COUNT
    async with operating(cluster, FaultyIam(iam, "deleted")):
        for key in KEYS:
            await cluster.client.delete(IamRoleServiceAccount, key)
        await eventually(lambda: no_leftovers(cluster.client), within_s=600)
    assert iam.state == IamState()


class Operator:
    """The operator in a process of its own."""

    def __init__(self, directory: Path, config: Path, aws: SimulatedAws, seed: str) -> None:
        self._log = directory / "operator.log"
        self._command = [sys.executable, "-m", "attractor", "run", "tests.operators.irsa.faulty_operator"]
        self._command += ["--kubeconfig", str(config), "--log-level", "warning"]
        self._environment = {
            **os.environ,
            "IRSA_CLUSTER_NAME": "prod",
            "IRSA_OIDC_PROVIDER_ARN": PROVIDER,
            "AWS_ENDPOINT_URL_IAM": aws.url,
            "FAULTS_SEED": seed,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def log(self) -> str:
        return self._log.read_text()


@asynccontextmanager
async def served(directory: Path) -> AsyncIterator[tuple[Client, Path]]:
    async with EmbeddedCluster(authenticator=Authenticator({"token": ADMIN})) as cluster, cluster.client() as client:
        config = directory / "kubeconfig"
        config.write_bytes(kubeconfig((await cluster.listen()).url, "token", None))
        for kind in KINDS:
            await client.create(CustomResourceDefinition.from_dict(kind.crd()))
        await eventually(lambda: are_served(client))
        yield client, config


async def are_served(client: Client) -> bool:
    return [await client.list(kind, "default", limit=1) for kind in KINDS] == [[], [], []]


async def interfere(client: Client, kind: type[IamRoleServiceAccount | Policy | Role]) -> None:
    """A rival that writes each object the moment it appears, which is when the operator wants to."""
    async with client.watch(kind, "default") as watch:
        async for event in watch:
            if isinstance(event, WatchEvent) and event.type == "ADDED":
                note: JsonObject = {"metadata": {"annotations": {"rival": "was here"}}}
                with suppress(ApiError):
                    await client.patch(kind, event.key, note)


async def killed_when(operator: Operator, reached: Callable[[], object]) -> None:
    await eventually(reached, within_s=300, interval_s=0.1)
    operator.kill()
    operator.start()


@pytest.mark.parametrize(
    "count", [pytest.param(25, marks=pytest.mark.slow), pytest.param(COUNT, marks=pytest.mark.nightly)]
)
async def test_the_real_operator_converges_although_it_is_killed_three_times(
    aws: SimulatedAws, real: AwsIam, tmp_path: Path, count: int
) -> None:
    random, keys = Random("three kills"), KEYS[:count]
    async with served(tmp_path) as (client, config):
        operator = Operator(tmp_path, config, aws, "real")
        operator.start()
        try:
            async with asyncio.TaskGroup() as group:
                rivals = [group.create_task(interfere(client, kind)) for kind in KINDS]
                for key in keys:
                    await client.create(irsa(key.name))
                for at in sorted(random.sample(range(count // 20, count - 2), 3)):
                    await killed_when(operator, lambda at=at: has_created(client, at))  # type: ignore[misc]
                await eventually(lambda: has_created(client, count), within_s=300, interval_s=0.2)
                for rival in rivals:
                    rival.cancel()
            await assert_as_desired(real, keys)
            for key in keys:
                await client.delete(IamRoleServiceAccount, key)
            await killed_when(operator, lambda: has_at_most(client, count // 2))
            await eventually(lambda: no_leftovers(client), within_s=300, interval_s=0.2)
            for key in keys:
                names = aws_names(SETTINGS, key)
                assert await real.get_role(names.name) is None
                assert await real.get_policy(names.policy_arn) is None
        except AssertionError as error:
            error.add_note(operator.log[-4000:])
            raise
        finally:
            operator.kill()
        assert "Traceback" not in operator.log, operator.log


async def has_created(client: Client, count: int) -> bool:
    return (await conditions(client))["created"] >= count


async def has_at_most(client: Client, count: int) -> bool:
    return len(await client.list(IamRoleServiceAccount, "default")) <= count
