"""What the tests of the IRSA operator share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.irsa.api import IamRoleServiceAccount, IrsaSpec, PolicySpec, Statement
from attractor.operators.irsa.controllers.declarations import controllers
from attractor.operators.irsa.controllers.names import AwsNames, aws_names
from attractor.operators.irsa.controllers.settings import Settings
from attractor.operators.irsa.drivers.iam import Iam
from attractor.operators.irsa.proofs.model import ModelIam
from attractor.runtime import Manager
from attractor.testing import ClusterUnderTest, eventually

ISSUER = "oidc.eks.eu-west-1.amazonaws.com/id/ABC"
PROVIDER = f"arn:aws:iam::123456789012:oidc-provider/{ISSUER}"
SETTINGS = Settings("prod", PROVIDER)
READ = Statement(resource="arn:aws:s3:::reports/*", action=["s3:GetObject", "s3:ListBucket"])
WRITE = Statement(resource="*", action=["s3:PutObject"])
A = Key("default", "reader")
NAMES: AwsNames = aws_names(SETTINGS, A)


def irsa(name: str = A.name, *statements: Statement, namespace: str = A.namespace) -> IamRoleServiceAccount:
    spec = IrsaSpec(policy=PolicySpec(statement=list(statements or (READ,))))
    return IamRoleServiceAccount(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)


@asynccontextmanager
async def operating(
    cluster: ClusterUnderTest, iam: Iam | None = None, settings: Settings = SETTINGS, workers: int | None = None
) -> AsyncIterator[Manager]:
    """The operator at work on a cluster."""
    async with cluster.running(
        *controllers(settings), externals={Iam: iam or ModelIam()}, workers=workers, only_granted=True
    ) as manager:
        yield manager


async def settled(cluster: ClusterUnderTest, condition: str, key: Key = A) -> IamRoleServiceAccount:
    """The resource, once it is in a condition for its present spec."""

    async def reached() -> IamRoleServiceAccount | None:
        found = await cluster.client.get(IamRoleServiceAccount, key)
        is_current = found.status.observed_generation == found.metadata.generation
        assert found.status.condition == condition, (found.status.condition, found.status.reason)
        return found if is_current else None

    found = await eventually(reached, within_s=60.0)
    assert found is not None
    return found


async def gone(cluster: ClusterUnderTest, key: Key = A) -> None:
    """Wait until the resource is gone."""

    async def is_gone() -> bool:
        try:
            await cluster.client.get(IamRoleServiceAccount, key)
        except NotFound:
            return True
        return False

    await eventually(is_gone, within_s=60.0)
