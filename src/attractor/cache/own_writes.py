"""Own-write markers of a view, as values; ``core`` says what follows from them.

A floor is what no read of an object may fall below: a write that was acknowledged, a deletion, or a write of which
nobody knows whether it happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from attractor.client.kinds import EncodedObject
    from attractor.objects.gvk import Key


class Wrote(NamedTuple):
    """This process wrote the object; None when it then no longer is in this view's scope."""

    object: EncodedObject | None
    uid: str
    version: str
    order: int
    """When the write was acknowledged, counted in this view's own steps."""


class Removed(NamedTuple):
    """This process deleted the object of that uid; ``before`` is the uid that the watch had told of by then."""

    uid: str
    before: str
    order: int


class Unsure(NamedTuple):
    """A write of this process may or may not have happened."""

    uid: str
    """An object that was there, and of which the watch has told neither that nor its end; empty when there is none."""
    is_contested: bool
    """Whether it is open if the watch will still tell of the end of an object that is known to have gone. Then it takes
    the version of an answer to know how long the watch tells of the past."""
    order: int


Floor: TypeAlias = Wrote | Removed | Unsure


class Question(NamedTuple):
    """Knowledge of an object at the moment the server was asked about it."""

    key: Key
    seen: EncodedObject | None
    doubt: Floor | None

    @property
    def wants_version(self) -> bool:
        """Return whether "there is none" is of use only with the version at which there was none."""
        return isinstance(self.doubt, Unsure) and self.doubt.is_contested


class InFlight(NamedTuple):
    """Own writes of one object that are under way, and what the server told of it meanwhile."""

    sent: int = 1
    overlapped: bool = False
    """Whether there were two at once, or a question: then their answers do not tell which one came last."""
    ended: frozenset[str] = frozenset()
    """The uids whose end was told."""
    was_listed: bool = False
    """Whether the collection was listed."""
    since: int = 0
    """How many steps the view had made when the first of them was sent."""
