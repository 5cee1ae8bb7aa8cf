"""Incidents: bugs of operators in the styles of production, each with its mended twin in the same world.

An incident is a function from "is it buggy?" to a world, so that the two differ by what the incident was about. The table
is in ``test_incidents``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from attractor.check import Delete, Edit, Faults, Script, World, WorldState, always, eventually_stable
from attractor.k8s.core_v1 import ConfigMap, Namespace
from attractor.objects.errors import AlreadyExists, Conflict
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Result, Watches, controller
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller
from tests.quality.zoo.kinds import (
    CHILD,
    FINALIZER,
    A,
    App,
    app,
    child_of,
    configmap,
    ensure_child,
    set_finalizers,
    tell,
    value_of,
)

BLUE = Edit(App, A, spec=[{"value": "blue"}])
CONFIG, LOCK, REGISTER, ROOM, SECRET = (
    Key("default", "config"),
    Key("default", "lock"),
    Key("default", "register"),
    Key("", "room"),
    Key("default", "secret"),
)


class Cloud(Protocol):
    """Resources outside the cluster, by name."""

    async def ensure(self, name: str) -> None:
        """Make a resource, unless it is there."""

    async def delete(self, name: str) -> None:
        """Remove a resource, if it is there."""

    async def retire(self, name: str) -> None:
        """Remove a resource for ever: whoever asks for it later gets none."""

    async def names(self) -> list[str]:
        """Those that there are."""


class CloudModel:
    """The names that there are, and those that never come again."""

    def __init__(self, *there: str) -> None:
        self.there = list(there)
        self.retired: list[str] = []

    def ensure(self, name: str) -> None:
        if name not in self.there and name not in self.retired:
            self.there.append(name)

    def delete(self, name: str) -> None:
        if name in self.there:
            self.there.remove(name)

    def retire(self, name: str) -> None:
        self.delete(name)
        if name not in self.retired:
            self.retired.append(name)

    def names(self) -> list[str]:
        return sorted(self.there)


@dataclass(frozen=True)
class Job:
    """What a process knows of the work that it began."""

    state: str = "begun"


def nothing_outside_without_an_app(look: WorldState) -> bool:
    return bool(look.list(App)) or not look.external(Cloud).there


def every_app_is_done(look: WorldState) -> bool:
    return all(one.status.value == "done" for one in look.list(App))


def clean_up_fails_silently(is_buggy: bool) -> World:
    """The finalizer goes although the clean-up outside got no answer."""

    @controller(for_=App, externals=[Cloud])
    async def one(ctx: Context, key: Key) -> Result | None:
        found, cloud = await ctx.find(App, key), ctx.external(Cloud)
        if found is None:
            return None
        if found.metadata.is_deleting:
            try:
                await cloud.delete(key.name)
            except TimeoutError:
                if not is_buggy:
                    return Result(requeue_after_s=5)
            await set_finalizers(ctx, found, [])
            return None
        if FINALIZER not in found.metadata.finalizers:
            await set_finalizers(ctx, found, [FINALIZER])
        await cloud.ensure(key.name)
        return None

    claims = [eventually_stable(nothing_outside_without_an_app)]
    return World(
        controllers=[one],
        objects=[app()],
        users=[Delete(App, A)],
        faults=Faults(external_failure=1),
        properties=claims,
        externals={Cloud: CloudModel()},
    )


def created_after_its_clean_up(is_buggy: bool) -> World:
    """A call that nobody waits for any more makes what was cleaned up meanwhile."""

    @controller(for_=App, externals=[Cloud])
    async def one(ctx: Context, key: Key) -> None:
        found, cloud = await ctx.find(App, key), ctx.external(Cloud)
        if found is None:
            return
        if found.metadata.is_deleting:
            await (cloud.delete(key.name) if is_buggy else cloud.retire(key.name))
            await set_finalizers(ctx, found, [])
            return
        if FINALIZER not in found.metadata.finalizers:
            await set_finalizers(ctx, found, [FINALIZER])
        await cloud.ensure(key.name)

    claims = [eventually_stable(nothing_outside_without_an_app)]
    return World(
        controllers=[one],
        objects=[app()],
        users=[Delete(App, A)],
        faults=Faults(delayed_call=1),
        properties=claims,
        externals={Cloud: CloudModel()},
    )


def adopts_what_another_owns(is_buggy: bool) -> World:
    """Whatever has the label is adopted, also from an app that has adopted it."""

    @controller(for_=App, owns=[ConfigMap])
    async def one(ctx: Context, key: Key) -> None:
        found = await ctx.find(App, key)
        if found is None:
            return
        for each in await ctx.list(ConfigMap, namespace=key.namespace, labels="pool=x"):
            if not is_controlled_by(each, found) and (is_buggy or not each.metadata.owner_references):
                changed = each.deep_copy()
                changed.metadata.owner_references = []
                set_controller(found, changed)
                await ctx.patch_from(each, changed)

    shared = configmap("shared")
    shared.metadata.labels = {"pool": "x"}
    return World(controllers=[one], objects=[app("a"), app("b"), shared])


def condition_of_another_generation(is_buggy: bool) -> World:
    """A second controller acts on "ready", which was said of an older spec."""

    @controller(for_=App, owns=[ConfigMap])
    async def maker(ctx: Context, key: Key) -> None:
        found = await ctx.find(App, key)
        if found is not None:
            await ensure_child(ctx, found)
            await tell(ctx, found, value="ready", generation=found.metadata.generation)

    @controller(for_=App)
    async def reader(ctx: Context, key: Key) -> None:
        found = await ctx.find(App, key, cached=False)
        if found is None or found.status.value != "ready":
            return
        if is_buggy or found.status.generation == found.metadata.generation:
            await tell(ctx, found, count=found.metadata.generation)

    def released_is_made(look: WorldState) -> bool:
        return all(each.status.count < 2 or value_of(look, CHILD) == "blue" for each in look.list(App))

    return World(
        controllers=[maker, reader], objects=[app()], users=[BLUE], properties=[always(released_is_made)], workers=1
    )


def hash_before_the_restart(is_buggy: bool) -> World:
    """The new configuration's mark is stored first, so a crash loses the restart."""

    @controller(for_=App, watches=[Watches(ConfigMap, lambda _: [A])], externals=[Cloud])
    async def one(ctx: Context, key: Key) -> None:
        found, config = await ctx.find(App, key), await ctx.find(ConfigMap, CONFIG)
        if found is None or config is None or found.status.value == config.data["value"]:
            return
        if not is_buggy:
            await ctx.external(Cloud).ensure(config.data["value"])
        await tell(ctx, found, value=config.data["value"])
        if is_buggy:
            await ctx.external(Cloud).ensure(config.data["value"])

    def runs_the_present_one(look: WorldState) -> bool:
        return value_of(look, CONFIG) in look.external(Cloud).there

    users = [Edit(ConfigMap, CONFIG, patch=[{"data": {"value": "2"}}])]
    objects = [app(), configmap("config", value="1")]
    claims = [eventually_stable(runs_the_present_one)]
    return World(
        controllers=[one],
        objects=objects,
        users=users,
        faults=Faults(crash=1),
        properties=claims,
        externals={Cloud: CloudModel()},
    )


