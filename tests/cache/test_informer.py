"""Informers in trouble: whatever happens to the watch, the view becomes right again, and says so meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.cache import Informer, InformerEvent, Policy, Scope
from attractor.cache.informer import IDLE_S
from attractor.client import NO_RETRY, Client, ClientRequest, MetadataOnly, PartialObjectMetadata
from attractor.embedded import EmbeddedCluster
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import Forbidden, NotFound
from attractor.objects.gvk import GroupVersionKind
from tests.cache import virtualtime
from tests.cache.trouble import TroubledStream, TroubledTransport
from tests.factories import config_map

POLICIES = (Policy(), Policy(watch_list=True))
both_ways = pytest.mark.parametrize("policy", POLICIES, ids=("list", "watch-list"))


def on_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        virtualtime.run(test(*args, **kwargs))

    return run


async def passing(seconds: float) -> None:
    """Let virtual time pass."""
    over = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(seconds, over.set_result, None)
    await over


class World:
    """A cluster, a client of somebody else, and an informer whose way to the cluster can be troubled."""

    def __init__(self, cluster: EmbeddedCluster, **options: Any) -> None:
        self.rival = cluster.client()
        self.cluster = cluster
        self.transport = TroubledTransport(cluster.transport())
        kind = options.pop("kind", ConfigMap)
        self.informer: Informer[Any] = Informer(
            Client(self.transport, retry=NO_RETRY), kind, options.pop("scope", None) or Scope("default"), **options
        )
        self.heard: dict[str, str] = {}
        self.events: list[InformerEvent[Any]] = []
        self.informer.add_handler(self._hear)

    def _hear(self, event: InformerEvent[Any]) -> None:
        """A handler's picture: deletions of what is not there, or additions of what is, would fail here."""
        self.events.append(event)
        name, version = event.key.name, event.encoded.resource_version
        if event.type == "delete":
            del self.heard[name]
            return
        assert (name in self.heard) == (event.type == "update")
        self.heard[name] = version

    async def in_server(self) -> dict[str, str]:
        listed = await self.rival.list(ConfigMap, "default")
        return {item.metadata.name: item.metadata.resource_version for item in listed}

    async def settled(self) -> None:
        """Wait until the informer follows the server and has told what the server has."""
        await self.informer.wait_for(lambda: self.informer.is_ready)
        target = await self.in_server()
        await self.informer.wait_for(lambda: self.informer.is_ready and self.heard == target)
        assert {obj.key.name: obj.resource_version for obj in self.informer.core.select()} == target
        self.informer.core.check_invariants()


@asynccontextmanager
async def world(**options: Any) -> AsyncIterator[World]:
    async with EmbeddedCluster(controllers=()) as cluster:
        made = World(cluster, **options)
        await made.rival.create(config_map("first"))
        running = asyncio.ensure_future(made.informer.run())
        try:
            await made.informer.wait_synced()
            yield made
        finally:
            running.cancel()
            await asyncio.wait({running})
        assert running.cancelled(), running


@both_ways
@on_virtual_time
async def test_it_hears_of_what_is_there_and_of_what_happens(policy: Policy) -> None:
    async with world(policy=policy) as w:
        assert [(e.type, e.key.name, e.is_initial) for e in w.events] == [("add", "first", True)]
        created = await w.rival.create(config_map("second", x="1"))
        changed = created.deep_copy()
        changed.data = {"x": "2"}
        await w.rival.update(changed)
        await w.rival.delete(ConfigMap, ("default", "first"))
        await w.settled()
        assert [(e.type, e.key.name, e.is_initial) for e in w.events[1:]] == [
            ("add", "second", False),
            ("update", "second", False),
            ("delete", "first", False),
        ]
        update = w.events[2]
        assert update.old is not None
        assert (update.old.data, update.object.data) == ({"x": "1"}, {"x": "2"})
        assert (w.transport.lists, w.transport.watches) == ((0, 1) if policy.watch_list else (1, 1))


