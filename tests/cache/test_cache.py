"""The shared cache: own writes through a client, doubt, scopes, readiness."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from attractor.cache import Cache, Scope, drop_managed_fields
from attractor.client import NO_RETRY, AnswerLost, Client, ClientRequest, ClientResponse, Encoded, MetadataOnly
from attractor.embedded import EmbeddedCluster
from attractor.k8s.core_v1 import ConfigMap, Secret
from attractor.objects.errors import AlreadyExists, Conflict, NotFound
from attractor.objects.gvk import GroupVersionKind
from tests.cache.test_informer import on_virtual_time
from tests.cache.trouble import TroubledTransport
from tests.factories import config_map


class LosingTransport(TroubledTransport):
    """Loses the answers of writes that have happened."""

    is_losing = is_stuck = False

    async def send(self, request: ClientRequest) -> ClientResponse:
        response = await super().send(request)
        if self.is_losing and not request.is_read:
            raise AnswerLost("the answer was lost")
        if self.is_stuck and not request.is_read:
            await asyncio.get_running_loop().create_future()
        return response


class World:
    """A cluster, a rival's client, and a cache whose watch can be held up."""

    def __init__(self, cluster: EmbeddedCluster, **options: Any) -> None:
        self.rival = cluster.client()
        self.transport = LosingTransport(cluster.transport())
        self.client = Client(self.transport, retry=NO_RETRY)
        self.cache = Cache(self.client, **options)

    @property
    def gets(self) -> int:
        return sum(r.method == "GET" and not dict(r.query).get("watch") for r in self.transport.requests)


@asynccontextmanager
async def world(**options: Any) -> AsyncIterator[World]:
    async with EmbeddedCluster(controllers=()) as cluster:
        made = World(cluster, **options)
        made.cache.informer(ConfigMap)
        running = asyncio.ensure_future(made.cache.run())
        try:
            await made.cache.wait_synced()
            yield made
        finally:
            running.cancel()
            await asyncio.wait({running})


@on_virtual_time
async def test_reads_see_own_writes_while_the_watch_lags() -> None:
    async with world() as w:
        w.transport.hang()
        created = await w.client.create(config_map("a", x="1"))
        assert await w.cache.get(ConfigMap, created.key) == created
        changed = created.deep_copy()
        changed.data = {"x": "2"}
        patched = await w.client.patch_from(created, changed)
        assert await w.cache.get(ConfigMap, created.key) == patched
        assert await w.cache.list(ConfigMap) == [patched]
        await w.client.delete(patched)
        with pytest.raises(NotFound):
            await w.cache.get(ConfigMap, created.key)
        assert await w.cache.list(ConfigMap) == []


@on_virtual_time
async def test_without_own_writes_a_lagging_cache_shows_the_past() -> None:
    async with world(own_writes=False) as w:
        w.transport.hang()
        await w.client.create(config_map("a"))
        assert await w.cache.list(ConfigMap) == []


@on_virtual_time
async def test_a_rivals_later_write_is_seen_as_soon_as_the_watch_tells_it() -> None:
    async with world() as w:
        mine = await w.client.create(config_map("a", x="mine"))
        theirs = await w.rival.patch(ConfigMap, mine.key, {"data": {"x": "theirs"}})
        informer = w.cache.informer(ConfigMap)
        await informer.wait_for(lambda: not informer.core.pending)
        assert await w.cache.get(ConfigMap, mine.key) == theirs


@on_virtual_time
async def test_an_answer_that_there_is_none_is_not_believed_once_the_watch_has_told_of_a_successor() -> None:
    async with world() as w:
        mine = await w.client.create(config_map("a", x="1"))
        informer = w.cache.informer(ConfigMap)
        await informer.wait_for(lambda: not informer.core.pending)
        informer.core.unsure(mine.key)
        send = w.transport.send
        made: list[ConfigMap] = []

        async def delayed(request: ClientRequest) -> ClientResponse:
            """The first read is answered, and its answer is late: meanwhile the object has a successor."""
            if made or request.method != "GET":
                return await send(request)
            await w.rival.delete(mine)
            response = await send(request)
            made.append(await w.rival.create(config_map("a", x="2")))
            await informer.wait_for(lambda: _uid_seen(w) == made[0].metadata.uid)
            return response

        w.transport.send = delayed  # type: ignore[method-assign]
        assert await w.cache.get(ConfigMap, mine.key) == made[0]


@on_virtual_time
async def test_a_read_during_which_a_new_doubt_comes_up_asks_again_instead_of_saying_that_there_is_none() -> None:
    async with world() as w:
        mine = await w.client.create(config_map("a", x="1"))
        informer = w.cache.informer(ConfigMap)
        informer.core.unsure(mine.key)
        send, doubts = w.transport.send, [mine.key]

        async def doubtful(request: ClientRequest) -> ClientResponse:
            response = await send(request)
            if doubts and request.method == "GET":
                informer.core.unsure(doubts.pop())
            return response

        w.transport.send = doubtful  # type: ignore[method-assign]
        before = w.gets
        assert await w.cache.get(ConfigMap, mine.key) == mine
        assert w.gets == before + 2


