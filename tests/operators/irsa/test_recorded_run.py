"""A run of the real operator against a simulated AWS is one that its world can do."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attractor.client import Client
from attractor.client.configuration.kubeconfig import load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.objects.errors import NotFound
from attractor.operators.irsa.api import IamRoleServiceAccount
from attractor.operators.irsa.drivers.simulated import SimulatedAws
from attractor.operators.irsa.proofs import properties
from attractor.operators.irsa.proofs.projection import MILESTONES, admits, milestones
from attractor.testing import eventually
from attractor.testing.recording import Recording
from attractor.testing.recording.admission import follow
from attractor.testing.recording.recording import Happening
from tests.operators.irsa.things import irsa


async def record(folder: Path, aws: SimulatedAws) -> Path:
    """Run the operator as a process; create a resource, wait until it is made, delete it, wait until it is gone."""
    file = folder / "run.jsonl"
    settings = properties.SETTINGS
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "attractor", "run", "attractor.operators.irsa.operator"),
        *("--record", str(file), "--namespace", "default", "--workers", "1"),
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "XDG_STATE_HOME": str(folder),
            "IRSA_CLUSTER_NAME": settings.cluster,
            "IRSA_OIDC_PROVIDER_ARN": settings.oidc_provider_arn,
            "IRSA_RESYNC_S": "0",
            "AWS_ENDPOINT_URL_IAM": aws.url,
        },
    )
    assert child.stdout is not None
    told: dict[str, str] = {}
    async with asyncio.timeout(60):
        while "running" not in told:
            name, _, value = (await child.stdout.readline()).decode().partition(":")
            told[name] = value.strip()
    async with Client(HttpTransport(load_kubeconfig(told["kubeconfig"]))) as client:
        await client.create(irsa(properties.KEY.name, properties.READ))

        async def is_made() -> bool:
            return (await client.get(IamRoleServiceAccount, properties.KEY)).status.condition == "created"

        async def is_gone() -> bool:
            try:
                await client.get(IamRoleServiceAccount, properties.KEY)
            except NotFound:
                return True
            return False

        await eventually(is_made, within_s=60)
        await client.delete(IamRoleServiceAccount, properties.KEY)
        await eventually(is_gone, within_s=60)
    child.send_signal(signal.SIGTERM)
    assert await child.wait() == 0
    return file


def of_our_key(recording: Recording) -> Recording:
    """Without the reconciles of the ServiceAccount that every namespace has, for which there is no resource."""

    def is_ours(happening: Happening) -> bool:
        data = happening.data
        key = recording.questions[data["question"]].key if happening.what == "answer" else data.get("key")
        return key in (None, str(properties.KEY))

    return replace(recording, happenings=tuple(filter(is_ours, recording.happenings)))


@pytest.mark.slow
async def test_a_recorded_run_is_admitted_by_the_world(aws: SimulatedAws, tmp_path: Path) -> None:
    file = await record(tmp_path, aws)
    with file.open("rb") as lines:
        recording = of_our_key(Recording.read(lines))
    found = follow(properties.lived(), recording)
    assert found.is_admitted, (found.departure, found.instead)
    assert found.lines > 50
    order = milestones(recording)
    assert set(order) == set(MILESTONES)
    assert admits(order)


def test_the_specification_admits_the_orders_that_make_sense_and_no_others() -> None:
    order = list(MILESTONES)
    assert admits(order)
    assert admits(["role created", "role on AWS", *(one for one in order if not one.startswith("role "))])
    early = [order[-1], *order[:-1]]
    assert not admits(early)
    assert not admits(["policy on AWS", "policy created"])
