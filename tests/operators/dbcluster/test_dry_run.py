"""``attractor plan``: the dry run, on a server over the wire."""

import asyncio
import sys
from pathlib import Path

import pytest

from attractor.cli.main import main
from attractor.embedded import EmbeddedCluster
from attractor.embedded.kubeconfig import kubeconfig
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.operators.dbcluster import Cluster
from attractor.testing import ClusterUnderTest

from .places import cluster_of, component


async def attractor(*words: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "attractor", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def planned(tmp_path: Path, text: str) -> tuple[int, str, str]:
    (tmp_path / "cluster.yaml").write_text(text)
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator({"token": ADMIN})) as cluster:
        address = await cluster.listen()
        (tmp_path / "kubeconfig").write_bytes(kubeconfig(address.url, "token", None))
        before = cluster.store.revision
        done = await attractor("plan", str(tmp_path / "cluster.yaml"), "--kubeconfig", str(tmp_path / "kubeconfig"))
        assert cluster.store.revision == before, "a dry run writes nothing"
    return done


async def test_a_dry_run_shows_the_plan_of_a_cluster_that_is_not_there_yet(tmp_path: Path) -> None:
    code, out, err = await planned(tmp_path, cluster_of(component(replicas=2)).to_yaml())
    assert code == 0, err
    assert out.startswith("Plan for Cluster shop:")
    assert "  + Secret shop-credentials is created" in out
    assert out.index("Secret shop-credentials") < out.index("StatefulSet shop-cache")
    assert out.endswith("Plan: 7 to create, 0 to change, 0 to delete.\n")
    assert "\x1b" not in out


async def test_a_cluster_that_cannot_be_planned_is_refused_with_every_reason(tmp_path: Path) -> None:
    bad = cluster_of(component(storage="much"), component("queue", depends_on=["nobody"]))
    code, out, err = await planned(tmp_path, bad.to_yaml())
    assert (code, out) == (1, "")
    assert "asks for storage 'much', which is no quantity such as 1Gi" in err
    assert "component queue depends on nobody, which there is not" in err


async def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    code, _, err = await planned(tmp_path, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert code == 2
    assert "it should hold one db.attractor.dev/v1" in err


async def test_the_plan_of_a_stored_cluster_keeps_its_identity(cluster: ClusterUnderTest) -> None:
    from attractor.operators.dbcluster.controllers.dry_run import plan_for

    await cluster.install(Cluster)
    stored = await cluster.client.create(cluster_of())
    plan = await plan_for(cluster.client, cluster_of())
    assert plan.graph.root_object.metadata.uid == stored.metadata.uid


@pytest.mark.parametrize(
    ("content", "text"), [(b"a: [\n", "no YAML"), (b"\xff\xfe\xff", "can't decode"), (b"", "got `null`")]
)
def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, text: str
) -> None:
    (tmp_path / "cluster.yaml").write_bytes(content)
    assert main(["plan", str(tmp_path / "cluster.yaml"), "--kubeconfig", "nowhere"]) == 2
    said = capsys.readouterr().err
    assert "cluster.yaml cannot be read: " in said
    assert text in said
