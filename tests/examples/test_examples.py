"""Every example, run with the rights that its declaration gives it; each is short, and says what it shows."""

import ast
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from examples.banner import banners
from examples.bucket import Bucket, BucketSpec, ObjectStore, buckets
from examples.expiry import Token, TokenSpec, expiry
from examples.farm import Farm, FarmSpec, farms
from examples.probes import Line, PatientLine, Probe, news, probes
from examples.rehearsal import test_a_bad_day as a_bad_day
from examples.releases import Release, ReleaseSpec, releases
from examples.secretcopy import Copy, CopySpec, secretcopy
from examples.standby import manager
from examples.stockroom import names, relabel, tidy
from examples.watchtower import manager as watchtower
from examples.workers import Run, Runner, RunSpec, poked, workers

from attractor.k8s.apps_v1 import Deployment
from attractor.k8s.coordination_v1 import Lease
from attractor.k8s.core_v1 import ConfigMap, Event, Namespace, Pod, Secret
from attractor.objects.errors import Invalid, NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime.toolkit.conditions import is_true
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.things import passing

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TABLE = ROOT / "docs" / "reference" / "examples.md"
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


def rows() -> list[tuple[str, str, list[str]]]:
    """Feature, example and what to look for in it, as the documentation has them."""
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in TABLE.read_text().splitlines()
        if line.startswith("| ") and "`" in line
    ]
    return [(feature, example.strip("`"), re.findall("`([^`]+)`", look_for)) for feature, example, look_for in cells]


def test_the_table_of_features_names_every_example_and_no_other() -> None:
    assert {example for _, example, _ in rows()} == {path.name for path in EXAMPLES}


@pytest.mark.parametrize(("feature", "example", "look_for"), rows(), ids=lambda value: str(value)[:40])
def test_a_feature_is_shown_by_its_example(feature: str, example: str, look_for: list[str]) -> None:
    text = (ROOT / "examples" / example).read_text()
    assert look_for
    assert [word for word in look_for if word not in text] == [], feature


