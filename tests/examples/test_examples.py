"""Every example, run; each is short, and says what it shows."""

import ast
from collections import Counter
from pathlib import Path

import pytest
from examples.bucket import Bucket, BucketSpec, ObjectStore, buckets
from examples.expiry import Token, TokenSpec, expiry
from examples.probes import Line, PatientLine, Probe, news, probes
from examples.releases import Release, ReleaseSpec, releases
from examples.secretcopy import Copy, CopySpec, secretcopy
from examples.standby import manager
from examples.workers import Run, Runner, RunSpec, poked, workers

from attractor.objects.builtin.coordination_v1 import Lease
from attractor.objects.builtin.core_v1 import ConfigMap, Namespace, Secret
from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime.toolkit.conditions import is_true
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.things import passing

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
A = Key("default", "a")
META = ObjectMeta(name="a", namespace="default")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(path: Path) -> None:
    tree = ast.parse(path.read_text())
    docstrings = [ast.get_docstring(node, clean=False) or "" for node in ast.walk(tree) if hasattr(node, "body")
                  and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]  # fmt: skip
    told = sum(len(text.splitlines()) for text in docstrings)
    code = [line for line in path.read_text().splitlines() if line.strip()]
    assert len(code) - told < 60


class Store:
    """An object store whose first answer is lost."""

    def __init__(self) -> None:
        self.buckets: dict[str, str] = {}
        self.calls: Counter[str] = Counter()

    async def ensure(self, name: str, region: str) -> str:
        self.calls["ensure"] += 1
        self.buckets[name] = region
        if self.calls["ensure"] == 1:
            raise TimeoutError("the answer was lost")
        return f"store://{region}/{name}"

    async def remove(self, name: str) -> None:
        self.buckets.pop(name, None)


async def test_bucket(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    store = Store()
    async with cluster.running(buckets, externals={ObjectStore: store}):
        await cluster.client.create(Bucket(metadata=META, spec=BucketSpec(region="us")))

        async def is_ready() -> bool:
            found = await cluster.client.get(Bucket, A)
            return found.status.address == "store://us/a" and is_true(found.status.conditions, "Ready", generation=1)

        await eventually(is_ready)
        await cluster.client.delete(Bucket, A)

        async def is_gone() -> bool:
            return not await cluster.client.list(Bucket)

        await eventually(is_gone)
        assert store.buckets == {}


async def test_expiry(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(expiry) as running:
        await cluster.client.create(Token(metadata=META, spec=TokenSpec(ttl_s=3600)))
        await passing(3590)
        await cluster.client.get(Token, A)
        await passing(11)
        with pytest.raises(NotFound):
            await cluster.client.get(Token, A)
        await cluster.client.create(Token(metadata=META, spec=TokenSpec(ttl_s=-1)))
        await eventually(lambda: running.metrics.terminal_errors.value("expiry") == 1)


async def test_secretcopy(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(secretcopy):
        await cluster.client.create(Namespace(metadata=ObjectMeta(name="vault")))
        await cluster.client.create(Copy(metadata=META, spec=CopySpec(from_namespace="vault", from_name="db")))
        await passing(5)
        source = await cluster.client.create(
            Secret(metadata=ObjectMeta(name="db", namespace="vault"), data={"password": b"one"})
        )

        async def is_copied(value: bytes) -> bool:
            return (await cluster.client.get(Secret, A)).data == {"password": value}

        await eventually(lambda: is_copied(b"one"))
        changed = source.deep_copy()
        changed.data = {"password": b"two"}
        await cluster.client.patch(source, changed)
        await eventually(lambda: is_copied(b"two"))


class Slow:
    """Runs commands, a minute each."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(self, command: str) -> int:
        self.ran.append(command)
        await passing(60)
        return 3


async def test_workers(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    runner = Slow()
    async with cluster.running(workers, externals={Runner: runner}):
        await cluster.client.create(Run(metadata=META, spec=RunSpec(command="build")))

        async def phase(name: str) -> bool:
            return (await cluster.client.get(Run, A)).status.phase == name

        await eventually(lambda: phase("Running"))
        poked.send(A)
        await passing(30)
        assert await phase("Running")
        await eventually(lambda: phase("Done"), within_s=60)
        assert (await cluster.client.get(Run, A)).status.exit_code == 3
    assert runner.ran == ["build"]


async def test_releases(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(releases):
        made = await cluster.client.create(Release(metadata=META, spec=ReleaseSpec(content={"v": "1"}, copies=3)))

        async def are(version: str, count: int) -> bool:
            listed = await cluster.client.list(ConfigMap, "default")
            return [one.data for one in listed if one.metadata.name.startswith("a-")] == [{"v": version}] * count

        await eventually(lambda: are("1", 3))
        changed = made.deep_copy()
        changed.spec = ReleaseSpec(content={"v": "2"}, copies=2)
        await cluster.client.patch(made, changed)
        await eventually(lambda: are("2", 2))
        await eventually(lambda: are("2", 2))
    assert cluster.requests.count("create", "configmaps", code=201) == 5


async def test_standby(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    one = manager(cluster.controller_client("one"), "one")
    async with one.running():
        await cluster.client.create(
            ConfigMap(metadata=ObjectMeta(name="a", namespace="default", labels={"greet": "yes"}))
        )

        async def is_greeted() -> bool:
            return (await cluster.client.get(ConfigMap, A)).data == {"greeting": "hello, a"}

        await eventually(is_greeted)
        assert (await cluster.client.get(Lease, Key("default", "greeter"))).spec.holder_identity == "one"


class BadLine:
    """A line on which every other call is lost."""

    def __init__(self) -> None:
        self.readings = {"a": 1.5}
        self.calls = 0

    async def read(self, device: str) -> float:
        self.calls += 1
        if self.calls % 2:
            raise ConnectionError("noise")
        return self.readings[device]


async def test_probes(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    line = BadLine()
    async with cluster.running(probes, externals={Line: PatientLine(line)}) as running:
        await cluster.client.create(Probe(metadata=META))

        async def shows(reading: float) -> bool:
            return (await cluster.client.get(Probe, A)).status.reading == reading

        await eventually(lambda: shows(1.5))
        line.readings["a"] = 2.5
        assert len(news) == 1
        news.publish(A)
        await eventually(lambda: shows(2.5))
        line.readings["a"] = 3.5
        await cluster.client.merge_patch(Namespace, ("", "default"), {"metadata": {"labels": {"season": "winter"}}})
        await eventually(lambda: shows(3.5))
        await cluster.client.create(Probe(metadata=ObjectMeta(name="lost", namespace="default")))
        await eventually(lambda: running.metrics.terminal_errors.value("probes") == 1)
    assert len(news) == 0
