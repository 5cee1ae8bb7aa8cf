"""A controller's volatile memory in a world: the production state maps, kept in one slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError
from attractor.check.trace import plain
from attractor.check.values.snapshot import KNOWN, Unfreezable, copied, freeze
from attractor.runtime.toolkit.statemap import MapState
from attractor.runtime.worker.performer import Memory

if TYPE_CHECKING:
    from collections.abc import Hashable


class Kept:
    """A value inside a state: compared by content, handed out as a copy."""

    __slots__ = ("_hash", "_identity", "held")

    def __init__(self, value: Any) -> None:
        try:
            self._identity: Hashable = freeze(value)
            self.held = copied(value)
            """The value itself; nobody may change it."""
        except Unfreezable as problem:
            raise SpecError(
                f"a {type(value).__name__} is to be kept in a state, but {problem.told}; use {KNOWN}"
            ) from None
        self._hash = hash(self._identity)

    @property
    def value(self) -> Any:
        """A copy of the caller's own."""
        return copied(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and self._identity == other._identity

    def __hash__(self) -> int:
        return self._hash

    def __plain__(self) -> Any:
        return plain(self.held)


def loaded(state: tuple[Any, ...]) -> Memory:
    """The memory that a state holds."""
    memory = Memory()
    for name, entries, deferred in state:
        kept = tuple((key, identity.value, value.value) for key, identity, value in entries)
        queued = tuple((key, tuple(each.value for each in operations)) for key, operations in deferred)
        memory.slot(name).restore(MapState(kept, queued))
    return memory


def saved(memory: Memory) -> tuple[Any, ...]:
    """The memory as part of a state; what is empty is not there."""
    found = []
    for name, states in sorted(memory.slots.items()):
        state = states.state()
        if state.entries or state.deferred:
            entries = tuple((key, Kept(identity), Kept(value)) for key, identity, value in state.entries)
            deferred = tuple((key, tuple(Kept(each) for each in queued)) for key, queued in state.deferred)
            found.append((name, entries, deferred))
    return tuple(found)
