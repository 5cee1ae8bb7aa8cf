"""``Turn``: one step of a schedule, and how it is taken in a directed runtime.

A turn is a step of a world without the world: its action and arguments, and what only the world knows (the request that
a user sends, the object that garbage collection takes, the watches that fall too far behind). It can be written down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from attractor.check.world.notes import Closed, Operated
from attractor.check.world.worker import is_write
from attractor.client import ClientRequest
from attractor.client.transport import JSON
from attractor.objects.gvk import Key
from attractor.runtime.effects import Call, Gather, Get, List
from attractor.testing.directed import Departed, DirectedRuntime, Outcome, Performed
from attractor.testing.replaying.users import Users

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attractor.check.world.account import Account
    from attractor.check.world.world import World
    from attractor.objects.resource import Resource
    from attractor.testing.replaying.outside import PlayedExternal

OUTSIDERS = ("create", "edit", "delete", "rival")
_OUTCOMES: dict[str, Outcome] = {
    "go on": "answered",
    "request lost": "request lost",
    "delayed": "request lost",
    "answer lost": "answer lost",
    "repeated": "repeated",
    "repeated later": "answered",
    "call failed": "answered",
    "call unanswered": "answered",
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
    collects: str = ""
    """What garbage collection takes: ``configmaps default/a-1``."""
    closes: tuple[str, ...] = ()
    """Watches that fall too far behind in this step: host and kind, as in ``host1/ConfigMap``."""
    uids: tuple[str, ...] = ()
    """The uids of objects that come to be in this step."""

    def __str__(self) -> str:
        given = " ".join(str(each) for name, each in self.arguments.items() if name != "chosen")
        return f"{self.action} {given}".strip()


def turn_of(account: Account) -> Turn:
    """The step that an account tells of."""
    operated = [note.target for note in account.notes if isinstance(note, Operated)]
    return Turn(
        account.action,
        account.arguments,
        request=account.request if account.action in OUTSIDERS else None,
        collects=operated[0] if operated else "",
        closes=tuple(note.watch for note in account.notes if isinstance(note, Closed)),
        uids=tuple(
            change.after["metadata"]["uid"]
            for change in account.changes
            if change.slot.startswith("object[") and isinstance(change.after, dict) and not change.before
        ),
    )


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
        self._cut_off: set[str] = set()
        self._hosts = world.hosts
        self._leaders = {host: led for group in world.electing for led in [[group[0]]] for host in group}
        """For each host those that think they lead, of the hosts that run what it runs."""
        self._elects = world.election

    @property
    def acting(self) -> Sequence[str]:
        """The hosts whose workers may begin: all of them, or those that think they lead."""
        return [host for host in self._hosts if not self._elects or host in self._leaders[host]]

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
        performed = await self._act(turn)
        self.users.took(turn)
        for watch in turn.closes:
            host, _, kind = watch.partition("/")
            await self.runtime.close_watch(host, self.kind(kind))
        await self.begin()
        return performed

    async def _act(self, turn: Turn) -> Sequence[Performed]:
        given = turn.arguments
        host = given.get("host", "")
        if "key" in given:
            return await self._act_of_worker(turn, host, given["controller"], key_of(given["key"]))
        if turn.action == "background":
            is_cut_off = host in self._cut_off
            outcome: Outcome = "unreachable" if is_cut_off else "answered"
            performed = await self.runtime.work_on(host, given["controller"], int(given["place"]), outcome)
            return performed[:1] if is_cut_off else performed
        if "kind" in given and host:
            await self._act_of_cache(turn, host, self.kind(given["kind"]))
        elif turn.action == "late request":
            return [await self._arrive(host, given)]
        elif turn.request is not None:
            await self._send(turn.request)
        else:
            await self._act_of_others(turn, host)
        return ()

    async def _act_of_worker(self, turn: Turn, host: str, controller: str, key: Key) -> Sequence[Performed]:
        match turn.action:
            case "start":
                await self._begin(host, controller, key)
            case "timer":
                await self.runtime.fire(host, controller, key)
            case "crash while sending":
                await self._die_sending(turn, host, controller, key)
            case "stale read":
                return await self._read_older(turn, host, controller, key)
            case action if action in _OUTCOMES:
                return await self._go_on(turn, host, controller, key)
            case _:
                raise _unknown(turn)
        return ()

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
            case "cut off":
                self._cut_off.add(host)
            case "heal":
                self._cut_off.discard(host)
            case "new leader":
                self._leaders[host].append(host)
            case "resync":
                await self.runtime.resync(host, turn.arguments["controller"])
            case "collect garbage":
                resource, _, key = turn.collects.partition(" ")
                await self.runtime.collect(resource, key_of(key))
            case "tick":
                await self.runtime.tick()
            case "outside":
                await self._happen(turn.arguments["external"], turn.arguments["event"])
            case _:
                raise _unknown(turn)

    async def _begin(self, host: str, controller: str, key: Key) -> None:
        got = await self.runtime.begin(host, controller)
        if got != key:
            raise Departed(f"{controller} on {host} was to begin with {key}, and begins with {got}")

    async def _go_on(self, turn: Turn, host: str, controller: str, key: Key) -> Sequence[Performed]:
        effect = self.runtime.asks(host, controller, key)
        outcome: Outcome = "unreachable" if host in self._cut_off else _OUTCOMES[turn.action]
        if isinstance(effect, Call) and turn.action.startswith("call "):
            self._externals[effect.protocol].trouble = turn.action
        if isinstance(effect, Gather):
            if turn.action.startswith("call "):
                raise CannotReplay("a call that is asked for together with others cannot be made to fail yet")
            fits: Callable[[Any], bool] = is_write if turn.action != "go on" else _anything
            chosen = turn.arguments.get("chosen") or [None]
            performed = await self.runtime.go_on_with(host, controller, key, fits, chosen[0], outcome)
        else:
            performed = await self.runtime.go_on(host, controller, key, outcome)
        if turn.action in {"repeated later", "delayed"}:
            self._late[host] += [each.request for each in performed[-1:]]
        return performed[:1] if outcome == "unreachable" else performed

    async def _read_older(self, turn: Turn, host: str, controller: str, key: Key) -> Sequence[Performed]:
        effect = self.runtime.asks(host, controller, key)
        if not isinstance(effect, Get | List) or not isinstance(effect.kind, type):
            raise CannotReplay("only a read of a known kind that is asked for alone can be answered from the past yet")
        if host in self._cut_off:
            return (await self.runtime.go_on(host, controller, key, "unreachable"))[:1]
        with self.runtime.lagging(host, effect.kind, turn.arguments["chosen"][-1]):
            return await self.runtime.go_on(host, controller, key)

    async def _die_sending(self, turn: Turn, host: str, controller: str, key: Key) -> None:
        if isinstance(self.runtime.asks(host, controller, key), Gather):
            chosen = turn.arguments.get("chosen") or [None]
            self._late[host].append(await self.runtime.send_part(host, controller, key, is_write, chosen[0]))
        else:
            self._late[host].append(await self.runtime.send_only(host, controller, key))
        await self.runtime.crash(host)

    async def _arrive(self, host: str, given: Mapping[str, Any]) -> Performed:
        which, late = (given.get("chosen") or [0])[-1], self._late[host]
        if which >= len(late):
            raise Departed(f"{len(late)} requests of {host} are on their way, so there is none of number {which}")
        request = late.pop(which)
        return Performed(request, await self.runtime.send(request))

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


def _anything(_: Any) -> bool:
    return True


def _unknown(turn: Turn) -> CannotReplay:
    return CannotReplay(f"the step `{turn}` cannot be replayed on the runtime: it is not known there")


def key_of(text: str) -> Key:
    """A key as it is printed."""
    namespace, slash, name = text.partition("/")
    return Key(namespace, name) if slash else Key("", namespace)
