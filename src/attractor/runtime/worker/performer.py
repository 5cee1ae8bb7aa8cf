"""``Performer``: answers a controller's effects in production, from the cache, the client, the clock and memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from attractor.objects.errors import NotFound
from attractor.runtime import effects
from attractor.runtime.context import Context
from attractor.runtime.lease import LeadershipLost
from attractor.runtime.toolkit.statemap import ObjectStateMap
from attractor.runtime.worker.driver import Answered, drive
from attractor.wire.blocks import inside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from attractor.client import Client
    from attractor.objects.gvk import Key
    from attractor.objects.resource import Resource
    from attractor.runtime.effects import Effect
    from attractor.runtime.observability.events import EventRecorder
    from attractor.runtime.worker.views import Views


class UnknownExternal(LookupError):
    """A reconcile calls an outside system that nobody provided; the text says how to."""


class Memory:
    """The volatile memory of one controller: one ``ObjectStateMap`` for each slot. It ends with the process."""

    def __init__(self) -> None:
        self._slots: dict[str, ObjectStateMap[Any]] = {}

    def slot(self, name: str) -> ObjectStateMap[Any]:
        """The map of a slot; empty at first."""
        return self._slots.setdefault(name, ObjectStateMap())

    @property
    def slots(self) -> Mapping[str, ObjectStateMap[Any]]:
        """Every slot that was used."""
        return self._slots

    def of(self, state: type) -> ObjectStateMap[Any]:
        """The map in which ``ctx.remember`` keeps states of this class."""
        return self.slot(state.__qualname__)


KEEPS_FAILING = "ReconcileKeepsFailing"
"""The reason of the Event that tells of an object whose reconcile fails again and again."""


class Performer:
    """Performs effects for the reconciles of one controller: one at a time, those of a ``Gather`` all at once."""

    def __init__(
        self,
        name: str,
        *,
        client: Client,
        views: Views,
        recorder: EventRecorder,
        externals: Mapping[type, object],
        now: Callable[[], datetime],
        start: Callable[..., None],
        schedule: Callable[[Key], None],
        may_write: Callable[[], bool],
    ) -> None:
        self._name = name
        self._client = client
        self._views = views
        self._recorder = recorder
        self._externals = externals
        self._now = now
        self._start = start
        self._schedule = schedule
        self._may_write = may_write
        self.memory = Memory()
        self.perform: Callable[[Effect[Any]], Awaitable[Any]] = self._perform
        """The answer to an effect. Whoever directs a run puts something of its own here, that asks what was here."""
        self._by_type: dict[type, Callable[[Any], Awaitable[Any]]] = {
            effects.Get: self._get,
            effects.List: self._list,
            effects.Create: self._create,
            effects.Update: self._update,
            effects.Patch: self._patch,
            effects.Delete: self._delete,
            effects.CreateSubresource: self._create_subresource,
            effects.Now: self._tell_now,
            effects.Recall: self._recall,
            effects.Remember: self._remember,
            effects.Forget: self._forget,
            effects.Defer: self._defer,
            effects.Emit: self._emit,
            effects.Call: self._call,
            effects.Start: self._start_work,
            effects.Schedule: self._ask_for_reconcile,
            effects.Gather: self._gather,
        }

    def _perform(self, effect: Effect[Any]) -> Awaitable[Any]:
        known = self._known(effect) if isinstance(effect, effects.Get) else None
        return self._by_type[type(effect)](effect) if known is None else known

    def _known(self, effect: effects.Get[Any]) -> Answered | None:
        """Return the cache's answer, if it has one at once, as it nearly always does."""
        informer = self._views.whole.get(effect.kind) if effect.is_cached else None
        key = effect.key
        if informer is None or not informer.knows(key):
            return None
        found = informer.find_nowait(key)
        return None if found is None and not effect.is_optional else Answered(found)

    async def _get(self, effect: effects.Get[Any]) -> Any:
        informer = self._views.whole.get(effect.kind) if effect.is_cached else None
        if informer is not None:
            return await (informer.find(effect.key) if effect.is_optional else informer.get(effect.key))
        try:
            return await self._client.get(effect.kind, effect.key)
        except NotFound:
            if effect.is_optional:
                return None
            raise

    async def _list(self, effect: effects.List[Any]) -> Any:
        if effect.is_cached and self._views.follows(effect.kind):
            kind = cast("type[Resource]", effect.kind)
            return await self._views.list(kind, effect.namespace, labels=effect.labels, index=effect.index)
        if effect.index is not None:
            raise LookupError(
                f"controller {self._name!r} lists {effect.kind} by index {effect.index[0]!r}, which only the "
                "cache can; declare the index with `indexes=` and read with cached=True"
            )
        found: list[Any] = await self._client.list(effect.kind, effect.namespace, label_selector=effect.labels)
        return found

    def _check_leading(self) -> None:
        if not self._may_write():
            raise LeadershipLost(f"controller {self._name!r} may not write: this process no longer leads")

    # Writes are the client's own coroutines: nothing of ours is between them and the reconcile.

    def _create(self, effect: effects.Create[Any]) -> Awaitable[Any]:
        self._check_leading()
        return self._client.create(effect.object, field_manager=self._name)

    def _update(self, effect: effects.Update[Any]) -> Awaitable[Any]:
        self._check_leading()
        return self._client.update(effect.object, subresource=effect.subresource, field_manager=self._name)

    def _patch(self, effect: effects.Patch[Any]) -> Awaitable[Any]:
        self._check_leading()
        manager = effect.field_manager or self._name
        client, body = self._client, cast("Any", effect.body)
        if effect.type == "apply":
            kind = cast("type[Resource]", effect.kind)
            obj = kind.from_dict(body)
            return client.apply(obj, field_manager=manager, force=effect.is_forced, subresource=effect.subresource)
        return client.patch(
            effect.kind, effect.key, body, type=effect.type, subresource=effect.subresource, field_manager=manager
        )

    def _delete(self, effect: effects.Delete) -> Awaitable[None]:
        self._check_leading()
        return self._client.delete(
            effect.kind,
            effect.key,
            uid=effect.uid,
            resource_version=effect.resource_version,
            propagation=effect.propagation,
            grace_period_s=effect.grace_period_s,
        )

    def _create_subresource(self, effect: effects.CreateSubresource[Any]) -> Awaitable[Any]:
        self._check_leading()
        return self._client.create_subresource(effect.kind, effect.key, effect.subresource, effect.body)

    async def _tell_now(self, _: effects.Now) -> datetime:
        return self._now()

    async def _recall(self, effect: effects.Recall[Any]) -> Any:
        states = self.memory.slot(effect.slot)
        states.run_deferred(effect.key)
        return states.borrow(effect.key)

    async def _remember(self, effect: effects.Remember) -> None:
        self.memory.slot(effect.slot).store(effect.key, effect.state, effect.identity)

    async def _forget(self, effect: effects.Forget) -> None:
        self.memory.slot(effect.slot).delete(effect.key)

    async def _defer(self, effect: effects.Defer) -> bool:
        return self.memory.slot(effect.slot).defer(effect.key, effect.operation, effect.identity)

    async def _emit(self, effect: effects.Emit) -> None:
        self._recorder.record(self._name, effect.object, effect.type, effect.reason, effect.message)

    def warn_of_failures(self, kind: type[Resource], key: Key, message: str) -> None:
        """Tell those who look at an object that its reconcile keeps failing; of one that is not cached, nobody."""
        informer = self._views.whole.get(kind)
        found = informer.find_nowait(key) if informer is not None and informer.knows(key) else None
        if found is not None:
            self._recorder.record(self._name, found, "Warning", KEEPS_FAILING, message)

    async def _call(self, effect: effects.Call[Any]) -> Any:
        implementation = self._externals.get(effect.protocol)
        if implementation is None:
            named = effect.protocol.__name__
            raise UnknownExternal(
                f"controller {self._name!r} calls {named}.{effect.method}, but nobody provides {named}; "
                f"declare it with externals=[{named}] and give the manager externals={{{named}: ...}}"
            )
        return await getattr(implementation, effect.method)(*effect.args, **effect.keywords)

    async def _start_work(self, effect: effects.Start) -> None:
        async def work() -> None:
            await drive(cast("Any", effect.work(Context(self._name, effect.key), *effect.args)), self.perform)

        self._start(work, key=str(effect.key))

    async def _ask_for_reconcile(self, effect: effects.Schedule) -> None:
        self._schedule(effect.key)

    async def _gather(self, effect: effects.Gather) -> tuple[Any, ...]:
        tasks = await inside(asyncio.TaskGroup(), lambda group: self._begin_all(effect, group))
        return tuple(task.result() for task in tasks)

    async def _begin_all(self, effect: effects.Gather, group: asyncio.TaskGroup) -> list[asyncio.Task[Any]]:
        return [group.create_task(self._outcome(inner)) for inner in effect.effects]

    async def _outcome(self, effect: Effect[Any]) -> Any:
        try:
            return await self.perform(effect)
        except Exception as error:  # whatever it is, it is this effect's answer, and must not end the others
            return error
