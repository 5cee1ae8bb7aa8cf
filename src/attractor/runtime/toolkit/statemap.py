"""``ObjectStateMap``: what a controller remembers about its objects, and about the outside entities behind them.

A state is found by two keys: the object's name, and the identity of the outside entity (a process id with its start
time, a container id). The contract:

- **Clones out.** What is borrowed is the caller's own; changing it changes nothing here.
- **Explicit updates in.** Only ``store``, ``update``, ``change_identity`` and ``delete`` change the map, and only the
  reconcile of that object calls them.
- **Deferred operations.** Anyone else queues an operation; the reconcile runs them first, in the order of queueing.
- **No dangling identity.** An identity leads to a state exactly while that state has it.
- **No ghosts.** Deleting a state drops its operations, so none reaches a successor of the same name. Work that was
  begun for an object may end when a successor has a state already: it names the identity that its operation is about,
  and then only a state with that identity gets it.

Worked example: ``store(a, s, "pid1")``; a watcher of processes sees pid1 exit, finds ``a`` by identity and calls
``defer(a, mark_exited)``; the reconcile of ``a`` calls ``run_deferred(a)`` and borrows a state that says "exited".
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from attractor.objects.gvk import Key

S = TypeVar("S")


class IdentityTaken(ValueError):
    """Another object has this outside identity already; the text names both."""


class _Entry(NamedTuple, Generic[S]):
    state: S
    identity: Hashable


class About(NamedTuple, Generic[S]):
    """An operation that is meant for one outside entity, and for no other state of the same object."""

    identity: Hashable
    operation: Callable[[S], S | None]


class MapState(NamedTuple, Generic[S]):
    """All that a map knows, as a value that can be kept and compared."""

    entries: tuple[tuple[Key, Hashable, S], ...]
    deferred: tuple[tuple[Key, tuple[About[S], ...]], ...]


class ObjectStateMap(Generic[S]):
    """A controller's memory of its objects, found by object key or by the identity of an outside entity.

    ``ctx.recall``, ``remember``, ``forget`` and ``defer`` are this map, seen from a reconcile.

    Guarantees: a borrowed state is a copy; only ``store``, ``update``, ``change_identity`` and ``delete`` change the
    map; deferred operations run in order; an identity leads to a state exactly while that state has it; deleting a
    state drops its deferred operations, so none reaches a successor of the same name.

    Args:
        clone: How states are copied.
    """

    def __init__(self, clone: Callable[[S], S] = copy.deepcopy) -> None:
        self._clone = clone
        self._entries: dict[Key, _Entry[S]] = {}
        self._owners: dict[Hashable, Key] = {}
        """Whose state has an identity; None is no identity."""
        self._deferred: dict[Key, list[About[S]]] = {}
        """What waits for each object; an operation about None is for whatever its state is about."""

    def check_invariants(self) -> None:
        """Raise ``AssertionError`` if an invariant does not hold; for tests."""
        held = {entry.identity: key for key, entry in self._entries.items() if entry.identity is not None}
        assert held == self._owners, "an identity dangles, or leads to another state"
        assert set(self._deferred) <= set(self._entries), "an operation waits for a state that is gone"
        assert all(self._deferred.values()), "an empty queue of operations is kept"

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[tuple[Key, S]]:
        """Every object with a clone of its state, as of the call."""
        return iter([(key, self._clone(entry.state)) for key, entry in self._entries.items()])

    def borrow(self, key: Key) -> S | None:
        """A copy of an object's state; ``None`` when there is none."""
        entry = self._entries.get(key)
        return None if entry is None else self._clone(entry.state)

    def borrow_by_identity(self, identity: Hashable) -> tuple[Key, S] | None:
        """The object that an outside entity belongs to, with a copy of its state; ``None`` when there is none."""
        key = self._owners.get(identity)
        return None if key is None else (key, self._clone(self._entries[key].state))

    def identity(self, key: Key) -> Hashable:
        """The outside identity of an object; ``None`` when there is none."""
        entry = self._entries.get(key)
        return None if entry is None else entry.identity

    def store(self, key: Key, state: S, identity: Hashable = None) -> None:
        """Keep a copy of a state, whatever was there before.

        Raises:
            IdentityTaken: Another object has this identity; nothing is changed.
        """
        owner = self._owners.get(identity) if identity is not None else None
        if owner is not None and owner != key:
            raise IdentityTaken(f"{identity!r} belongs to {owner} already and cannot be {key}'s too")
        before, made = self._entries.get(key), _Entry(self._clone(state), identity)
        if before is not None and before.identity is not None:
            del self._owners[before.identity]
        self._entries[key] = made
        if identity is not None:
            self._owners[identity] = key

    def update(self, key: Key, identity: Hashable, state: S) -> bool:
        """Replace a state that has this identity; returns ``False`` when there is none, or nothing changed."""
        entry = self._entries.get(key)
        if entry is None or entry.identity != identity or entry.state == state:
            return False
        self._entries[key] = _Entry(self._clone(state), identity)
        return True

    def change_identity(self, key: Key, before: Hashable, after: Hashable, state: S) -> bool:
        """Replace a state and its identity at once; returns ``False`` when it is missing or has another one."""
        entry = self._entries.get(key)
        if entry is None or entry.identity != before:
            return False
        self.store(key, state, after)
        return True

    def delete(self, key: Key) -> bool:
        """Drop a state with its identity and deferred operations; returns ``False`` when there is none."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        self._owners.pop(entry.identity, None)
        self._deferred.pop(key, None)
        return True

    def delete_by_identity(self, identity: Hashable) -> bool:
        """Drop the state that has this identity; returns ``False`` when there is none."""
        key = self._owners.get(identity)
        return key is not None and self.delete(key)

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self._owners.clear()
        self._deferred.clear()

    def state(self) -> MapState[S]:
        """The whole map as a value, sorted by key; for tests and for the checker."""
        entries = tuple(
            (key, self._entries[key].identity, self._clone(self._entries[key].state)) for key in sorted(self._entries)
        )
        return MapState(entries, tuple((key, tuple(self._deferred[key])) for key in sorted(self._deferred)))

    def restore(self, state: MapState[S]) -> None:
        """Become a map in a state that ``state`` returned."""
        self.clear()
        for key, identity, kept in state.entries:
            self.store(key, kept, identity)
        self._deferred = {key: list(queued) for key, queued in state.deferred}

    def defer(self, key: Key, operation: Callable[[S], S | None], identity: Hashable = None) -> bool:
        """Queue an operation for the next reconcile of an object; returns ``False`` when it has no state.

        Args:
            key: The object.
            operation: Gets the state, and changes it in place or returns a new one.
            identity: Only for a state with this identity: refused when another is there now, dropped when another is
                there then.
        """
        entry = self._entries.get(key)
        if entry is None or identity not in {None, entry.identity}:
            return False
        self._deferred.setdefault(key, []).append(About(identity, operation))
        return True

    def run_deferred(self, key: Key) -> int:
        """Run the operations that were queued for an object, in order; returns how many ran.

        An operation that raises leaves the state as it was, and the others still run. What an operation queues runs
        next time.

        Raises:
            ExceptionGroup: The errors of operations that failed.
        """
        errors: list[Exception] = []
        ran = 0
        for identity, operation in self._deferred.pop(key, []):
            entry = self._entries.get(key)
            if entry is None:
                break
            if identity not in {None, entry.identity}:
                continue
            ran += 1
            state = self._clone(entry.state)
            try:
                returned = operation(state)
            except Exception as error:
                errors.append(error)
                continue
            if self._entries.get(key) is entry:  # else the operation itself has replaced the state, or deleted it
                self._entries[key] = entry._replace(state=state if returned is None else returned)
        if errors:
            raise ExceptionGroup(f"deferred operations failed for {key}", errors)
        return ran
