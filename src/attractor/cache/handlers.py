"""Events for handlers: typed, each with objects of the handler's own.

Objects are decoded when first looked at, separately for each handler, so that no handler can change what another one
sees, and a handler that only wants keys pays for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from attractor.cache.changes import Added, Deleted, Updated

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.cache.changes import Change
    from attractor.client.kinds import EncodedObject
    from attractor.objects.gvk import Key

T = TypeVar("T")


class InformerEvent(Generic[T]):
    """One change: ``type`` is add, update or delete."""

    def __init__(self, change: Change, decode: Callable[[EncodedObject], T]) -> None:
        self.change = change
        self._decode = decode
        self._object: T | None = None
        self._old: T | None = None

    @property
    def type(self) -> Literal["add", "update", "delete"]:
        """Return the type of the event."""
        match self.change:
            case Added():
                return "add"
            case Updated():
                return "update"
            case Deleted():
                return "delete"

    @property
    def is_initial(self) -> bool:
        """Return whether the object was there before the informer looked: news to us, but not new."""
        return isinstance(self.change, Added) and self.change.is_initial

    @property
    def encoded(self) -> EncodedObject:
        """The object as it is now, or as it last was, undecoded."""
        return self.change.new if isinstance(self.change, Updated) else self.change.object

    @property
    def key(self) -> Key:
        """Return the key of the object."""
        return self.encoded.key

    @property
    def object(self) -> T:
        """The object as it is now, or as it last was; the same one whenever it is asked for."""
        if self._object is None:
            self._object = self._decode(self.encoded)
        return self._object

    @property
    def old(self) -> T | None:
        """The object as it was before an update."""
        if self._old is None and isinstance(self.change, Updated):
            self._old = self._decode(self.change.old)
        return self._old

    def __repr__(self) -> str:
        return f"InformerEvent({self.type} {self.key} {self.encoded.resource_version})"