@both_ways
@on_virtual_time
async def test_a_server_that_dies_is_noticed_and_what_happened_meanwhile_is_caught_up(policy: Policy) -> None:
    async with world(policy=policy) as w:
        w.transport.is_down = True
        w.transport.cut()
        await w.informer.wait_for(lambda: not w.informer.is_ready)
        assert "reset" in w.informer.health.why
        await w.rival.create(config_map("second"))
        await w.rival.delete(ConfigMap, ("default", "first"))
        await w.informer.wait_for(lambda: "nobody answers" in w.informer.health.why)
        assert not w.informer.is_ready
        w.transport.is_down = False
        await w.settled()
        assert list(w.heard) == ["second"]


@both_ways
@on_virtual_time
async def test_a_server_that_comes_back_empty_leaves_nothing_of_its_past(policy: Policy) -> None:
    async with world(policy=policy) as w, EmbeddedCluster(controllers=()) as other:
        for number in range(20):
            await w.rival.create(config_map(f"old{number}"))
        await w.settled()
        w.transport.is_down = True
        w.transport.cut()
        w.rival = other.client()
        await w.rival.create(config_map("new"))
        await w.informer.wait_for(lambda: "nobody answers" in w.informer.health.why)
        w.transport.inner, w.transport.is_down = other.transport(), False
        await w.settled()
        assert list(w.heard) == ["new"]


@both_ways
@on_virtual_time
async def test_an_emptied_server_that_has_grown_past_our_version_is_not_taken_for_the_old_one(policy: Policy) -> None:
    async with world(policy=policy) as w, EmbeddedCluster(controllers=()) as other:
        await w.settled()
        w.transport.is_down = True
        w.transport.cut()
        await w.informer.wait_for(lambda: "nobody answers" in w.informer.health.why)
        w.rival = other.client()
        await w.rival.create(config_map("early"))
        for number in range(30):
            await w.rival.create(config_map(f"new{number}"))
        w.transport.inner, w.transport.is_down = other.transport(), False
        await w.settled()
        assert "first" not in w.heard
        assert "early" in w.heard


@both_ways
@on_virtual_time
async def test_a_compacted_history_is_listed_again_with_nothing_missed_and_nothing_resurrected(policy: Policy) -> None:
    async with world(policy=policy) as w:
        w.transport.cut()
        await w.rival.delete(ConfigMap, ("default", "first"))
        await w.rival.create(config_map("second"))
        await w.cluster.store.compact(w.cluster.store.revision)
        await w.settled()
        assert list(w.heard) == ["second"]
        assert [(e.type, e.key.name) for e in w.events] == [("add", "first"), ("delete", "first"), ("add", "second")]


@both_ways
@on_virtual_time
async def test_a_watch_that_hangs_without_closing_is_found_out_by_its_silence(policy: Policy) -> None:
    async with world(policy=policy) as w:
        loop = asyncio.get_running_loop()
        w.transport.hang()
        hung_at = loop.time()
        await w.rival.create(config_map("second"))
        await w.informer.wait_for(lambda: not w.informer.is_ready)
        assert loop.time() - hung_at == pytest.approx(IDLE_S, abs=1)
        assert "nothing was heard" in w.informer.health.why
        await w.settled()
        assert "second" in w.heard


@on_virtual_time
async def test_a_quiet_watch_with_bookmarks_is_left_alone() -> None:
    async with world() as w:
        await passing(280)
        assert w.informer.is_ready
        assert w.transport.watches == 1


GARBAGE = [
    b"<html>Bad gateway</html>\n",
    b'{"type":"ADDED"}\n',
    b'{"type":"ADDED","object":{}}\n',
    b'{"type":"SURPRISE","object":{"metadata":{}}}\n',
    b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n',
    b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"oops"}}\n',
    b'{"type":"ERROR","object":17}\n',
    b"\xff\xfe\n",
    b"[" * 100_000 + b"\n",
]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
@both_ways
@on_virtual_time
async def test_garbage_is_no_news_and_the_view_becomes_right_again(policy: Policy, data: bytes) -> None:
    async with world(policy=policy) as w:
        w.transport.garble(data)
        await w.rival.create(config_map("second"))
        await w.rival.delete(ConfigMap, ("default", "first"))
        await w.settled()
        assert list(w.heard) == ["second"]


