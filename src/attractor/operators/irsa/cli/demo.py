"""``attractor demo irsa``: service accounts with AWS roles, from the resource to IAM."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from attractor.cli.terminal import ProgressLine, complain

if TYPE_CHECKING:
    import argparse

    from attractor.client import Client
    from attractor.operators.irsa.api import IamRoleServiceAccount
    from attractor.operators.irsa.controllers.settings import Settings
    from attractor.operators.irsa.drivers.aws import AwsIam

COUNT = 10
CLUSTER = "demo"
PROVIDER = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/DEMO"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor demo irsa`` takes."""
    parser.description = (
        "Start the embedded server, a simulated AWS and the IRSA operator; apply ten resources and show "
        "what becomes of them in Kubernetes and in IAM."
    )
    parser.epilog = "example:\n  attractor demo irsa"
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Run the demonstration; 2 when the simulated AWS is not installed."""
    try:
        import aiobotocore  # noqa: F401
        import moto.server  # noqa: F401
    except ImportError as missing:
        complain(f"the demonstration needs {missing.name}", "install it with: pip install 'attractor[irsa-demo]'")
        return 2
    from attractor.operators.irsa.drivers.simulated import SimulatedAws

    with SimulatedAws() as aws:
        print(f"aws       a simulated AWS on {aws.url}", flush=True)
        asyncio.run(_demo(aws.url))
    return 0


async def _demo(endpoint_url: str) -> None:
    from attractor.embedded import EmbeddedCluster
    from attractor.operators.irsa.controllers.declarations import controllers
    from attractor.operators.irsa.controllers.settings import Settings
    from attractor.operators.irsa.drivers.aws import AwsIam
    from attractor.operators.irsa.drivers.iam import Iam
    from attractor.runtime import Manager

    settings = Settings(CLUSTER, PROVIDER)
    async with (
        EmbeddedCluster() as cluster,
        AwsIam(endpoint_url=endpoint_url) as iam,
        cluster.client() as client,
        cluster.client() as own,
    ):
        await _install(client)
        print("run       a Kubernetes API in this process, and the operator on it", flush=True)
        async with Manager(own, controllers(settings), externals={Iam: iam}).running():
            await _apply(client)
            await _follow(client)
            await _show(client, iam, settings)


async def _install(client: Client) -> None:
    from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
    from attractor.objects.errors import ApiError
    from attractor.operators.irsa.api import IamRoleServiceAccount, Policy, Role

    for kind in (IamRoleServiceAccount, Policy, Role):
        await client.create(CustomResourceDefinition.from_dict(kind.crd()))
        while True:
            try:
                await client.list(kind, limit=1)
                break
            except ApiError:
                await asyncio.sleep(0.01)


async def _apply(client: Client) -> None:
    from attractor.objects.resource import ObjectMeta
    from attractor.operators.irsa.api import IamRoleServiceAccount, IrsaSpec, PolicySpec, Statement

    for number in range(1, COUNT + 1):
        statement = Statement(resource=f"arn:aws:s3:::bucket-{number}/*", action=["s3:GetObject", "s3:PutObject"])
        spec = IrsaSpec(policy=PolicySpec(statement=[statement]))
        meta = ObjectMeta(name=f"app-{number:02}", namespace="default")
        await client.create(IamRoleServiceAccount(metadata=meta, spec=spec))
    print(f"apply     {COUNT} resources, each a ServiceAccount that may use one bucket", flush=True)


async def _follow(client: Client) -> None:
    """Show each change of condition, until all are created."""
    from attractor.client import WatchEvent
    from attractor.operators.irsa.api import IamRoleServiceAccount

    line, conditions = ProgressLine(), dict[str, str]()
    async with client.watch(IamRoleServiceAccount, "default", initial_events=True) as watch:
        async for event in watch:
            if not isinstance(event, WatchEvent) or conditions.get(event.key.name) == event.object.status.condition:
                continue
            conditions[event.key.name] = event.object.status.condition
            line.show("          " + _counted(conditions))
            if event.object.status.condition == "created":
                line.clear()
                print(f"created   {event.key.name}: {event.object.status.role_arn}", flush=True)
                line.show("          " + _counted(conditions))
            if list(conditions.values()).count("created") == COUNT:
                break
    line.clear()


def _counted(conditions: dict[str, str]) -> str:
    counts = Counter(condition or "submitted" for condition in conditions.values())
    return ", ".join(f"{count} {condition}" for condition, count in sorted(counts.items()))


async def _show(client: Client, iam: AwsIam, settings: Settings) -> None:
    """Print what exists in Kubernetes and on AWS."""
    from attractor.operators.irsa.api import IamRoleServiceAccount

    found = await client.list(IamRoleServiceAccount, "default")
    rows: list[tuple[str, ...]] = [("NAME", "CONDITION", "SERVICEACCOUNT", "IAM ROLE", "IAM POLICY", "ATTACHED")]
    rows += [await _row(client, iam, settings, one) for one in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for row in rows:
        print("   " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print("\nsee docs/how-to/irsa.md to run the operator against AWS itself")


async def _row(client: Client, iam: AwsIam, settings: Settings, one: IamRoleServiceAccount) -> tuple[str, ...]:
    from attractor.k8s.core_v1 import ServiceAccount
    from attractor.operators.irsa.api import ROLE_ARN_ANNOTATION
    from attractor.operators.irsa.controllers.names import aws_names

    names = aws_names(settings, one.key)
    account = await client.get(ServiceAccount, one.key)
    role, policy = await iam.get_role(names.name), await iam.get_policy(names.policy_arn)
    attached = await iam.list_attached_role_policies(names.name)
    annotated = account.metadata.annotations.get(ROLE_ARN_ANNOTATION)
    return (
        one.metadata.name,
        one.status.condition,
        "annotated" if role is not None and annotated == role.arn else "not annotated",
        "none" if role is None else role.arn.rpartition("/")[2],
        "none" if policy is None else f"{policy.default_version_id} of {policy.arn.rpartition('/')[2]}",
        "yes" if attached == (names.policy_arn,) else f"{len(attached or ())} policies",
    )