def revoked_before_it_is_replaced(is_buggy: bool) -> World:
    """The old key is revoked before the new one is handed out."""

    @controller(for_=App, externals=[Cloud])
    async def one(ctx: Context, key: Key) -> None:
        found, secret = await ctx.find(App, key), await ctx.find(ConfigMap, SECRET, cached=False)
        if found is None or secret is None:
            return
        cloud, wanted = ctx.external(Cloud), found.spec.value
        await cloud.ensure(wanted)
        if secret.data["value"] != wanted:
            if is_buggy:
                await cloud.delete(secret.data["value"])
            changed = secret.deep_copy()
            changed.data = {"value": wanted}
            await ctx.patch_from(secret, changed)
        for each in await cloud.names():
            if each != wanted:
                await cloud.delete(each)

    def the_key_is_valid(look: WorldState) -> bool:
        return value_of(look, SECRET) in look.external(Cloud).there

    objects = [app(value="new"), configmap("secret", value="old")]
    return World(
        controllers=[one],
        objects=objects,
        users=[],
        faults=Faults(crash=1),
        properties=[always(the_key_is_valid)],
        externals={Cloud: CloudModel("old")},
    )


def work_fails_and_nobody_hears(is_buggy: bool) -> World:
    """Background work that fails leaves its app waiting for ever."""

    async def work(ctx: Context, uid: str) -> None:
        try:
            await ctx.external(Cloud).ensure(uid)
        except TimeoutError:
            if not is_buggy:
                await ctx.defer(Job, lambda job: replace(job, state="failed"), identity=uid)
                await ctx.schedule()
            return
        await ctx.defer(Job, lambda job: replace(job, state="ended"), identity=uid)
        await ctx.schedule()

    @controller(for_=App, externals=[Cloud])
    async def one(ctx: Context, key: Key) -> None:
        found = await ctx.find(App, key)
        if found is None or found.status.value == "done":
            return
        job = await ctx.recall(Job)
        if job is None or job.state == "failed":
            await ctx.remember(Job(), identity=found.metadata.uid)
            await ctx.start(work, found.metadata.uid)
        elif job.state == "ended":
            await tell(ctx, found, value="done")

    faults = Faults(external_failure=1, external_silence=1)
    return World(
        controllers=[one],
        objects=[app()],
        users=[],
        faults=faults,
        properties=[eventually_stable(every_app_is_done)],
        externals={Cloud: CloudModel()},
    )