@on_virtual_time
async def test_a_watch_that_ends_in_good_order_goes_on_where_it_was_without_a_list() -> None:
    async with world() as w:
        await w.rival.create(config_map("second"))
        await w.settled()
        w.transport.end()
        await w.informer.wait_for(lambda: w.transport.watches == 2 and w.informer.is_ready)
        await w.rival.create(config_map("third"))
        await w.settled()
        assert w.transport.lists == 1


@on_virtual_time
async def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    async with world() as w:
        loop = asyncio.get_running_loop()
        since, before = loop.time(), w.transport.watches
        w.transport.end()
        while loop.time() - since < 60:
            await w.informer.wait_for(lambda: len(w.transport.streams) == w.transport.watches)
            w.transport.end()
            await passing(0.5)
        assert w.transport.watches - before < 30


@both_ways
@on_virtual_time
async def test_who_may_not_list_is_told_so_and_heals_when_allowed(policy: Policy) -> None:
    async with EmbeddedCluster(controllers=()) as cluster:
        w = World(cluster, policy=policy)
        w.transport.refusal = lambda request: Forbidden("configmaps is forbidden: not you", details={})
        running = asyncio.ensure_future(w.informer.run())
        await w.informer.wait_for(lambda: "not you" in w.informer.health.why)
        assert not w.informer.is_synced
        w.transport.refusal = lambda request: None
        await w.rival.create(config_map("first"))
        await w.settled()
        running.cancel()
        await asyncio.wait({running})


@both_ways
@on_virtual_time
async def test_a_request_that_cancels_itself_does_not_end_the_view_in_silence(policy: Policy) -> None:
    ends: list[BaseException] = [asyncio.CancelledError(), asyncio.CancelledError()]

    def refusal(request: ClientRequest) -> None:
        if ends:
            raise ends.pop()

    async with world(policy=policy) as w:
        w.transport.refusal = refusal
        w.transport.cut()
        await w.informer.wait_for(lambda: "cancelled" in w.informer.health.why)
        await w.rival.create(config_map("second"))
        await w.settled()
        assert list(w.heard) == ["first", "second"]


@on_virtual_time
async def test_a_server_that_does_not_know_initial_events_is_listed() -> None:
    from attractor.objects.errors import Invalid

    async with EmbeddedCluster(controllers=()) as cluster:
        w = World(cluster, policy=Policy(watch_list=True))
        w.transport.refusal = lambda request: (
            Invalid("sendInitialEvents is forbidden", details={})
            if "sendInitialEvents" in dict(request.query)
            else None
        )
        await w.rival.create(config_map("first"))
        running = asyncio.ensure_future(w.informer.run())
        await w.settled()
        assert w.transport.lists == 1
        running.cancel()
        await asyncio.wait({running})


@on_virtual_time
async def test_an_unknown_kind_is_waited_for_until_its_definition_comes() -> None:
    from tests.client.test_scenarios import Widget

    async with EmbeddedCluster(controllers=()) as cluster:
        w = World(cluster, kind=GroupVersionKind(*Widget.gvk))
        running = asyncio.ensure_future(w.informer.run())
        await w.informer.wait_for(lambda: "CustomResourceDefinition" in w.informer.health.why)
        await w.rival.create(Widget.crd())
        await w.rival.create(
            {"apiVersion": "client.example.org/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"},
             "spec": {"size": 1}}
        )  # fmt: skip
        assert (await w.informer.get(("default", "w")))["spec"] == {"size": 1}
        running.cancel()
        await asyncio.wait({running})


