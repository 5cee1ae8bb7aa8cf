"""Causes of reconciles: which events, timers, retries or sources made an object run; kept while somebody debugs.

A key waits once in the queue however many reasons it has, so several causes belong to one run. The first few are told
and the others counted: an object that everything concerns must not fill memory while it waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attractor.cache.handlers import InformerEvent
    from attractor.objects.gvk import Key

TOLD = 3
"""How many causes of one run are told by name."""
_VERBS = {"add": "appeared", "update": "changed", "delete": "is gone"}


class Causes:
    """Why each key that waits will run.

    >>> from attractor.objects.gvk import Key
    >>> causes = Causes()
    >>> causes.note(Key("default", "web"), "retry after Conflict")
    >>> causes.take(Key("default", "web"))
    'retry after Conflict'
    >>> causes.take(Key("default", "web"))
    'unknown'
    """

    def __init__(self) -> None:
        self._by_key: dict[Key, tuple[list[str], int]] = {}
        """The causes that are told, and how many more there were."""

    def note(self, key: Key, cause: str) -> None:
        """A key will run, also because of this."""
        told, others = self._by_key.get(key, ([], 0))
        if cause in told:
            return
        self._by_key[key] = ([*told, cause], others) if len(told) < TOLD else (told, others + 1)

    def note_event(self, key: Key, event: InformerEvent[Any], kind: str) -> None:
        """A key will run because of a change of an object of a kind."""
        verb = "was there" if event.is_initial else _VERBS[event.type]
        self.note(key, f"{kind} {event.key} {verb} at version {event.encoded.resource_version}")

    def take(self, key: Key) -> str:
        """All causes of a run that begins now; what is noted from here on belongs to the next one."""
        told, others = self._by_key.pop(key, (["unknown"], 0))
        return "; ".join([*told, f"{others} more"] if others else told)