async def test_rehearsal(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    await a_bad_day(cluster, virtual_time)


async def test_farm(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(farms, only_granted=True):
        await cluster.client.create(Farm(metadata=META, spec=FarmSpec(replicas=2)))

        async def has(fields: int) -> bool:
            listed = await cluster.client.list(ConfigMap, "default", label_selector="farm=a")
            return len(listed) == fields == (await cluster.client.get(Farm, A)).status.replicas

        await eventually(lambda: has(2))
        await cluster.client.scale(Farm, A, 5)
        await eventually(lambda: has(5))
        await cluster.client.scale(Farm, A, 1)
        await eventually(lambda: has(1))
        for spec in ({"replicas": 101}, {"crop": "barley"}, {"crop": "rye", "replicas": 4}):
            with pytest.raises(Invalid):
                await cluster.client.patch(Farm, A, {"spec": spec})


async def test_banner(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    key = Key("shop", "banner")
    async with cluster.running(banners, only_granted=True) as running:
        await cluster.client.create(Namespace(metadata=ObjectMeta(name="shop", annotations={"banner": "open"})))

        async def shows(text: str) -> bool:
            return (await cluster.client.get(ConfigMap, key)).data == {"text": text}

        await eventually(lambda: shows("open"))
        await cluster.client.patch(ConfigMap, key, {"data": {"text": "stolen"}})
        await eventually(lambda: shows("open"))
        await cluster.client.delete(ConfigMap, key)
        await eventually(lambda: shows("open"))
        await eventually(lambda: running.controllers[0].queue.core.is_idle)
        before = running.metrics.queue_adds.value("banners", "banners")
        await cluster.client.patch(Namespace, ("", "shop"), {"metadata": {"labels": {"season": "winter"}}})
        await passing(5)
        assert running.metrics.queue_adds.value("banners", "banners") == before, "labels are of no concern"
        await cluster.client.patch(Namespace, ("", "shop"), {"metadata": {"annotations": {"banner": None}}})

        async def is_gone() -> bool:
            return not [one for one in await cluster.client.list(ConfigMap, "shop") if one.key == key]

        await eventually(is_gone)


async def test_stockroom(cluster: ClusterUnderTest) -> None:
    client = cluster.controller_client("script")
    await client.create(Namespace(metadata=ObjectMeta(name="stock")))
    for number in range(23):
        await client.create(ConfigMap(metadata=ObjectMeta(name=f"c{number:02d}", namespace="stock")))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await client.create(Deployment.from_dict({"metadata": {"name": "d", "namespace": "stock"}, "spec": spec}))
    assert await relabel(client, Key("stock", "c07"), "yes") == "marked"
    assert await relabel(client, Key("stock", "c07"), "not a label!") == "refused: metadata.labels"
    assert await relabel(client, Key("stock", "nobody"), "yes") == "gone"
    before = cluster.requests.count("list", "configmaps")
    assert len(await names(client, "stock")) == 22
    assert cluster.requests.count("list", "configmaps") == before + 3, "ten at a time"
    assert await tidy(client, "stock") == {"asleep": 1, "deleted": 22}
    assert [one.metadata.name for one in await client.list(ConfigMap, "stock")] == ["c07"]
    asleep = await client.get(Deployment, ("stock", "d"))
    assert (asleep.spec.replicas, asleep.metadata.annotations["asleep"]) == (0, "yes")


class Spans:
    """A tracer that keeps the names of its spans."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @contextmanager
    def start_as_current_span(self, name: str, *, attributes: Mapping[str, Any]) -> Iterator[None]:
        self.names.append(f"{name} {attributes['name']}")
        yield


async def test_watchtower(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    spans = Spans()
    labels = {"watched": "yes", "expired": "yes"}
    volume = {"name": "v", "secret": {"secretName": "a"}}
    containers = [{"name": "c", "image": "i"}]
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": containers, "volumes": [volume]}}
    with caplog.at_level(logging.WARNING):
        async with watchtower(cluster.controller_client("tower"), spans).running() as running:
            await cluster.client.create(Pod.from_dict(pod))
            await cluster.client.create(Secret(metadata=ObjectMeta(name="out-of-sight", namespace="default")))
            await cluster.client.create(Secret(metadata=ObjectMeta(name="a", namespace="default", labels=labels)))

            async def is_told() -> bool:
                return "in use by p" in [one.message for one in await cluster.client.list(Event, "default")]

            await eventually(is_told)
            kept = await running.cache.get(Secret, A)
    assert kept.metadata.managed_fields == []
    assert set(spans.names) == {"reconcile watchtower a"}
    assert "an expired secret is in use" in caplog.text


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
    async with cluster.running(buckets, only_granted=True, externals={ObjectStore: store}):
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
    async with cluster.running(expiry, only_granted=True) as running:
        await cluster.client.create(Token(metadata=META, spec=TokenSpec(ttl_s=3600)))
        await passing(3590)
        await cluster.client.get(Token, A)
        await passing(11)
        with pytest.raises(NotFound):
            await cluster.client.get(Token, A)
        await cluster.client.create(Token(metadata=META, spec=TokenSpec(ttl_s=-1)))
        await eventually(lambda: running.metrics.terminal_errors.value("expiry") == 1)


async def test_secretcopy(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(secretcopy, only_granted=True):
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
        await cluster.client.patch_from(source, changed)
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
    async with cluster.running(workers, only_granted=True, externals={Runner: runner}):
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


async def test_a_run_is_not_told_how_its_predecessor_went(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    runner = Slow()
    async with cluster.running(workers, only_granted=True, externals={Runner: runner}):
        await cluster.client.create(Run(metadata=META, spec=RunSpec(command="build")))
        await eventually(lambda: runner.ran == ["build"])
        await passing(30)
        await cluster.client.delete(Run, A)
        await cluster.client.create(Run(metadata=META, spec=RunSpec(command="test")))
        await eventually(lambda: runner.ran == ["build", "test"])
        await passing(40)
        assert (await cluster.client.get(Run, A)).status.phase == "Running", "only the predecessor has ended"

        async def is_done() -> bool:
            return (await cluster.client.get(Run, A)).status.phase == "Done"

        await eventually(is_done, within_s=60)


async def test_releases(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(releases, only_granted=True):
        made = await cluster.client.create(Release(metadata=META, spec=ReleaseSpec(content={"v": "1"}, copies=3)))

        async def are(version: str, count: int) -> bool:
            listed = await cluster.client.list(ConfigMap, "default")
            return [one.data for one in listed if one.metadata.name.startswith("a-")] == [{"v": version}] * count

        await eventually(lambda: are("1", 3))
        changed = made.deep_copy()
        changed.spec = ReleaseSpec(content={"v": "2"}, copies=2)
        await cluster.client.patch_from(made, changed)
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
    async with cluster.running(probes, only_granted=True, externals={Line: PatientLine(line)}) as running:
        await cluster.client.create(Probe(metadata=META))

        async def shows(reading: float) -> bool:
            return (await cluster.client.get(Probe, A)).status.reading == reading

        await eventually(lambda: shows(1.5))
        line.readings["a"] = 2.5
        assert len(news) == 1
        news.publish(A)
        await eventually(lambda: shows(2.5))
        line.readings["a"] = 3.5
        await cluster.client.patch(Namespace, ("", "default"), {"metadata": {"labels": {"season": "winter"}}})
        await eventually(lambda: shows(3.5))
        await cluster.client.create(Probe(metadata=ObjectMeta(name="lost", namespace="default")))
        await eventually(lambda: running.metrics.terminal_errors.value("probes") == 1)
    assert len(news) == 0