def lock_outlives_its_holder(is_buggy: bool) -> World:
    """A reconcile that is cancelled leaves a lock that nobody takes over, not even its holder."""

    @controller(for_=App)
    async def one(ctx: Context, key: Key) -> Result | None:
        found = await ctx.find(App, key)
        if found is None or found.status.value == "done":
            return None
        lock = await ctx.find(ConfigMap, LOCK, cached=False)
        if lock is not None and (is_buggy or lock.data["holder"] != key.name):
            return Result(requeue_after_s=1)
        if lock is None:
            await ctx.create(configmap("lock", holder=key.name))
        await tell(ctx, found, value="done")
        await ctx.delete_key(ConfigMap, LOCK)
        return None

    claims = [eventually_stable(every_app_is_done)]
    return World(controllers=[one], objects=[app()], faults=Faults(timeout=1), properties=claims, kinds=[ConfigMap])


def failures_among_the_answers(is_buggy: bool) -> World:
    """What was asked for together has answers that are failures, and nobody looks."""

    @controller(for_=App)
    async def one(ctx: Context, key: Key) -> None:
        found = await ctx.find(App, key)
        if found is None or found.status.value == "done":
            return
        for each in await ctx.gather(*(ctx.create(child_of(found, suffix)) for suffix in ("x", "y"))):
            if not is_buggy and isinstance(each, Exception) and not isinstance(each, AlreadyExists):
                raise each
        await tell(ctx, found, value="done")

    def both_are_there(look: WorldState) -> bool:
        return len(look.list(ConfigMap)) == 2

    faults, claims = Faults(refusal=1), [eventually_stable(both_are_there)]
    return World(controllers=[one], objects=[app()], users=[], faults=faults, properties=claims, kinds=[ConfigMap])


def namespace_on_its_way_out(is_buggy: bool) -> World:
    """A namespace that is wanted again while it ends is taken for one that is there."""

    @controller(for_=App)
    async def one(ctx: Context, key: Key) -> Result | None:
        found, room = await ctx.find(App, key), await ctx.find(Namespace, ROOM, cached=False)
        if found is None:
            return None
        if found.spec.size == 0:
            if room is not None and not room.metadata.is_deleting:
                await ctx.delete(room)
        elif room is None:
            await ctx.create(Namespace(metadata=ObjectMeta(name=ROOM.name)))
        elif room.metadata.is_deleting and not is_buggy:
            return Result(requeue_after_s=1)
        return None

    def as_wanted(look: WorldState) -> bool:
        return (look.find(Namespace, ROOM) is not None) == (look.get(App, A).spec.size == 1)

    users = [Script(Edit(App, A, spec=[{"size": 0}]), Edit(App, A, spec=[{"size": 1}]))]
    return World(
        controllers=[one], objects=[app()], users=users, properties=[eventually_stable(as_wanted)], kinds=[Namespace]
    )


def retried_with_the_old_body(is_buggy: bool) -> World:
    """After a conflict the object is read again, and what was to be written before is written."""

    @controller(for_=App)
    async def one(ctx: Context, key: Key) -> Result | None:
        register = await ctx.find(ConfigMap, REGISTER, cached=False)
        if register is None or key.name in register.data:
            return None
        wanted = {**register.data, key.name: "in"}
        for _ in range(2):
            changed = register.deep_copy()
            changed.data = wanted if is_buggy else {**register.data, key.name: "in"}
            try:
                await ctx.update(changed)
            except Conflict:
                register = await ctx.get(ConfigMap, REGISTER, cached=False)
            else:
                return None
        return Result(requeue=True)

    def both_are_in(look: WorldState) -> bool:
        return len(look.get(ConfigMap, REGISTER).data) == 2

    objects = [app("a"), app("b"), configmap("register")]
    return World(controllers=[one], objects=objects, properties=[eventually_stable(both_are_in)])


def more_workers_than_licences(is_buggy: bool) -> World:
    """Two licences are enough for two workers; production has four where nobody says how many."""

    @controller(for_=App, externals=[Cloud], workers=None if is_buggy else 2)
    async def one(ctx: Context, key: Key) -> None:
        found, cloud = await ctx.find(App, key), ctx.external(Cloud)
        if found is not None and found.status.value != "done":
            await cloud.ensure(key.name)
            await cloud.delete(key.name)
            await tell(ctx, found, value="done")

    def two_licences_are_enough(look: WorldState) -> bool:
        return len(look.external(Cloud).there) <= 2

    apps = [app("a"), app("b"), app("c")]
    claims = [always(two_licences_are_enough)]
    return World(controllers=[one], objects=apps, properties=claims, externals={Cloud: CloudModel()}, workers=4)
