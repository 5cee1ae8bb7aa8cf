"""Events of a watch: objects that were added, modified or deleted, and bookmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

import msgspec

if TYPE_CHECKING:
    from attractor.objects.gvk import Key

T = TypeVar("T")
EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class WatchEvent(msgspec.Struct, Generic[T], frozen=True):
    """One change of one object; a deleted object is shown as it last was, at the version of its deletion."""

    type: EventType
    object: T
    key: Key
    uid: str
    resource_version: str


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """Everything up to this version has been told; ``ends_initial`` marks the end of the initial events."""

    resource_version: str
    ends_initial: bool = False


Event: TypeAlias = WatchEvent[T] | Bookmark
