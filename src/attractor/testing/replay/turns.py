"""``Turn``: one step of a schedule, and how it is taken in a directed runtime.

A turn is a step of a world without the world: its action and arguments, and what only the world knows (the request that
a user sends, the object that garbage collection takes, the watches that fall too far behind). It can be written down.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from attractor.check.world.simulation.process.activity import is_write
from attractor.client import ClientRequest
from attractor.client.transport import JSON
from attractor.objects.gvk import Key
from attractor.runtime.effects import Call, Gather, Get, List
from attractor.testing.directed import Departed, DirectedRuntime, Outcome, Performed
from attractor.testing.replay.users import Users

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from attractor.check.report.story import Step
    from attractor.check.world.api.world import World
    from attractor.objects.resource import Resource
    from attractor.testing.replay.outside import PlayedExternal

OUTSIDERS = ("create", "edit", "delete", "rival")
_OUTCOMES: dict[str, Outcome] = {
    "go on": "answered",
    "background": "answered",
    "request lost": "request lost",
    "delayed": "request lost",
    "answer lost": "answer lost",
    "repeated": "repeated",
    "repeated later": "answered",
    "call failed": "answered",
    "call unanswered": "answered",
    "call delayed": "answered",
}
"""What becomes of the requests in a step of a worker."""


class CannotReplay(ValueError):
    """A schedule has a step that a directed runtime knows nothing of; the text names it."""


@dataclass(frozen=True)
class Turn:
    """One step."""

    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    request: Mapping[str, Any] | None = None
    """What a user or a rival sends: method, path, query, contentType, body."""
    collects: tuple[str, str, str] | None = None
    """What garbage collection takes: resource, namespace and name."""
    closes: tuple[tuple[str, str], ...] = ()
    """Watches that fall too far behind in this step: host and kind."""
    uids: tuple[str, ...] = ()
    """The uids of objects that come to be in this step."""
    endings: tuple[str, ...] = ()
    """The endings of the names that the server generates in this step."""

    def __str__(self) -> str:
        given = " ".join(str(each) for name, each in self.arguments.items() if name != "chosen")
        return f"{self.action} {given}".strip()


def turn_of(step: Step) -> Turn:
    """The turn that makes a step of a story happen."""
    took = step.operations[0] if step.operations else None
    return Turn(
        step.action,
        {**step.arguments, **({"chosen": list(step.chosen)} if step.chosen else {})},
        request=step.exchanges[-1].request if step.action in OUTSIDERS and step.exchanges else None,
        collects=None if took is None else (took.resource, took.namespace, took.name),
        closes=tuple((each.host, each.kind) for each in step.closed),
        endings=step.endings,
        uids=_new_uids(step),
    )


def _new_uids(step: Step) -> tuple[str, ...]:
    """The uids of the objects that come to be in a step: of those that requests were about, in the order of these."""
    found = [
        change.after["metadata"]["uid"]
        for change in step.changes
        if change.part.variable == "object" and isinstance(change.after, dict) and not change.before
    ]
    bodies = [each.response["body"] for each in step.exchanges if each.response and each.response["code"] == 201]
    about = [body["metadata"]["uid"] for body in bodies if "metadata" in body]
    return tuple(dict.fromkeys([*(uid for uid in about if uid in found), *found]))


class Player:
    """Takes turns in a directed runtime."""

    def __init__(self, runtime: DirectedRuntime, world: World, externals: Mapping[Any, PlayedExternal]) -> None:
        self.runtime = runtime
        self.users = Users(world)
        self._kinds = {kind.gvk.kind: kind for kind in world.kinds}
        self._externals = externals
        self._sources = [one.name for one in world.controllers if one.sources]
        self._late: dict[str, list[ClientRequest]] = {host: [] for host in world.hosts}
        """Requests of each host that reach the server some time, in the order in which they were sent."""
        self._late_calls: dict[str, list[Callable[[], Awaitable[Any]]]] = {host: [] for host in world.hosts}
        """Calls of each host that take effect some time."""
        self._cut_off: set[str] = set()
        self._hosts = world.hosts
        self._leaders = {host: led for group in world.electing for led in [[group[0]]] for host in group}
        """For each host those that think they lead, of the hosts that run what it runs."""
        self._elects = world.election
        self._cached = {one.name: {*one.kinds} - {*one.metadata_kinds} for one in world.controllers}
        """For each controller the kinds that it reads from a cache."""

    @property
    def acting(self) -> Sequence[str]:
        """The hosts whose workers may begin: all of them, or those that think they lead."""
        return [host for host in self._hosts if not self._elects or host in self._leaders[host]]

    def leaders(self, host: str) -> Sequence[str]:
        """Those that think they lead, of the hosts that run what this one runs; the one that does comes last."""
        return tuple(self._leaders[host])

    def late_calls(self, host: str) -> int:
        """Return how many calls of a host take effect some time."""
        return len(self._late_calls[host])

    def late(self, host: str) -> int:
        """Return how many requests of a host reach the server some time."""
        return len(self._late[host])

    async def begin(self) -> None:
        """Start and end hosts, so that those run which the outside wants."""
        for host in self._hosts:
            is_up = all(each.runs(host) for each in self._externals.values())
            if is_up and host not in self.runtime.hosts:
                await self.runtime.start(host)
            elif not is_up and host in self.runtime.hosts:
                await self.runtime.crash(host)

    async def take(self, turn: Turn) -> Sequence[Performed]:
        """Make a step happen; answers the requests of a worker that it took.

        Raises ``Departed`` when it cannot happen, ``CannotReplay`` when nobody knows what it is.
        """
        self.runtime.source.write_down(turn.uids)
        self.runtime.source.endings.write_down(turn.endings)
        performed = await self._act(turn)
        self.users.took(turn)
        for host, kind in turn.closes:
            await self.runtime.close_watch(host, self.kind(kind))
        await self.begin()
        return performed

    async def _act(self, turn: Turn) -> Sequence[Performed]:
        given = turn.arguments
        host = given.get("host", "")
        if "key" in given or "place" in given:
            who = key_of(given["key"]) if "key" in given else int(given["place"])
            return await self._act_of_worker(turn, host, given["controller"], who)
        if "kind" in given and host:
            await self._act_of_cache(turn, host, self.kind(given["kind"]))
        elif turn.action == "late request":
            return [await self._arrive(host, given)]
        elif turn.request is not None:
            await self._send(turn.request)
        else:
            await self._act_of_others(turn, host)
        return ()

    async def _act_of_worker(self, turn: Turn, host: str, controller: str, who: Key | int) -> Sequence[Performed]:
        match turn.action:
            case "start":
                await self._begin(host, controller, who)
            case "timer":
                assert isinstance(who, Key), "timers are for keys"
                is_scheduled = (turn.arguments.get("chosen") or [None])[-1]
                await self.runtime.fire(host, controller, who, is_scheduled=is_scheduled)
            case "background":
                return await self._work(turn, host, controller, who)
            case "crash while sending":
                await self._die_sending(turn, host, controller, who)
            case "stale read":
                return await self._read_older(turn, host, controller, who)
            case "timeout" | "cancel":
                return await self._cancel(turn, host, controller, who)
            case action if action in _OUTCOMES or action == "refused":
                return await self._go_on(turn, host, controller, who)
            case _:
                raise _unknown(turn)
        return ()

    async def _work(self, turn: Turn, host: str, controller: str, place: Key | int) -> Sequence[Performed]:
        """Background work begins, or goes on."""
        assert isinstance(place, int), "background work has places"
        if self.runtime.host(host).background.is_at_place(controller, place):
            return await self._go_on(turn, host, controller, place)
        return await self.runtime.work_on(host, controller, place)

    async def _act_of_cache(self, turn: Turn, host: str, kind: type[Resource]) -> None:
        match turn.action:
            case "list":
                await self.runtime.list(host, kind)
            case "deliver":
                await self.runtime.deliver(host, kind)
            case "stale list":
                with self.runtime.lagging(host, kind, turn.arguments["chosen"][-1]):
                    await self.runtime.list(host, kind)
            case "close watch":
                await self.runtime.close_watch(host, kind)
            case _:
                raise _unknown(turn)

    async def _act_of_others(self, turn: Turn, host: str) -> None:
        match turn.action:
            case "crash" | "leadership lost":
                if turn.action != "crash" and host in self._leaders[host]:
                    self._leaders[host].remove(host)
                await self.runtime.crash(host)
            case "stop":
                await self.runtime.stop(host)
            case "stopped":
                await self.runtime.crash(host)
            case "cut off":
                self._cut_off.add(host)
            case "heal":
                self._cut_off.discard(host)
            case "new leader":
                self._leaders[host].append(host)
            case "resync":
                await self.runtime.resync(host, turn.arguments["controller"])
            case "collect garbage" | "end namespace" if turn.collects is not None:
                resource, *key = turn.collects
                collect = self.runtime.collect if turn.action == "collect garbage" else self.runtime.end_namespace
                await collect(resource, Key(*key))
            case "late call":
                await self._take_effect(host, turn.arguments)
            case "tick":
                await self.runtime.tick()
            case "outside":
                await self._happen(turn.arguments["external"], turn.arguments["event"])
            case _:
                raise _unknown(turn)

    async def _begin(self, host: str, controller: str, key: Key | int) -> None:
        got = await self.runtime.begin(host, controller)
        if got != key:
            raise Departed(f"{controller} on {host} was to begin with {key}, and begins with {got}")

    async def _go_on(self, turn: Turn, host: str, controller: str, key: Key | int) -> Sequence[Performed]:
        effect = self.runtime.asks(host, controller, key)
        outcome: Outcome = "unreachable" if host in self._cut_off else _outcome(turn)
        calls = effect.effects if isinstance(effect, Gather) else (effect,)
        for each in calls if turn.action.startswith("call ") else ():
            if isinstance(each, Call):
                self._externals[each.protocol].trouble = turn.action
                self._externals[each.protocol].on_late = self._late_calls[host].append
        if isinstance(effect, Gather):
            fits = self._fitting(turn.action, controller)
            performed = await self.runtime.go_on_with(host, controller, key, fits, self._which(turn, effect), outcome)
        else:
            performed = await self.runtime.go_on(host, controller, key, outcome)
        for external in self._externals.values():
            external.trouble = ""
        if turn.action in {"repeated later", "delayed"}:
            self._late[host] += [each.request for each in performed[-1:]]
        return performed[:1] if outcome not in {"answered", "repeated"} else performed

    def _fitting(self, action: str, controller: str) -> Callable[[Any], bool]:
        """Return which of several effects a turn can be about, as in the world."""
        if action in {"go on", "background"}:
            return lambda _: True
        if action in {"refused", "request lost"}:
            return lambda effect: is_write(effect) or self._reads_server(controller, effect)
        if action.startswith("call "):
            return lambda effect: isinstance(effect, Call)
        return is_write

    def _reads_server(self, controller: str, effect: Any) -> bool:
        """Return whether an effect is a read that the cache does not answer."""
        if not isinstance(effect, Get | List):
            return False
        return not (effect.is_cached and effect.kind in self._cached[controller])

    @staticmethod
    def _which(turn: Turn, effect: Gather) -> int | None:
        """Return which of several effects is meant: the first choice, if there was one to make before others."""
        chosen = [each for each in turn.arguments.get("chosen") or () if isinstance(each, int)]
        if turn.action == "refused" and len(chosen) < 2:
            return None
        return chosen[0] if chosen and chosen[0] < len(effect.effects) else None

    async def _cancel(self, turn: Turn, host: str, controller: str, key: Key | int) -> Sequence[Performed]:
        """Cancel what is under way; each request is not sent, or carried out, or arrives some time."""
        chosen = [each for each in turn.arguments.get("chosen") or () if isinstance(each, str)]
        fates: list[str] = []
        """What becomes of each write."""
        for each in self.runtime.open_parts(host, controller, key):
            if isinstance(each, Call):
                if chosen and chosen.pop(0) == "done":
                    await self._call_unheard(host, each)
            elif is_write(each):
                fates += chosen[:1]
                del chosen[:1]
        sent = await self.runtime.cancel(host, controller, key, is_late=turn.action == "timeout")
        performed: list[Performed] = []
        for request in sent:
            fate = fates.pop(0) if fates and not request.is_read else "unsent"
            response = await self.runtime.send(request) if fate == "done" else None
            performed.append(Performed(request, response))
            if fate == "late":
                self._late[host].append(request)
        return performed

    async def _call_unheard(self, host: str, call: Call[Any]) -> None:
        """A call is carried out, and nobody waits for what comes of it."""
        with suppress(Exception):  # a refusal, too, is for nobody
            await self._externals[call.protocol].call(host, call.method, call.args, dict(call.keywords))

    async def _read_older(self, turn: Turn, host: str, controller: str, key: Key | int) -> Sequence[Performed]:
        effect = self.runtime.asks(host, controller, key)
        *which, by = turn.arguments["chosen"]
        parts = effect.effects if isinstance(effect, Gather) else (effect,)
        reads = [
            each for each in self.runtime.open_parts(host, controller, key) if self._reads_server(controller, each)
        ]
        read = parts[which[0]] if which else reads[0] if reads else None
        if not isinstance(read, Get | List) or not isinstance(read.kind, type):
            raise CannotReplay("only a read of a known kind can be answered from the past")
        outcome: Outcome = "unreachable" if host in self._cut_off else "answered"
        with self.runtime.lagging(host, read.kind, by):
            if isinstance(effect, Gather):
                fits = partial(self._reads_server, controller)
                performed = await self.runtime.go_on_with(
                    host, controller, key, fits, which[0] if which else None, outcome
                )
            else:
                performed = await self.runtime.go_on(host, controller, key, outcome)
        return performed[:1] if host in self._cut_off else performed

    async def _die_sending(self, turn: Turn, host: str, controller: str, key: Key | int) -> None:
        if isinstance(self.runtime.asks(host, controller, key), Gather):
            chosen = turn.arguments.get("chosen") or [None]
            self._late[host].append(await self.runtime.send_part(host, controller, key, is_write, chosen[0]))
        else:
            self._late[host].append(await self.runtime.send_only(host, controller, key))
        await self.runtime.crash(host)

    async def _arrive(self, host: str, given: Mapping[str, Any]) -> Performed:
        which, late = (given.get("chosen") or [0])[0], self._late[host]
        if which >= len(late):
            raise Departed(f"{len(late)} requests of {host} are on their way, so there is none of number {which}")
        request = late.pop(which)
        return Performed(request, await self.runtime.send(request))

    async def _take_effect(self, host: str, given: Mapping[str, Any]) -> None:
        which, late = (given.get("chosen") or [0])[-1], self._late_calls[host]
        if which >= len(late):
            raise Departed(f"{len(late)} calls of {host} are to take effect, so there is none of number {which}")
        with suppress(Exception):  # nobody waits for what a model answers, or raises
            await late.pop(which)()

    async def _happen(self, external: str, event: str) -> None:
        """An outside system does something by itself; sources hear of it."""
        keys = next(each for each in self._externals.values() if each.name == external).happen(event)
        for host in self.runtime.hosts.values():
            for queue in (queue for name, queue in host.queues.items() if name in self._sources):
                for key in keys:
                    queue.add(Key(*key))
        await self.runtime.quiet()

    async def _send(self, request: Mapping[str, Any]) -> None:
        body = request.get("body")
        sent = ClientRequest(
            request["method"],
            request["path"],
            tuple((name, value) for name, value in request.get("query", ())),
            orjson.dumps(body) if body is not None else b"",
            request.get("contentType", JSON),
        )
        answer = await self.runtime.send(sent)
        if answer.code >= 400:
            raise Departed(f"{sent.method} {sent.path} was to succeed, and is refused: {answer.body.decode()}")

    def kind(self, name: str) -> type[Resource]:
        """A kind by its name; raises ``CannotReplay``."""
        if name not in self._kinds:
            raise CannotReplay(f"the schedule names the kind {name}, which the world does not have")
        return self._kinds[name]


def _outcome(turn: Turn) -> Outcome:
    """Return the outcome of the requests in a turn of a worker."""
    if turn.action == "refused":
        refused: dict[int, Outcome] = {403: "refused 403", 422: "refused 422", 429: "refused 429", 500: "refused 500"}
        return refused[turn.arguments["chosen"][-1]]
    return _OUTCOMES[turn.action]


def _unknown(turn: Turn) -> CannotReplay:
    return CannotReplay(f"the step `{turn}` cannot be replayed on the runtime: it is not known there")


def key_of(text: str) -> Key:
    """A key as it is printed."""
    namespace, slash, name = text.partition("/")
    return Key(namespace, name) if slash else Key("", namespace)
