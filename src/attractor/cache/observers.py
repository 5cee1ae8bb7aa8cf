"""Several caches that observe the writes of one client: each hears of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.client import Client, EncodedObject, WriteObserver
    from attractor.k8s.resource_info import ResourceInfo
    from attractor.objects.gvk import Key


def observe(client: Client, observer: WriteObserver) -> None:
    """Let an observer hear of a client's writes, beside those who do already."""
    known = client.observer
    if known is None:
        client.observer = observer
    elif known is not observer and not (isinstance(known, Observers) and observer in known.all):
        client.observer = Observers((*(known.all if isinstance(known, Observers) else (known,)), observer))


def leave(client: Client, observer: WriteObserver) -> None:
    """Let an observer hear nothing more."""
    known = client.observer
    if isinstance(known, Observers):
        others = tuple(one for one in known.all if one is not observer)
        client.observer = others[0] if len(others) == 1 else Observers(others)
    elif known is observer:
        client.observer = None


class Observers:
    """Tells each of them what a ``WriteObserver`` is told."""

    def __init__(self, everyone: tuple[WriteObserver, ...]) -> None:
        self.all = everyone

    def sending(self, info: ResourceInfo, key: Key) -> None:
        """A write is about to be sent."""
        for one in self.all:
            one.sending(info, key)

    def settled(self, info: ResourceInfo, key: Key) -> None:
        """The write was answered, or failed."""
        for one in self.all:
            one.settled(info, key)

    def wrote(self, info: ResourceInfo, written: EncodedObject, *, is_new: bool = False) -> None:
        """The server stored this object."""
        for one in self.all:
            one.wrote(info, written, is_new=is_new)

    def deleted(self, info: ResourceInfo, key: Key, uid: str) -> None:
        """The server removed the object."""
        for one in self.all:
            one.deleted(info, key, uid)

    def unsure(self, info: ResourceInfo, key: Key, *, may_happen: bool = False) -> None:
        """Note that the server's state of an object is not known."""
        for one in self.all:
            one.unsure(info, key, may_happen=may_happen)