@on_virtual_time
async def test_an_own_deletion_during_a_list_that_does_not_show_the_object_is_cleared_up_by_a_list_of_that_name() -> (
    None
):
    async with world() as w:
        informer = w.cache.informer(ConfigMap)
        w.transport.hang()
        begun = informer.core.begin()
        listed = await w.rival.list(Encoded(ConfigMap))
        mine = await w.client.create(config_map("a", x="1"))
        told = await w.rival.get(Encoded(ConfigMap), mine.key)
        await w.client.delete(mine)
        informer.core.replace(listed.resource_version, begun, listed)
        assert await w.cache.list(ConfigMap, "default") == []
        asked = [dict(request.query).get("fieldSelector") for request in w.transport.requests]
        assert asked.count("metadata.name=a") == 1
        informer.core.observe("ADDED", told)
        assert await w.cache.list(ConfigMap, "default") == [], "the watch tells of the past"
        assert asked == [dict(request.query).get("fieldSelector") for request in w.transport.requests]


def _uid_seen(w: World) -> str:
    seen = w.cache.informer(ConfigMap).core.seen
    return next((one.uid for one in seen.objects().values()), "")


@on_virtual_time
async def test_a_conflict_makes_the_next_read_come_from_the_server() -> None:
    async with world() as w:
        mine = await w.client.create(config_map("a", x="1"))
        w.transport.hang()
        theirs = await w.rival.patch(ConfigMap, mine.key, {"data": {"x": "theirs"}})
        stale = mine.deep_copy()
        stale.data = {"x": "2"}
        with pytest.raises(Conflict):
            await w.client.patch_from(mine, stale)
        before = w.gets
        assert await w.cache.get(ConfigMap, mine.key) == theirs
        assert await w.cache.get(ConfigMap, mine.key) == theirs
        assert w.gets == before + 1


@on_virtual_time
async def test_creating_what_a_rival_has_created_makes_the_next_list_show_it() -> None:
    async with world() as w:
        w.transport.hang()
        theirs = await w.rival.create(config_map("a", x="theirs"))
        with pytest.raises(AlreadyExists):
            await w.client.create(config_map("a", x="mine"))
        assert await w.cache.list(ConfigMap) == [theirs]


@on_virtual_time
async def test_a_write_whose_answer_was_lost_is_looked_up() -> None:
    async with world() as w:
        w.transport.hang()
        w.transport.is_losing = True
        with pytest.raises(AnswerLost):
            await w.client.create(config_map("a"))
        assert [one.metadata.name for one in await w.cache.list(ConfigMap)] == ["a"]
        with pytest.raises(AnswerLost):
            await w.client.delete(ConfigMap, ("default", "a"))
        assert await w.cache.list(ConfigMap) == []


@on_virtual_time
async def test_a_write_that_is_cancelled_half_way_is_looked_up() -> None:
    async with world() as w:
        created = await w.client.create(config_map("a"))
        w.transport.hang()
        w.transport.is_stuck = True
        writing = asyncio.ensure_future(w.client.patch(ConfigMap, created.key, {"data": {"x": "1"}}))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.wait({writing})
        assert (await w.cache.get(ConfigMap, created.key)).data == {"x": "1"}


@on_virtual_time
async def test_deleting_with_finalizers_shows_the_object_as_deleting() -> None:
    async with world() as w:
        asked = config_map("a")
        asked.metadata.finalizers = ["example.org/hold"]
        created = await w.client.create(asked)
        w.transport.hang()
        await w.client.delete(created)
        held = await w.cache.get(ConfigMap, created.key)
        assert held.metadata.is_deleting
        released = held.deep_copy()
        released.metadata.finalizers = []
        await w.client.patch_from(held, released)
        with pytest.raises(NotFound):
            await w.cache.get(ConfigMap, created.key)


@on_virtual_time
async def test_every_view_of_a_kind_sees_an_own_write() -> None:
    async with world() as w:
        views = (ConfigMap, MetadataOnly(ConfigMap), GroupVersionKind("", "v1", "ConfigMap"))
        for view in views:
            await w.cache.informer(view).wait_synced()
        w.transport.hang()
        created = await w.client.create(config_map("a", x="1"))
        assert (await w.cache.get(MetadataOnly(ConfigMap), created.key)).metadata == created.metadata
        assert (await w.cache.get(views[2], created.key))["data"] == {"x": "1"}
        await w.client.delete_all_of(ConfigMap, "default")
        assert await w.cache.list(MetadataOnly(ConfigMap)) == []


