"""Expiry of own-write markers that no event of a watch need ever end: deletions and doubts.

An own deletion is told by its event, unless a selector hides the object from the view; a write that was refused puts an
object in doubt, which a read clears up, unless nobody reads it. Both would be kept until the next list, one for each
object that ever was. But an object that was created by a request sent after them has a version that came after them:
once the watch has passed that version it has told all that they guard against. Other writes prove nothing, for one that
changes nothing is answered with the version that the object had before.

Worked example: the deletion of ``a`` is answered. Then ``b`` is created, at version 9. The watch passes 9: whatever is
known of ``a`` is now newer than its deletion, and nothing of it needs to be remembered.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attractor.cache.own_writes import Floor
    from attractor.objects.gvk import Key

STALE = 64
"""So many entries of floors that are gone are left where they are; of more, at most as many as there are floors."""


class Settling:
    """Markers that wait for the watch to pass some later creation, and those creations."""

    def __init__(self) -> None:
        self._noted: OrderedDict[Key, int] = OrderedDict()
        """Objects with such a floor, and its order; the oldest first."""
        self._later: deque[tuple[int, int]] = deque()
        """Versions of own creations, and the order before which everything had been answered when they were sent."""

    def __len__(self) -> int:
        return len(self._noted) + len(self._later)

    def note(self, key: Key, order: int, floors: Mapping[Key, Floor]) -> None:
        """An object has got a floor that a later creation settles."""
        self._noted.pop(key, None)
        self._noted[key] = order
        if len(self._noted) > 2 * len(floors) + STALE:
            live = ((at, was) for at, was in self._noted.items() if _order(floors.get(at)) == was)
            self._noted = OrderedDict(live)

    def has(self, key: Key, order: int) -> bool:
        """Return whether this very floor of an object was noted."""
        return self._noted.get(key) == order

    def created(self, version: str, since: int) -> None:
        """An object was created by this process; all that came before ``since`` had been answered when it was sent."""
        if self._noted and since and version.isdigit():
            self._later.append((int(version), since))

    def passed(self, version: str) -> Iterator[tuple[Key, int]]:
        """The watch has told everything up to a version: the floors that are history, each by its order."""
        until = 0
        while self._later and version.isdigit() and self._later[0][0] <= int(version):
            until = max(until, self._later.popleft()[1])
        while self._noted and next(iter(self._noted.values())) <= until:
            yield self._noted.popitem(last=False)

    def begin(self) -> None:
        """A list has come: versions from before it may be another server's."""
        self._later.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._noted.clear()
        self._later.clear()


def _order(floor: Floor | None) -> int:
    return -1 if floor is None else floor.order
