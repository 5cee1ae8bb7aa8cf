"""Random runs of a world's controllers on the production runtime, recorded: does the world admit each of them?

    for seed in range(100):
        found = asyncio.run(wander(world, seed=seed))
        assert found.is_admitted, found

Whatever the real runtime can do, the world must admit; otherwise a verdict about the world says nothing of production.
The runtime is directed: which part moves next, what gets lost, who dies and who is cancelled is chosen at random,
within the faults and users of the world. What the controllers saw and did is recorded, and the world follows the
recording, with every move. A departure is a bug of Attractor, and the seed shows it again.
"""

from __future__ import annotations

import copy
import io
import random
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.world.api.users import Script, act_name, steps_of
from attractor.check.world.simulation.externals import happenings_of
from attractor.check.world.simulation.fault_actions import RIVAL
from attractor.check.world.simulation.process.activity import is_write
from attractor.check.world.simulation.process.controller_memory import Kept
from attractor.check.world.simulation.process.host import REFUSALS
from attractor.check.world.simulation.user_actions import sending
from attractor.objects.errors import ApiError
from attractor.runtime.effects import Call, Gather, Get, List
from attractor.testing.directed import Departed
from attractor.testing.recording import Recorder, Recording
from attractor.testing.recording.admission import Followed, follow
from attractor.testing.replay.outside import played
from attractor.testing.replay.replay import directed
from attractor.testing.replay.turns import CannotReplay, Player, Turn, key_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from attractor.check.world.api.world import World
    from attractor.runtime.effects import Effect
    from attractor.testing.directed import DirectedRuntime, Host
    from attractor.testing.replay.outside import PlayedExternal

    Act = Callable[[], Awaitable[Any]]

STEPS = 40
LOSSES = {
    "lost_request": "request lost",
    "lost_answer": "answer lost",
    "delayed_request": "delayed",
    "late_request": "crash while sending",
}
"""Faults that strike a write, each by one step."""


CALL_FAULTS = {
    "external_failure": "call failed",
    "external_silence": "call unanswered",
    "delayed_call": "call delayed",
}
"""Faults that strike a call of an outside system, each by one step."""


def _nothing() -> None:
    """Nothing else is so afterwards."""


class Move(NamedTuple):
    """A step of the world by its name and arguments, and how it is taken on the runtime."""

    action: str
    arguments: Mapping[str, Any]
    act: Act

    def __str__(self) -> str:
        return " ".join([self.action, *(str(each) for each in self.arguments.values())])


@dataclass(frozen=True)
class Wandered:
    """A random run, and whether the world admits it."""

    seed: int
    moves: tuple[str, ...]
    followed: Followed
    recorded: tuple[bytes, ...]

    @property
    def is_admitted(self) -> bool:
        """Return whether the world admits it."""
        return self.followed.is_admitted

    def __str__(self) -> str:
        said = "admitted" if self.is_admitted else f"departs at {self.followed.departure}"
        instead = "".join(f"\n    the world has: {each}" for each in self.followed.instead)
        moves = "".join(f"\n  {number}. {move}" for number, move in enumerate(self.moves, 1))
        return f"seed {self.seed}: {said}{instead}{'' if self.is_admitted else moves}"


async def wander(world: World, *, seed: int, steps: int = STEPS) -> Wandered:
    """A random run of a world's controllers on the runtime, followed in the world; on an event loop of its own."""
    moves, recorded = await wander_only(world, seed=seed, steps=steps)
    recording = Recording.read(*(data.splitlines(keepends=True) for data in recorded))
    return Wandered(seed, moves, follow(world, recording, is_alone=True), recorded)


async def wander_only(world: World, *, seed: int, steps: int = STEPS) -> tuple[tuple[str, ...], tuple[bytes, ...]]:
    """The run alone: what moved, and the recording of each host."""
    files = {name: io.BytesIO() for name in world.hosts}
    externals = played(world)
    async with directed(world, externals, recorder=lambda name: Recorder(files[name])) as runtime:
        wanderer = Wanderer(world, runtime, externals, random.Random(seed))  # noqa: S311 - a choice of runs, no secret
        await wanderer.player.begin()
        for _ in range(steps):
            if not await wanderer.move():
                break
        for host in runtime.hosts.values():
            if host.recorder is not None:
                host.recorder.is_full = True
    return tuple(wanderer.moves), tuple(file.getvalue() for file in files.values())


