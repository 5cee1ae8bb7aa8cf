"""Group commit: writes that go to etcd in one transaction, as if one after the other; pure.

Etcd compares everything at the beginning of a transaction. So a write joins a group only if what it compares is not
written by those before it in the group, and not compared with another revision: then what holds at the beginning holds
at its place, too. The compares of all are made once; most writes of a server compare the same namespace, and the same
policies that are not there::

    group = Group(Write({"ns/a": 3, "pods/x": 0}, puts pods/x))
    group.take(Write({"ns/a": 3, "pods/y": 0}, puts pods/y))    # True: compares ns/a, pods/x, pods/y; places 0 and 1
    group.take(Write({"pods/x": 0}, puts pods/x))               # False: pods/x is there by then

If anything does not hold, etcd writes nothing, and each write is sent on its own: no write fails because of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.store.etcd.layout import PLACES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.store.etcd.chain import Write

MAX_COMPARES = 100
"""Of a group, and of one write that is committed speculatively: etcd takes 128 in a transaction."""

MAX_PUTS = 100
"""Of a group: etcd takes 128 operations in a transaction."""

MAX_BYTES = 512 << 10
"""Values of a group: etcd takes 1.5 MiB in a request, and a larger write goes on its own."""


class Group:
    """One write, and those that go with it."""

    __slots__ = ("_filled", "_prefixes", "_size_bytes", "absent", "compares", "keys", "writes")

    def __init__(self, first: Write) -> None:
        self.writes: list[Write] = []
        self.compares: dict[str, int] = {}
        self.absent: set[str] = set()
        """Prefixes under which there must be no key at the beginning."""
        self.keys: set[str] = set()
        """What is written."""
        self._prefixes: tuple[str, ...] = ()
        """Those of ``absent``, for ``startswith``."""
        self._filled = False
        """Whether something is written under one of them: nobody joins who compares a prefix then."""
        self._size_bytes = 0
        self._add(first, first.compares())

    def take(self, write: Write) -> bool:
        """Let a write join at the next place, if it can."""
        compares = write.compares()
        if not self._has_room(write, compares) or not self._is_serial(write, compares):
            return False
        self._add(write, compares)
        return True

    def check_invariants(self) -> None:
        """What holds of a group: each write, at its place, sees what it compares."""
        before: set[str] = set()
        for write in self.writes:
            compares = write.compares()
            assert not before & compares.keys(), "a write compares what one before it in its group has written"
            assert all(self.compares[key] == compares[key] for key in compares), "a compare was lost"
            assert not any(key.startswith(tuple(write.change.absent)) for key in before), "a prefix is not empty"
            assert not before & write.change.puts.keys(), "a key is put twice"
            before |= write.change.puts.keys()
        assert before == self.keys, "keys are miscounted"
        assert len(self.writes) <= PLACES, "more writes than places"

    def _has_room(self, write: Write, compares: Mapping[str, int]) -> bool:
        if len(self.writes) == PLACES or not can_share(write) or not can_share(self.writes[0]):
            return False
        size_bytes = self._size_bytes + sum(map(len, write.change.puts.values()))
        added = sum(key not in self.compares for key in compares)
        absent = len(self.absent.union(write.change.absent))
        return (
            size_bytes <= MAX_BYTES
            and len(self.keys) + len(write.change.puts) <= MAX_PUTS
            and len(self.compares) + added + absent <= MAX_COMPARES
        )

    def _is_serial(self, write: Write, compares: Mapping[str, int]) -> bool:
        keys, known, change = self.keys, self.compares, write.change
        if not keys.isdisjoint(compares) or not keys.isdisjoint(change.puts):
            return False
        if any(known.get(key, revision) != revision for key, revision in compares.items()):
            return False
        if self._filled and change.absent:
            return False
        new = tuple([prefix for prefix in change.absent if prefix not in self.absent])
        return not new or not any(key.startswith(new) for key in keys)

    def _add(self, write: Write, compares: Mapping[str, int]) -> None:
        change = write.change
        self.writes.append(write)
        self.compares.update(compares)
        if not self.absent.issuperset(change.absent):
            self.absent.update(change.absent)
            self._prefixes = tuple(self.absent)
        self.keys.update(change.puts)
        self._filled = self._filled or any(key.startswith(self._prefixes) for key in change.puts)
        self._size_bytes += sum(map(len, change.puts.values()))


def can_share(write: Write) -> bool:
    """Whether a write can go with others: what is deleted leaves no value, which would tell its place."""
    return bool(write.change.puts) and not write.change.deletes