@on_virtual_time
async def test_scopes_by_label_and_field_see_objects_come_and_go() -> None:
    scope = Scope("default", "app=web", "metadata.name!=hidden")
    async with EmbeddedCluster(controllers=()) as cluster:
        w = World(cluster, scope=scope)
        running = asyncio.ensure_future(w.informer.run())
        await w.rival.create(config_map("hidden", {"app": "web"}))
        shown = await w.rival.create(config_map("shown", {"app": "web"}))
        await w.rival.create(config_map("other", {"app": "db"}))
        await w.informer.wait_for(lambda: list(w.heard) == ["shown"])
        await w.rival.patch(ConfigMap, shown.key, {"metadata": {"labels": {"app": "db"}}})
        await w.informer.wait_for(lambda: not w.heard)
        assert await w.informer.list() == []
        running.cancel()
        await asyncio.wait({running})


@on_virtual_time
async def test_metadata_alone_is_watched() -> None:
    async with world(kind=MetadataOnly(ConfigMap)) as w:
        await w.rival.create(config_map("second", {"k": "v"}, x="large"))
        await w.settled()
        second = await w.informer.get(("default", "second"))
        assert isinstance(second, PartialObjectMetadata)
        assert second.metadata.labels == {"k": "v"}
        assert all(b"large" not in obj.json for obj in w.informer.core.select())


@on_virtual_time
async def test_what_is_read_is_the_readers_own_and_handlers_cannot_change_each_others_objects() -> None:
    def vandal(event: InformerEvent[ConfigMap]) -> None:
        event.object.data["x"] = "vandalised"
        event.object.metadata.labels["v"] = "v"

    async with world() as w:
        kept: list[dict[str, str]] = []
        w.informer.add_handler(vandal)
        w.informer.add_handler(lambda event: kept.append(event.object.data))
        await w.rival.create(config_map("second", x="1"))
        await w.settled()
        mine = await w.informer.get(("default", "second"))
        mine.data["x"] = "mine"
        assert (await w.informer.get(("default", "second"))).data == {"x": "1"}
        assert kept[-1] == {"x": "1"}


@on_virtual_time
async def test_transforms_and_indexes_apply_to_everything_that_is_kept() -> None:
    def without_secret(obj: ConfigMap) -> ConfigMap:
        obj.data.pop("secret", None)
        return obj

    async with world(transform=without_secret, indexes={"data": lambda one: one.data.values()}) as w:
        await w.rival.create(config_map("second", x="1", y="2", secret="s"))
        await w.settled()
        assert (await w.informer.get(("default", "second"))).data == {"x": "1", "y": "2"}
        assert [key.name for key in await w.informer.keys(index=("data", "2"))] == ["second"]
        assert await w.informer.keys(index=("data", "s")) == []
        w.informer.add_index("labels", lambda one: one.metadata.labels)
        assert await w.informer.keys(index=("labels", "nobody")) == []
        with pytest.raises(LookupError, match="no index 'other'"):
            await w.informer.keys(index=("other", "x"))
        with pytest.raises(NotFound, match='configmaps "third" not found'):
            await w.informer.get(("default", "third"))


@both_ways
@on_virtual_time
async def test_a_transform_applies_to_what_was_there_before(policy: Policy) -> None:
    def without_secret(obj: ConfigMap) -> ConfigMap:
        obj.data.pop("secret", None)
        return obj

    async with EmbeddedCluster(controllers=()) as cluster:
        w = World(cluster, policy=policy, transform=without_secret)
        await w.rival.create(config_map("first", x="1", secret="s"))
        running = asyncio.ensure_future(w.informer.run())
        assert (await w.informer.get(("default", "first"))).data == {"x": "1"}
        running.cancel()
        await asyncio.wait({running})


BOOKMARK = (
    b'{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"999999"}}}\n'
)


