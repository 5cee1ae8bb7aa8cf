"""Lanes of a story, and the messages between them, from the events of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.events import Called, Delivered, Ended, Operated, Performed, Requested
from attractor.check.report.messages import request_label, response_label
from attractor.check.report.story import Lane, Message
from attractor.runtime import effects
from attractor.runtime.effects import described

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attractor.check.events import StepEvent

SERVER = Lane("apiserver", "server", "API server")
CRASHES = ("crash", "crash while sending", "leadership lost", "stopped")
"""Steps after which a host begins anew."""
_ORDER: dict[str, int] = {"user": 0, "server": 1, "cache": 2, "worker": 3, "outside": 4, "system": 5}


class Lanes:
    """Everybody who acts or is spoken to in a run.

    Workers have no names in the model; here the lowest free number of a host takes a key.
    """

    def __init__(self) -> None:
        self._seen: dict[str, Lane] = {SERVER.id: SERVER}
        self._busy: dict[str, dict[tuple[str, str], int]] = {}
        """For each host the numbers of the workers that have a key, by controller and key."""

    def all(self) -> tuple[Lane, ...]:
        """Users, the server, caches and workers, what is outside, then machinery."""
        return tuple(sorted(self._seen.values(), key=lambda lane: (_ORDER[lane.kind], lane.host, lane.id)))

    def _known(self, lane: Lane) -> Lane:
        return self._seen.setdefault(lane.id, lane)

    def worker(self, host: str, controller: str, key: str) -> Lane:
        """The lane of the worker that has a key, or would take it."""
        busy = self._busy.setdefault(host, {})
        task = controller, key
        if task not in busy:
            busy[task] = next(number for number in range(len(busy) + 1) if number not in busy.values())
        name = f"{host} worker {busy[task]}"
        return self._known(Lane(name, "worker", name, host))

    def cache(self, host: str) -> Lane:
        """The lane of a host's cache."""
        return self._known(Lane(f"cache {host}", "cache", f"cache of {host}", host))

    def host(self, name: str) -> Lane:
        """The lane of a process."""
        return self._known(Lane(name, "system", name, name))

    def external(self, name: str) -> Lane:
        """The lane of an outside system."""
        return self._known(Lane(f"external {name}", "outside", name))

    def _system(self, name: str) -> Lane:
        return self._known(Lane(name, "system", name))

    def actor(self, action: str, arguments: Mapping[str, Any], events: Sequence[StepEvent]) -> Lane:
        """The lane that a step belongs to."""
        if "controller" in arguments:
            host: str = arguments["host"]
            if action in {"timer", "resync"}:
                return self._system(f"{action} {host}")
            if "place" in arguments:
                return self._system(f"background {host}")
            return self.worker(host, arguments["controller"], arguments["key"])
        if action == "outside":
            return self.external(arguments["external"])
        if action in {"list", "deliver", "close watch"}:
            return self.cache(arguments["host"])
        if "host" in arguments and action != "late request":
            return self.host(arguments["host"])
        if action in {"create", "edit", "delete"}:
            return self._known(Lane("user", "user", "user"))
        if action == "rival":
            return self._known(Lane("rival", "user", "rival"))
        return self._system(next((event.actor for event in events if isinstance(event, Operated)), action))

    def after(self, action: str, arguments: Mapping[str, Any], events: Sequence[StepEvent]) -> None:
        """Free the workers whose reconciles have ended or died."""
        for event in events:
            if isinstance(event, Ended):
                self._busy.get(event.host, {}).pop((event.controller, str(event.key)), None)
        if action in CRASHES:
            self._busy.pop(arguments["host"], None)
            self.host(arguments["host"])  # it is seen to crash

    def messages(self, actor: Lane, events: Sequence[StepEvent], sent_in: int | None) -> Iterator[Message]:
        """What went between lanes during a step; ``sent_in`` is the earlier step that sent what arrives in this one."""
        reads_cache = not any(isinstance(event, Requested) for event in events)
        for event in events:
            match event:
                case Requested(request=request, response=response):
                    is_lost = response is None
                    yield Message(actor.id, SERVER.id, request_label(request), is_lost=is_lost, sent_in=sent_in)
                    if response is not None:
                        is_lost = event.trouble == "answer lost"
                        yield Message(SERVER.id, actor.id, response_label(response), "answer", is_lost)
                case Delivered(host, kind, told):
                    label = f"{told.type} {kind.lower()} {told.key}"
                    yield Message(SERVER.id, self.cache(host).id, label, "event", sent_in=sent_in)
                case Called(external, method, args, _, trouble) if (outside := self.external(external)) != actor:
                    has_failed = trouble == "call failed"
                    yield Message(actor.id, outside.id, f"{method}{args}", "call", has_failed)
                    if not has_failed:
                        yield Message(outside.id, actor.id, "answer", "call", trouble is not None)
                case Performed(host=host, effect=effects.Get() | effects.List()) if reads_cache:
                    yield Message(self.cache(host).id, actor.id, described(event.effect), "answer")
                case Operated():
                    label = f"{event.verb} {event.resource} {event.namespace}/{event.name}"
                    yield Message(self._system(event.actor).id, SERVER.id, label, sent_in=sent_in)
