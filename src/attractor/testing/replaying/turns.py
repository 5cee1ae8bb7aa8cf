"""``Turn``: one step of a schedule, and how it is taken in a directed runtime.

A turn is a step of a world without the world: its action and arguments, and what only the world knows (the request that
a user sends, the object that garbage collection takes, the watches that fall too far behind). It can be written down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from attractor.check.world.notes import Closed, Operated
from attractor.client import ClientRequest
from attractor.client.transport import JSON
from attractor.objects.gvk import Key
from attractor.testing.directed import Departed, DirectedRuntime, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.check.world.account import Account
    from attractor.objects.resource import Resource
    from attractor.testing.directed import Performed

OUTSIDERS = ("create", "edit", "delete", "rival")
_OUTCOMES: dict[str, Outcome] = {"go on": "answered", "request lost": "request lost", "answer lost": "answer lost"}


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

    def __init__(self, runtime: DirectedRuntime, kinds: Sequence[type[Resource]]) -> None:
        self.runtime = runtime
        self._kinds = {kind.gvk.kind: kind for kind in kinds}

    async def take(self, turn: Turn) -> Sequence[Performed]:
        """Make a step happen; answers the requests of a worker that it took.

        Raises ``Departed`` when it cannot happen, ``CannotReplay`` when nobody knows what it is.
        """
        self.runtime.source.write_down(turn.uids)
        performed = await self._act(turn)
        for watch in turn.closes:
            host, _, kind = watch.partition("/")
            await self.runtime.close_watch(host, self.kind(kind))
        return performed

    async def _act(self, turn: Turn) -> Sequence[Performed]:
        given, runtime = turn.arguments, self.runtime
        match turn.action:
            case "list":
                await runtime.list(given["host"], self.kind(given["kind"]))
            case "deliver":
                await runtime.deliver(given["host"], self.kind(given["kind"]))
            case "close watch":
                await runtime.close_watch(given["host"], self.kind(given["kind"]))
            case "crash":
                await runtime.crash(given["host"])
                await runtime.start(given["host"])
            case "start":
                await self._begin(given["host"], given["controller"], key_of(given["key"]))
            case "go on" | "request lost" | "answer lost":
                outcome = _OUTCOMES[turn.action]
                return await runtime.go_on(given["host"], given["controller"], key_of(given["key"]), outcome)
            case "timer":
                await runtime.fire(given["host"], given["controller"], key_of(given["key"]))
            case "collect garbage":
                resource, _, key = turn.collects.partition(" ")
                await runtime.collect(resource, key_of(key))
            case _ if turn.request is not None:
                await self._send(turn.request)
            case _:
                raise CannotReplay(f"the step `{turn}` cannot be replayed on the runtime: it is not known there")
        return ()

    async def _begin(self, host: str, controller: str, key: Key) -> None:
        got = await self.runtime.begin(host, controller)
        if got != key:
            raise Departed(f"{controller} on {host} was to begin with {key}, and begins with {got}")

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


def key_of(text: str) -> Key:
    """A key as it is printed."""
    namespace, slash, name = text.partition("/")
    return Key(namespace, name) if slash else Key("", namespace)