@on_virtual_time
async def test_a_bookmark_in_the_middle_of_the_initial_state_says_nothing_of_what_was_told() -> None:
    async with world(policy=Policy(watch_list=True)) as w:
        version, opened = w.informer.core.version, w.transport.open

        async def bookmarked(request: ClientRequest) -> TroubledStream:
            stream = await opened(request)
            stream.inject(BOOKMARK)
            w.transport.open = opened  # type: ignore[method-assign]
            return stream

        w.transport.open = bookmarked  # type: ignore[method-assign]
        versions: list[str] = []

        def is_ready() -> bool:
            versions.append(w.informer.core.version)
            return w.informer.is_ready

        w.transport.garble()
        await w.informer.wait_for(lambda: not is_ready())
        await w.informer.wait_for(is_ready)
        assert "999999" not in versions
        assert version in versions
        await w.settled()


@both_ways
@on_virtual_time
async def test_a_server_that_takes_a_watch_and_never_answers_is_found_out(policy: Policy) -> None:
    async with world(policy=policy) as w:
        opened = w.transport.open

        async def hanging(request: ClientRequest) -> TroubledStream:
            w.transport.open = opened  # type: ignore[method-assign]
            stream: TroubledStream = await asyncio.get_running_loop().create_future()
            return stream

        w.transport.open = hanging  # type: ignore[method-assign]
        w.transport.cut()
        await w.informer.wait_for(lambda: "did not answer a watch within 150 s" in w.informer.health.why)
        await w.rival.create(config_map("second"))
        await w.settled()


@on_virtual_time
async def test_a_handler_that_comes_late_hears_of_what_is_there_and_one_that_is_taken_off_hears_no_more() -> None:
    async with world() as w:
        late: list[InformerEvent[ConfigMap]] = []
        remove = w.informer.add_handler(late.append)
        assert [(event.type, event.key.name, event.is_initial) for event in late] == [("add", "first", True)]
        remove()
        remove()
        await w.rival.create(config_map("second"))
        await w.settled()
        assert len(late) == 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from("abc")),
        st.tuples(st.sampled_from(["cut", "hang", "end", "down", "up", "compact", "replace"]), st.just("")),
        st.tuples(st.just("garble"), st.sampled_from("012345678")),
        st.tuples(st.just("pass"), st.sampled_from(["0", "1", "200"])),
    ),
    max_size=25,
)


@given(steps=STEPS, watch_list=st.booleans())
@settings(max_examples=60)
def test_any_trouble_in_any_order_ends_in_a_view_that_equals_the_server(
    steps: list[tuple[str, str]], watch_list: bool
) -> None:
    virtualtime.run(_live_through(steps, watch_list))


async def _live_through(steps: list[tuple[str, str]], watch_list: bool) -> None:
    async with world(policy=Policy(watch_list=watch_list)) as w, EmbeddedCluster(controllers=()) as other:
        for what, which in steps:
            match what:
                case "put":
                    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"r": str(w.cluster.store.revision)}}
                    body["metadata"] = {"name": which, "namespace": "default"}
                    await w.rival.apply(body, field_manager="rival", force=True)
                case "delete":
                    await w.rival.delete_all_of(ConfigMap, "default", field_selector=f"metadata.name={which}")
                case "cut" | "hang" | "end":
                    getattr(w.transport, what)()
                case "garble":
                    w.transport.garble(GARBAGE[int(which)])
                case "down":
                    w.transport.is_down = True
                    w.transport.cut()
                case "up":
                    w.transport.is_down = False
                case "compact":
                    await w.cluster.store.compact(w.cluster.store.revision)
                case "replace" if w.cluster is not other:
                    # A server that loses its data is away in between, and a client that tries then is refused.
                    w.transport.is_down = True
                    w.transport.cut()
                    await w.informer.wait_for(lambda: "nobody answers" in w.informer.health.why)
                    w.cluster, w.rival = other, other.client()
                    w.transport.inner, w.transport.is_down = other.transport(), False
                case "pass":
                    await passing(float(which))
        w.transport.is_down = False
        await w.settled()
