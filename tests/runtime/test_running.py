"""What makes a reconcile run, and what its answer leads to."""

import asyncio
from collections import Counter
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import pytest

from attractor.k8s.core_v1 import ConfigMap, Event, Secret
from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.runtime import (
    Context,
    Controller,
    For,
    Index,
    Owns,
    Result,
    TerminalError,
    Watches,
    controller,
)
from attractor.runtime.predicates import generation_changed, labels_changed
from attractor.runtime.toolkit.channel import Channel
from attractor.runtime.toolkit.owners import add_owner, set_controller
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.factories import config_map
from tests.runtime.things import Thing, passing, thing

A, B = Key("default", "a"), Key("default", "b")


class Runs:
    """A reconcile that counts, and does what a test says."""

    def __init__(self) -> None:
        self.of: Counter[Key] = Counter()

    async def reconcile(self, ctx: Context, key: Key) -> Result | None:
        self.of[key] += 1
        return None


async def settled(controllers: Any) -> None:
    await eventually(lambda: all(one.queue.core.is_idle for one in controllers.controllers))


async def test_an_object_is_never_with_two_workers_and_others_do_not_wait(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    busy: set[Key] = set()
    most = 0

    @controller(name="busy", for_=Thing, workers=4)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        nonlocal most
        assert key not in busy
        busy.add(key)
        most = max(most, len(busy))
        await passing(1)
        busy.remove(key)
        return Result(requeue_after_s=0.5)

    async with cluster.running(reconcile) as manager:
        for name in "abcdef":
            await cluster.client.create(thing(name))
        await eventually(lambda: manager.metrics.reconciles.value("busy", "requeue_after") >= 20, within_s=60)
    assert most == 4
    assert manager.metrics.errors.value("busy") == 0


async def test_a_failing_object_comes_again_with_backoff_and_hurts_no_other(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    at: list[float] = []
    good = 0

    @controller(name="half", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        nonlocal good
        if key == A:
            at.append(virtual_time.time())
            raise ValueError("a is bad")
        good += 1
        return None

    async with cluster.running(reconcile):
        await cluster.client.create(thing("a"))
        await cluster.client.create(thing("b"))
        await eventually(lambda: len(at) == 7)
    assert good == 1
    waits = [later - sooner for sooner, later in pairwise(at)]
    assert waits == pytest.approx([0.005 * 2**n for n in range(6)], rel=0.01)


async def test_a_terminal_error_is_not_tried_again_until_the_object_changes(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs = 0

    @controller(name="terminal", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        nonlocal runs
        runs += 1
        raise TerminalError("the spec makes no sense")

    async with cluster.running(reconcile) as manager:
        made = await cluster.client.create(thing("a"))
        await eventually(lambda: runs == 1)
        await passing(3600)
        assert runs == 1
        changed = made.deep_copy()
        changed.spec.size = 2
        await cluster.client.patch_from(made, changed)
        await eventually(lambda: runs == 2)
        assert manager.metrics.terminal_errors.value("terminal") == 2


async def test_a_reconcile_that_hangs_is_cancelled_counted_and_tried_again(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs = 0

    @controller(name="slow", for_=Thing, timeout_s=5)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        nonlocal runs
        runs += 1
        if runs == 1:
            await asyncio.Event().wait()
        return None

    async with cluster.running(reconcile) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: runs == 2)
        await settled(manager)
        assert manager.metrics.timeouts.value("slow") == 1
        assert manager.metrics.reconciles.value("slow", "success") == 1


async def test_a_reconcile_that_cancels_itself_is_a_failure_like_any_other(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs = 0

    @controller(name="selfish", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise asyncio.CancelledError
        return None

    async with cluster.running(reconcile):
        await cluster.client.create(thing("a"))
        await eventually(lambda: runs == 2)


async def test_an_owned_object_runs_its_controlling_owner_or_every_owner(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    controlling, every = Runs(), Runs()
    declared = (
        controller(controlling, name="controlling", for_=Thing, owns=[ConfigMap]),
        controller(every, name="every", for_=Thing, owns=[Owns(ConfigMap, every_owner=True)]),
    )
    async with cluster.running(*declared) as manager:
        first = await cluster.client.create(thing("a"))
        second = await cluster.client.create(thing("b"))
        await eventually(lambda: every.of == {A: 1, B: 1} and controlling.of == {A: 1, B: 1})
        child = config_map("c")
        set_controller(first, child)
        add_owner(second, child)
        await cluster.client.create(child)
        await cluster.client.create(config_map("stranger"))
        await eventually(lambda: every.of == {A: 2, B: 2})
        await settled(manager)
        assert controlling.of == {A: 2, B: 1}


async def test_another_kind_runs_what_a_function_or_an_index_says(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    mapped, indexed = Runs(), Runs()
    uses = Index(Thing, "uses", lambda one: [f"{one.metadata.namespace}/{name}" for name in one.spec.uses])
    declared = (
        controller(
            mapped,
            name="mapped",
            for_=Thing,
            watches=[Watches(ConfigMap, lambda one: [Key(one.metadata.namespace, one.metadata.labels["for"])])],
        ),
        controller(indexed, name="indexed", for_=Thing, watches=[Watches(ConfigMap, index="uses")], indexes=[uses]),
    )
    async with cluster.running(*declared) as manager:
        await cluster.client.create(thing("a", 1, "x", "y"))
        await cluster.client.create(thing("b", 1, "y"))
        await eventually(lambda: indexed.of == {A: 1, B: 1} and mapped.of == {A: 1, B: 1})
        await cluster.client.create(config_map("y", {"for": "b"}))
        await eventually(lambda: indexed.of == {A: 2, B: 2})
        await settled(manager)
        assert mapped.of == {A: 1, B: 2}


async def test_a_map_function_that_fails_on_one_object_hurts_nothing_else(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs = Runs()
    declared = controller(
        runs, name="runs", for_=Thing, watches=[Watches(ConfigMap, lambda one: [Key("default", one.data["for"])])]
    )
    async with cluster.running(declared):
        await cluster.client.create(config_map("without"))
        good = config_map("with")
        good.data = {"for": "a"}
        await cluster.client.create(good)
        await eventually(lambda: runs.of == {A: 1})


async def test_keys_from_a_channel_run_and_predicates_hold_back_what_does_not_matter(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs = Runs()
    outside: Channel[Key] = Channel()
    declared = controller(
        runs, name="runs", for_=For(Thing, when=generation_changed | labels_changed), sources=[outside]
    )
    async with cluster.running(declared) as manager:
        made = await cluster.client.create(thing("a"))
        await eventually(lambda: runs.of == {A: 1})
        annotated = made.deep_copy()
        annotated.metadata.annotations = {"note": "nothing that matters"}
        made = await cluster.client.patch_from(made, annotated)
        await passing(5)
        assert runs.of == {A: 1}
        changed = made.deep_copy()
        changed.spec.size = 5
        await cluster.client.patch_from(made, changed)
        await eventually(lambda: runs.of == {A: 2})
        outside.send(B)
        await eventually(lambda: runs.of == {A: 2, B: 1})
        assert manager.is_ready


def appended(item: str, state: list[str]) -> list[str]:
    return [*state, item]


class Mailer(Protocol):
    async def send(self, to: str) -> str: ...


class Post:
    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, to: str) -> str:
        self.sent.append(to)
        return f"id-{len(self.sent)}"


async def test_outside_systems_memory_background_work_and_debounced_scheduling(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    post = Post()
    times: list[float] = []
    progress: list[list[str] | None] = []

    async def deliver(ctx: Context, to: str) -> None:
        for _ in range(3):
            answer = await ctx.external(Mailer).send(to)
            await ctx.defer(list, partial(appended, answer))
            await ctx.schedule()

    @controller(name="mail", for_=Thing, externals=[Mailer])
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        times.append(virtual_time.time())
        known = await ctx.recall(list)
        progress.append(known)
        if known is None:
            await ctx.remember([])
            await ctx.start(deliver, "jane")
        return None

    async with cluster.running(reconcile, externals={Mailer: post}) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: len(progress) == 2)
        await settled(manager)
        assert progress == [None, ["id-1", "id-2", "id-3"]]
        assert times[1] - times[0] == pytest.approx(0.5, abs=0.02)
        memory = manager.memory(reconcile).of(list)
        assert memory.borrow(A) == ["id-1", "id-2", "id-3"]


async def test_equal_events_are_counted_and_not_repeated(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    @controller(name="teller", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        found = await ctx.get(Thing, key)
        await ctx.emit(found, "Waiting", "for something", type="Warning")
        return Result(requeue_after_s=1)

    async with cluster.running(reconcile):
        await cluster.client.create(thing("a"))

        async def told() -> bool:
            events = await cluster.client.list(Event, "default")
            return [(one.count, one.reason, one.type, one.involved_object.name) for one in events] == [
                (5, "Waiting", "Warning", "a")
            ]

        await eventually(told)
    assert cluster.requests.count("create", "events") == 1


async def test_a_kind_that_is_not_declared_is_read_from_the_server_and_not_watched(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    found: list[bool] = []

    @controller(name="reader", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        found.append(await ctx.find(Secret, key) is not None)
        with pytest.raises(NotFound):
            await ctx.get(Secret, key)
        return None

    async with cluster.running(reconcile):
        await cluster.client.create(thing("a"))
        await eventually(lambda: found == [False])
    assert cluster.requests.count("get", "secrets") == 2
    assert cluster.requests.count("watch", "secrets") == 0


async def test_a_read_after_a_write_shows_the_write_whatever_the_watch_says(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    seen: list[Any] = []

    @controller(name="writer", for_=Thing, owns=[ConfigMap])
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        if await ctx.find(ConfigMap, B) is None:
            await ctx.create(config_map("b"))
            seen.append(await ctx.find(ConfigMap, B) is not None)
            seen.append([one.metadata.name for one in await ctx.list(ConfigMap, namespace="default")])
            await ctx.delete_key(ConfigMap, B)
            seen.append(await ctx.find(ConfigMap, B))
        return None

    async with cluster.running(reconcile):
        await cluster.client.create(thing("a"))
        await eventually(lambda: len(seen) >= 3)
    assert (seen[0], "b" in seen[1], seen[2]) == (True, True, None)


async def test_stopping_lets_a_reconcile_finish_and_starts_no_other(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    log: list[str] = []

    @controller(name="slow", for_=Thing, workers=1)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        log.append(f"begin {key.name}")
        await passing(3)
        log.append(f"end {key.name}")
        return None

    async with cluster.running(reconcile):
        await cluster.client.create(thing("a"))
        await cluster.client.create(thing("b"))
        await eventually(lambda: log == ["begin a"])
    assert log == ["begin a", "end a"]


async def test_a_reconcile_that_outlasts_the_grace_time_is_cancelled(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    log: list[str] = []

    @controller(name="endless", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        log.append("begin")
        try:
            await asyncio.Event().wait()
        finally:
            log.append("cancelled")
        return None

    async with cluster.running(reconcile, grace_s=2):
        await cluster.client.create(thing("a"))
        await eventually(lambda: log == ["begin"])
    assert log == ["begin", "cancelled"]


def test_the_declaration_knows_every_kind_it_watches() -> None:
    declared: Controller = controller(Runs(), for_=Thing, owns=[ConfigMap], watches=[Watches(Secret, lambda _: [])])
    assert declared.kinds == (Thing, ConfigMap, Secret)
    assert declared.name == "runs"


async def test_a_reconcile_that_returns_nonsense_has_failed_and_hurts_no_other(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs = Runs()

    async def reconcile(ctx: Context, key: Key) -> Any:
        runs.of[key] += 1
        return 5 if key == A else None

    async with cluster.running(controller(reconcile, name="five", for_=Thing)) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: manager.metrics.panics.value("five") >= 2)
        await cluster.client.create(thing("b"))
        await eventually(lambda: runs.of[B] == 1)
