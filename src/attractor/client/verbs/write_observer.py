"""Observers of this process's writes: how a cache learns of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from attractor.client.encoding.heads import Written, WrittenMeta, decode_written
from attractor.client.errors import GarbledAnswer, outcome_is_known
from attractor.client.kinds import EncodedObject
from attractor.client.verbs.requests import parsed
from attractor.objects.errors import AlreadyExists, ApiError, Conflict, NotFound
from attractor.objects.gvk import Key

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from attractor.k8s.resource_info import ResourceInfo


class WriteObserver(Protocol):
    """Is told what this process writes, before the writer goes on. Dry runs are not told.

    ``sending`` comes before a write of a known name, ``settled`` after it in any case, and between them what came of
    it: ``wrote``, ``deleted``, ``unsure``, or nothing when the server refused and our view of the object may be right.
    """

    def sending(self, info: ResourceInfo, key: Key) -> None:
        """A write is about to be sent."""
        ...

    def settled(self, info: ResourceInfo, key: Key) -> None:
        """The write was answered, or failed."""
        ...

    def wrote(self, info: ResourceInfo, written: EncodedObject, *, is_new: bool = False) -> None:
        """The server stored this object; ``is_new`` when it was created now.

        What changes nothing is stored as it was, at a version that may be old; what is new has a new one.
        """
        ...

    def deleted(self, info: ResourceInfo, key: Key, uid: str) -> None:
        """The server removed the object; ``uid`` is empty where the answer did not say."""
        ...

    def unsure(self, info: ResourceInfo, key: Key, *, may_happen: bool = False) -> None:
        """The object's state is not what it was thought to be, or no longer known: read it from the server.

        ``may_happen`` when the write was not answered, and may be carried out even later.
        """
        ...


class Telling:
    """Tells an observer that a write begins and ends, and of failures that put our view of the object in doubt.

    A write without a name (the server makes one) can concern nothing that is known.
    """

    __slots__ = ("_info", "_key", "_observer")

    def __init__(self, observer: WriteObserver, info: ResourceInfo, key: Key) -> None:
        self._observer, self._info, self._key = observer, info, key

    def __enter__(self) -> Self:
        if self._key.name:
            self._observer.sending(self._info, self._key)
        return self

    def wrote(self, data: bytes, *, is_new: bool) -> None:
        """The answer to a write. Removing the last finalizer of an object that is to be deleted removes the object."""
        meta = _answer(data).metadata or WrittenMeta()
        key = Key(meta.namespace, meta.name)
        if meta.deletion_timestamp and not _is_held(meta):
            self._observer.deleted(self._info, key, meta.uid)
        else:
            written = EncodedObject(key, meta.uid, meta.resource_version, data)
            self._observer.wrote(self._info, written, is_new=is_new)

    def deleted(self, data: bytes, uid: str) -> None:
        """The answer to a delete. An object that finalizers or a grace period still hold was written, not removed."""
        answer = _answer(data)
        if answer.kind == "Status" or answer.metadata is None:
            uid = uid or str((parsed(data).get("details") or {}).get("uid") or "")
            self._observer.deleted(self._info, self._key, uid)
            return
        meta = answer.metadata
        if meta.deletion_timestamp and _is_held(meta):
            key = Key(meta.namespace, meta.name)
            self._observer.wrote(self._info, EncodedObject(key, meta.uid, meta.resource_version, data))
        else:
            self._observer.deleted(self._info, self._key, meta.uid)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._key.name:
            return
        is_refused = isinstance(error, ApiError) and outcome_is_known(error)
        if error is not None and (not is_refused or isinstance(error, Conflict | AlreadyExists | NotFound)):
            self._observer.unsure(self._info, self._key, may_happen=not is_refused)
        self._observer.settled(self._info, self._key)


def _is_held(meta: WrittenMeta) -> bool:
    """Return whether finalizers or a grace period keep an object that is to be deleted."""
    return bool(meta.finalizers or meta.deletion_grace_period_seconds)


def _answer(data: bytes) -> Written:
    try:
        return decode_written(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise GarbledAnswer(f"the server's answer to a write makes no sense: {error}") from error