class Wanderer:
    """Moves one part of a directed runtime after the other, at random."""

    def __init__(
        self, world: World, runtime: DirectedRuntime, externals: Mapping[Any, PlayedExternal], chance: random.Random
    ) -> None:
        self._world, self._runtime, self._externals, self._chance = world, runtime, externals, chance
        self.player = Player(runtime, world, externals)
        self.moves: list[str] = []
        self._left = {host: _budgets(world, host) for host in world.hosts}
        """For each host and fault the place in ``_budget``: one for all hosts, or the host's own."""
        self._budget = {place: count for each in self._left.values() for place, count in each.values()}
        self._users = {user.label: len(user.steps) if isinstance(user, Script) else user.times for user in world.users}
        self._happened: dict[tuple[str, str], int] = {}
        self._stopping: set[str] = set()
        self._cancelled: set[tuple[str, str, Any]] = set()
        self._parted: set[str] = set()

    async def move(self) -> bool:
        """Let one thing happen; False when nothing can."""
        endings = self._runtime.source.endings
        endings.write_down([self._chance.choice(endings.possible())])
        behind = [each for host in self._runtime.hosts for each in self._behind(host)]
        moves = behind or [each async for each in self._moves()]
        self._chance.shuffle(moves)
        for move in moves:
            recorder = self._recorder()
            recorder.moved(move.action, move.arguments)
            try:
                await move.act()
            except (Departed, CannotReplay, ApiError):
                self._recorder().unmoved()
                continue
            self.moves.append(str(move))
            await self.player.begin()
            return True
        return False

    def _recorder(self) -> Recorder:
        found = next(host.recorder for host in self._runtime.hosts.values())
        assert found is not None, "a wanderer is recorded"
        return found

    def _behind(self, host: str) -> Iterator[Move]:
        """Deliveries that must come first, because the world lets caches lag no further."""
        for kind in self._runtime.host(host).manager_kinds:
            if self._held(host, kind) >= self._world.bounds.lag:
                yield self._delivering(host, kind)

    def _delivering(self, host: str, kind: Any) -> Move:
        act = partial(self._runtime.deliver, host, kind)
        return Move("deliver", {"host": host, "kind": kind.gvk.kind}, act)

    def _held(self, host: str, kind: Any) -> int:
        try:
            return self._runtime.undelivered(host, kind)
        except Departed:
            return 0

    async def _moves(self) -> AsyncIterator[Move]:
        for name in tuple(self._runtime.hosts):
            for each in self._of_host(name, self._runtime.host(name)):
                yield each
        for each in self._of_users():
            yield each
        for each in self._of_others():
            yield each
        for action, planned in (
            ("collect garbage", await self._runtime.garbage()),
            ("end namespace", await self._runtime.ending()),
        ):
            for op in planned:
                turn = Turn(action, collects=(op.resource, op.namespace, op.name))
                yield Move(action, {}, partial(self.player.take, turn))

    def _turn(
        self, action: str, given: Mapping[str, Any], fault: str = "", then: Callable[[], None] = _nothing
    ) -> Move:
        """A turn, what it uses up of the budget of a fault, and what is so afterwards."""

        async def take() -> None:
            await self.player.take(Turn(action, given, endings=self._endings()))
            if fault:
                self._budget[self._left[given["host"]][fault][0]] -= 1
            then()

        return Move(action, given, take)

    def _endings(self) -> tuple[str, ...]:
        return tuple(self._runtime.source.endings.next)

    # What a host may do, and what may befall it.

    def _of_host(self, name: str, host: Host) -> Iterator[Move]:
        kinds = {kind.resource_info.group_resource: kind for kind in self._world.kinds}
        is_cut_off, at = name in self._parted, {"host": name}
        for resource in () if is_cut_off else host.unlisted:
            if resource in kinds:
                act = partial(self._runtime.list, name, kinds[resource])
                yield Move("list", {**at, "kind": kinds[resource].gvk.kind}, act)
        for kind in host.manager_kinds:
            if self._held(name, kind) and not is_cut_off:
                yield self._delivering(name, kind)
            if self._may(name, "closed_watch") and self._watches(host, kind):
                yield self._turn("close watch", {**at, "kind": kind.gvk.kind}, "closed_watch")
        for controller in host.queues:
            yield from self._of_queue(name, host, controller)
            yield from self._of_work(name, host, controller)
        for controller, key in host.busy():
            yield from self._of_activity(name, controller, {"key": str(key)})
        yield from self._of_life(name, host)

    @staticmethod
    def _watches(host: Host, kind: Any) -> bool:
        stream = host.transport.streams.get(kind.resource_info.group_resource)
        return stream is not None and not stream.is_closed and kind.resource_info.group_resource not in host.unlisted

    def _of_queue(self, name: str, host: Host, controller: str) -> Iterator[Move]:
        if name in self._stopping:
            return
        queue, at = host.queue(controller), {"host": name, "controller": controller}
        if len(queue) and name in self.player.acting:
            yield Move("start", at, partial(self._runtime.begin, name, controller))
        for key in sorted(queue.timers):
            act = partial(self._runtime.fire, name, controller, key, is_scheduled=False)
            yield Move("timer", {**at, "key": str(key)}, act)
        for key in sorted(queue.scheduled):
            act = partial(self._runtime.fire, name, controller, key, is_scheduled=True)
            yield Move("timer", {**at, "key": str(key)}, act)

    def _of_work(self, name: str, host: Host, controller: str) -> Iterator[Move]:
        """Background work that begins or goes on."""
        declared = next(one for one in self._world.controllers if one.name == controller)
        limit = min(self._world.bounds.background, declared.background_limit)
        free = [place for place in range(limit) if not host.background.is_at_place(controller, place)]
        if free and name not in self._stopping:
            yield self._turn("background", {"host": name, "controller": controller, "place": free[0]})
        for place in range(limit):
            if host.background.is_at_place(controller, place):
                yield from self._of_activity(name, controller, {"place": place})

    def _of_life(self, name: str, host: Host) -> Iterator[Move]:
        at = {"host": name}
        if self._may(name, "crash"):
            yield self._turn("crash", at, "crash", partial(self._forget, name))
        if self._may(name, "stop") and name not in self._stopping:
            yield self._turn("stop", at, "stop", partial(self._stopping.add, name))
        if name in self._stopping and not host.busy() and all(map(host.background.is_still, host.queues)):
            yield self._turn("stopped", at, then=partial(self._forget, name))
        if self._may(name, "partition") and name not in self._parted:
            yield self._turn("cut off", at, "partition", partial(self._parted.add, name))
        if name in self._parted:
            yield self._turn("heal", at, then=partial(self._parted.discard, name))
        if self._world.resync and not host.unlisted:
            for controller in host.queues:
                yield self._turn("resync", {**at, "controller": controller})
        if self._world.election:
            led = self.player.leaders(name)
            if self._may(name, "leader_change") and name not in led:
                yield self._turn("new leader", at, "leader_change")
            if name in led[:-1]:
                yield self._turn("leadership lost", at, then=partial(self._forget, name))
        for number in range(self.player.late(name)):
            yield self._turn("late request", {**at, "chosen": [number]})
        for number in range(self.player.late_calls(name)):
            yield self._turn("late call", {**at, "chosen": [number]})

    def _forget(self, name: str) -> None:
        self._stopping.discard(name)
        self._cancelled = {each for each in self._cancelled if each[0] != name}

    # What a reconcile or background work may do, and what may befall it.

    def _of_activity(self, name: str, controller: str, who: dict[str, Any]) -> Iterator[Move]:
        effect = self._asks(name, controller, who)
        if effect is None:
            return
        given: dict[str, Any] = {"host": name, "controller": controller, **who}
        for chosen in self._parts(name, controller, who, effect):
            yield self._turn("background" if "place" in who else "go on", {**given, **chosen})
        if isinstance(effect, Gather):
            return
        for fault, action, chosen in self._faults(name, effect):
            then = partial(self._forget, name) if fault == "late_request" else _nothing
            yield self._turn(action, {**given, **chosen}, fault, then)
        yield from self._cancelling(name, controller, who, effect)

    def _asks(self, name: str, controller: str, who: dict[str, Any]) -> Effect[Any] | None:
        try:
            return self._runtime.asks(name, controller, who["place"] if "place" in who else key_of(who["key"]))
        except (Departed, KeyError):
            return None

    def _parts(
        self, name: str, controller: str, who: dict[str, Any], effect: Effect[Any]
    ) -> Iterator[dict[str, list[int]]]:
        """Return which of several effects that were asked for together goes on."""
        if not isinstance(effect, Gather):
            yield {}
            return
        host = self._runtime.host(name)
        worker = host.holder(controller, who["place"] if "place" in who else key_of(who["key"]))
        waiting = [part.part for part in host.parts.waiting if part.whole == worker]
        for number in waiting or range(len(effect.effects)):
            yield {"chosen": [number]}

    def _faults(self, name: str, effect: Effect[Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Faults, the steps by which they strike what is asked for, and what is chosen in them."""
        if isinstance(effect, Call):
            yield from ((fault, action, {}) for fault, action in CALL_FAULTS.items() if self._may(name, fault))
            return
        if name in self._parted:
            return
        reads = isinstance(effect, Get | List) and not effect.is_cached
        if is_write(effect):
            yield from ((fault, action, {}) for fault, action in LOSSES.items() if self._may(name, fault))
            if self._may(name, "repeated"):
                yield "repeated", "repeated", {}
                yield "repeated", "repeated later", {}
        elif reads and self._may(name, "lost_request"):
            yield "lost_request", "request lost", {}
        if (reads or is_write(effect)) and self._may(name, "refusal"):
            for code in REFUSALS:
                if is_write(effect) or code != 422:
                    yield "refusal", "refused", {"chosen": [code]}

    def _cancelling(self, name: str, controller: str, who: dict[str, Any], effect: Effect[Any]) -> Iterator[Move]:
        """The time of a reconcile is over, or its process stops."""
        place = name, controller, who.get("place", who.get("key"))
        declared = next(one for one in self._world.controllers if one.name == controller)
        waits = (
            is_write(effect) or isinstance(effect, Call) or (isinstance(effect, Get | List) and not effect.is_cached)
        )
        if place in self._cancelled or not waits:
            return
        ways: list[tuple[str, str, tuple[str, ...]]] = []
        if self._world.times_out(declared) and "key" in who and self._may(name, "timeout"):
            ways.append(("timeout", "timeout", ("unsent", "done", "late")))
        if name in self._stopping:
            ways.append(("cancel", "", ("unsent", "done")))
        given = {"host": name, "controller": controller, **who}
        for action, fault, fates in ways:
            for fate in fates if is_write(effect) else fates[:2] if isinstance(effect, Call) else ("unsent",):
                yield self._turn(action, {**given, "chosen": [fate]}, fault, partial(self._was_cancelled, place, who))

    def _was_cancelled(self, place: tuple[str, str, Any], who: dict[str, Any]) -> None:
        """Note a cancellation, which comes once; what the work does after it is its own."""
        if self._asks(place[0], place[1], who) is not None:
            self._cancelled.add(place)

    def _may(self, host: str, fault: str) -> bool:
        place, _ = self._left[host].get(fault, ("", 0))
        return self._budget.get(place, 0) > 0

    # Users, rivals, the clock, outside systems.

    def _of_users(self) -> Iterator[Move]:
        for user in self._world.users:
            left = self._users[user.label]
            total = len(user.steps) if isinstance(user, Script) else user.times
            for place, act, arguments, patch in steps_of(user):
                is_turn = place == total - left if isinstance(user, Script) else left > 0
                if is_turn and act.when is None:
                    send = sending(self._runtime.client, act, patch)
                    yield Move(act_name(act), dict(arguments), self._acting(user.label, send))
        if self._rivals() > 0:
            for kind in self._world.faults.conflict_kinds or self._watched():
                yield Move("rival", {"kind": kind.gvk.kind}, self._rival(kind))

    def _acting(self, label: str, send: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[None]]:
        async def act() -> None:
            before = self._runtime.cluster.store.revision
            await send()
            await self._runtime.quiet()
            if self._runtime.cluster.store.revision == before:
                raise Departed("nothing changed, so nobody did anything")
            self._users[label] -= 1

        return act

    def _watched(self) -> list[Any]:
        return list(dict.fromkeys(kind for one in self._world.controllers for kind in one.kinds))

    def _rivals(self) -> int:
        return self._world.faults.conflict - self._happened.get(("rival", ""), 0)

    def _rival(self, kind: Any) -> Callable[[], Awaitable[None]]:
        async def write() -> None:
            found = await self._runtime.client.list(kind)
            if not found:
                raise Departed("there is nothing to write")
            chosen = self._chance.choice(found)
            count = int(chosen.metadata.annotations.get(RIVAL, "0")) + 1
            body: Any = {"metadata": {"annotations": {RIVAL: str(count)}}}
            await self._runtime.client.patch(kind, chosen.key, body)
            await self._runtime.quiet()
            self._count("rival", "")

        return write

    def _of_others(self) -> Iterator[Move]:
        if len(self._world.clock) > 1:
            yield self._turn("tick", {})
        for external in self._externals.values():
            for name, how in happenings_of(type(external.model)):
                done = self._happened.get((external.name, name), 0)
                if how.times is None or done < how.times:
                    yield from self._happening(external, name)

    def _happening(self, external: PlayedExternal, event: str) -> Iterator[Move]:
        after = copy.deepcopy(external.model)
        getattr(after, event)()
        if Kept(after) != Kept(external.model):
            yield self._turn(
                "outside",
                {"external": external.name, "event": event},
                then=partial(self._count, external.name, event),
            )

    def _count(self, who: str, what: str) -> None:
        self._happened[who, what] = self._happened.get((who, what), 0) + 1


def _budgets(world: World, host: str) -> dict[str, tuple[str, int]]:
    """Return how often each fault may strike a host, with the name of the budget that this uses up."""
    return {
        name: (name, each) if isinstance(each, int) else (f"{name} of {host}", each.get(host, 0))
        for name, each in world.budgets_of(host).items()
    }


__all__ = ["Wandered", "wander", "wander_only"]
