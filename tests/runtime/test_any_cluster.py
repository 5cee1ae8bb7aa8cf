"""The tests marked ``any_cluster``, as a person runs them against a cluster that is already there."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attractor.client import Client, load_kubeconfig
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.k8s.core_v1 import Namespace
from attractor.testing import ClusterUnderTest
from tests.anycluster import Leftovers, installed
from tests.runtime.things import Thing
from tests.serving import serving

ROOT = Path(__file__).parents[2]


def contents(kubeconfig: Path) -> list[str]:
    """What lives in no namespace."""

    async def read() -> list[str]:
        async with Client.connect(load_kubeconfig(kubeconfig)) as client:
            namespaces, definitions = await client.list(Namespace), await client.list(CustomResourceDefinition)
            return [one.metadata.name for one in (*namespaces, *definitions)]

    return asyncio.run(read())


async def test_a_definition_that_was_there_before_the_tests_is_not_theirs_to_remove(cluster: ClusterUnderTest) -> None:
    ours, theirs = Leftovers(None), Leftovers(None)
    await installed(cluster.client, Thing, theirs)
    await installed(cluster.client, Thing, ours)
    assert (len(theirs), len(ours)) == (1, 0)


@pytest.mark.slow
def test_the_marked_tests_pass_against_a_kubeconfig_and_leave_nothing_behind(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server:
        before = contents(server.kubeconfig)
        options = ["-q", "-p", "no:cacheprovider", "--kubeconfig", str(server.kubeconfig), "-m", "not slow"]
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "tests/client", "tests/runtime"],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stdout
        passed = re.search(r"(\d+) passed", ran.stdout)
        assert passed is not None
        assert int(passed.group(1)) == 31
        assert contents(server.kubeconfig) == before
