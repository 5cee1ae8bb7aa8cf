"""Watch: from the store's events to a watcher's, for one collection and its selectors.

An object that starts to match is ADDED, one that stops is DELETED (as it was while it matched, at the version of the
change), whatever the store's event was. A sans-I/O core: drivers feed it batches and send what it answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from attractor.apiserver.response import with_version
from attractor.apiserver.verbs.read import matching, selectors, too_large
from attractor.objects.numbers import saturated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.operation import Operation
    from attractor.objects.errors import ApiError
    from attractor.objects.fields import FieldSelector
    from attractor.objects.json_types import JsonObject
    from attractor.objects.labels import LabelSelector
    from attractor.store.contract import Event, Snapshot

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchEvent(NamedTuple):
    """One watch event; ``object`` is encoded JSON."""

    type: str
    object: bytes

    def encode(self) -> bytes:
        """One line of a watch stream."""
        return b'{"type":"%s","object":%s}\n' % (self.type.encode(), self.object)


def error_event(error: ApiError) -> WatchEvent:
    """The last event of a watch that cannot go on."""
    return WatchEvent("ERROR", orjson.dumps(error.status()))


class Watch:
    """One watch: which keys, which objects, from where."""

    __slots__ = ("after", "bookmarks", "fields", "initial", "key", "kind", "labels", "marks_end", "prefix")

    def __init__(
        self,
        kind: Kind,
        prefix: str,
        labels: LabelSelector | None = None,
        fields: FieldSelector | None = None,
        *,
        after: int,
        initial: bool,
        bookmarks: bool,
        marks_end: bool,
        key: str | None = None,
    ) -> None:
        self.kind = kind
        self.prefix = prefix
        self.labels = labels
        self.fields = fields
        self.after = after
        """The revision after which events are wanted."""
        self.initial = initial
        """Whether the state at ``after`` comes first, as ADDED events."""
        self.bookmarks = bookmarks
        self.marks_end = marks_end
        """Whether a bookmark says that the initial events are over."""
        self.key = key
        """The only key that counts, where a name is asked for; others may begin like it."""

    @staticmethod
    def open(op: Operation, kind: Kind, snapshot: Snapshot) -> Watch:
        """Understand a watch request; raises ``ApiError``."""
        options = op.list
        labels, fields = selectors(kind, options)
        version = saturated(options.resource_version or "0")
        if version > snapshot.revision:
            raise too_large(version, snapshot.revision)
        is_told = options.send_initial_events or (version == 0 and not options.resource_version_match)
        key = _key(op, kind, fields)
        return Watch(
            kind=kind,
            prefix=kind.prefix(op.namespace) if key is None else key,
            key=key,
            labels=labels,
            fields=None if key is not None and fields is not None and len(fields.terms) == 1 else fields,
            after=snapshot.revision if is_told or version == 0 else version,
            initial=is_told,
            bookmarks=options.allow_bookmarks,
            marks_end=options.send_initial_events and options.allow_bookmarks,
        )

    def of(self, kind: Kind) -> Watch:
        """The same watch of another version of the kind, or with other conversions."""
        return Watch(
            kind,
            self.prefix,
            self.labels,
            self.fields,
            after=self.after,
            initial=self.initial,
            bookmarks=self.bookmarks,
            marks_end=self.marks_end,
            key=self.key,
        )

    def initial_events(self, snapshot: Snapshot) -> Iterator[WatchEvent]:
        """The initial events, if the watcher wants them."""
        if not self.initial:
            return
        entries = snapshot.range(self.prefix)
        self.kind.prepare([entry.value for entry in entries] if self.kind.remote else ())
        for entry in entries:
            if self.key in {None, entry.key} and self._matches(entry.value):
                yield WatchEvent("ADDED", with_version(self.kind.served(entry.value), entry.revision))
        if self.marks_end:
            yield self.bookmark(snapshot.revision, ends_initial=True)

    def translate(self, event: Event) -> WatchEvent | None:
        """The watch event of a change; None when it does not concern this watch."""
        if self.key is not None and event.key != self.key:
            return None
        now = event.value is not None and self._matches(event.value)
        before = event.previous is not None and self._matches(event.previous.value)
        if now and event.value is not None:
            return WatchEvent("MODIFIED" if before else "ADDED", self._versioned(event.value, event.revision))
        if before and event.previous is not None:
            return WatchEvent("DELETED", self._versioned(event.previous.value, event.revision))
        return None

    def translate_all(self, events: Sequence[Event]) -> list[WatchEvent]:
        """The watch events of several changes; what a webhook converts is converted together."""
        if self.kind.remote:
            before = [event.previous.value for event in events if event.previous is not None]
            self.kind.prepare([*before, *(event.value for event in events if event.value is not None)])
        return [told for told in map(self.translate, events) if told is not None]

    def bookmark(self, revision: int, *, ends_initial: bool = False) -> WatchEvent:
        """Nothing happened up to this revision."""
        metadata: JsonObject = {"resourceVersion": str(revision)}
        if ends_initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        gvk = self.kind.gvk
        return WatchEvent(
            "BOOKMARK", orjson.dumps({"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": metadata})
        )

    def _versioned(self, value: bytes, revision: int) -> bytes:
        return with_version(self.kind.served(value), revision)

    def _matches(self, value: bytes) -> bool:
        if self.labels is None and self.fields is None:
            return True
        return matching(self.kind, value, self.labels, self.fields)


def _key(op: Operation, kind: Kind, fields: FieldSelector | None) -> str | None:
    """The only key that may matter, if one name is asked for: such a watch hears of no other object."""
    name = fields.exact_value("metadata.name") if fields is not None else None
    return kind.key(op.namespace, name) if name and (op.namespace or not kind.namespaced) else None