@on_virtual_time
async def test_an_own_write_outside_a_scope_leaves_the_view() -> None:
    async with world() as w:
        scoped = w.cache.informer(ConfigMap, Scope("default", "app=web"))
        created = await w.client.create(config_map("a", {"app": "web"}))
        await scoped.wait_for(lambda: scoped.is_synced and created.key in scoped.core.seen)
        w.transport.hang()
        changed = created.deep_copy()
        changed.metadata.labels = {"app": "db"}
        await w.client.patch_from(created, changed)
        assert await scoped.list() == []
        assert len(await w.cache.list(ConfigMap)) == 1


@on_virtual_time
async def test_what_is_looked_up_and_lies_outside_a_scope_is_not_in_its_view() -> None:
    async with world() as w:
        scoped = w.cache.informer(ConfigMap, Scope("default", "app=web"))
        await scoped.wait_synced()
        theirs = await w.rival.create(config_map("a", {"app": "db"}))
        with pytest.raises(AlreadyExists):
            await w.client.create(config_map("a", {"app": "web"}))
        assert scoped.core.is_unsure(theirs.key)
        assert await scoped.find(theirs.key) is None
        assert await w.cache.get(ConfigMap, theirs.key) == theirs


@on_virtual_time
async def test_an_informer_that_comes_later_hears_of_own_writes_and_one_of_another_namespace_does_not() -> None:
    async with world() as w:
        await w.client.create(config_map("a"))
        here, elsewhere = (w.cache.informer(ConfigMap, Scope(name)) for name in ("default", "elsewhere"))
        await w.cache.wait_synced()
        w.transport.hang()
        mine = await w.client.create(config_map("b"))
        assert (list(here.core.pending), list(elsewhere.core.pending)) == ([mine.key], [])
        assert await here.get(mine.key) == mine


@on_virtual_time
async def test_caches_that_share_a_client_both_see_its_writes_and_one_that_has_ended_keeps_nothing() -> None:
    async with world() as w:
        other = Cache(w.client)
        running = asyncio.ensure_future(other.run())
        await other.informer(ConfigMap).wait_synced()
        w.transport.hang()
        mine = await w.client.create(config_map("a"))
        assert await w.cache.get(ConfigMap, mine.key) == mine
        assert await other.get(ConfigMap, mine.key) == mine
        running.cancel()
        await asyncio.wait({running})
        pending = dict(other.informer(ConfigMap).core.pending)
        second = await w.client.create(config_map("b"))
        assert await w.cache.get(ConfigMap, second.key) == second
        assert other.informer(ConfigMap).core.pending == pending
    assert w.client.observer is None


@on_virtual_time
async def test_a_view_of_another_version_of_the_kind_looks_own_writes_up() -> None:
    scaler: dict[str, Any] = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}},
    }
    async with world() as w:
        older = GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler")
        await w.cache.informer(older).wait_synced()
        w.transport.hang()
        await w.client.create(scaler)
        found = await w.cache.list(older)
        assert [(one["apiVersion"], one["metadata"]["name"]) for one in found] == [("autoscaling/v1", "a")]


@on_virtual_time
async def test_informers_are_shared_by_kind_and_scope() -> None:
    async with world(namespace="default") as w:
        first = w.cache.informer(ConfigMap)
        assert w.cache.informer(ConfigMap, Scope("default")) is first
        assert w.cache.informer(ConfigMap, Scope("other")) is not first
        with pytest.raises(ValueError, match="another transform"):
            w.cache.informer(ConfigMap, transform=drop_managed_fields)
        with pytest.raises(ValueError, match="cached already"):
            w.cache.scope(ConfigMap, Scope("other"))
        w.cache.scope(Secret, Scope("other"))
        assert w.cache.informer(Secret).scope == Scope("other")


@on_virtual_time
async def test_readiness_is_every_informers_and_says_which_one_has_trouble() -> None:
    async with world() as w:
        assert all(health.is_live for health in w.cache.health())
        w.transport.is_down = True
        w.cache.informer(Secret)
        assert not w.cache.is_ready
        informer = w.cache.informer(Secret)
        await informer.wait_for(lambda: "nobody answers" in informer.health.why)
        assert [(health.kind, health.is_synced) for health in w.cache.health()] == [
            ("v1, Kind=ConfigMap", True),
            ("v1, Kind=Secret", False),
        ]
        w.transport.is_down = False
        await w.cache.wait_synced()


@on_virtual_time
async def test_managed_fields_can_be_left_out_and_the_server_keeps_them() -> None:
    async with world(transform=drop_managed_fields) as w:
        created = await w.client.create(config_map("a", x="1"))
        assert created.metadata.managed_fields
        cached = await w.cache.get(ConfigMap, created.key)
        assert cached.metadata.managed_fields == []
        changed = cached.deep_copy()
        changed.data = {"x": "2"}
        written = await w.client.patch_from(cached, changed)
        assert written.metadata.managed_fields
        assert (await w.cache.api_reader.get(ConfigMap, created.key)).data == {"x": "2"}
