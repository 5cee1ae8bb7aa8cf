"""Get and list: what a snapshot shows."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from attractor.apiserver.response import ListBody, ObjectBody, Response, with_version
from attractor.objects.errors import BadRequest, Gone, Timeout
from attractor.objects.fields import FieldSelector, FieldSelectorError
from attractor.objects.labels import LabelSelector, SelectorError
from attractor.store.contract import Compacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.kinds import Kind
    from attractor.apiserver.operation import ListOptions
    from attractor.apiserver.verbs.call import Call
    from attractor.store.contract import Entry, Snapshot


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Metadata


_labels_of = msgspec.json.Decoder(_Labelled).decode


def get(call: Call) -> Response:
    """The named object."""
    entry = call.existing()
    return Response(200, ObjectBody(call.kind.served(entry.value), entry.revision))


class Continue(NamedTuple):
    """Where the next page starts: which snapshot, after which key."""

    revision: int
    after: str

    def encode(self) -> str:
        """An opaque token."""
        raw = orjson.dumps({"v": "meta.k8s.io/v1", "rv": self.revision, "start": self.after})
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    @classmethod
    def decode(cls, token: str, prefix: str) -> Continue:
        """Read a token that this server handed out for this collection."""
        try:
            raw = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            found = cls(int(raw["rv"]), str(raw["start"]))
        except (binascii.Error, ValueError, KeyError, TypeError) as error:
            raise BadRequest(f"continue key is not valid: {error}") from None
        if not found.after.startswith(prefix):
            raise BadRequest("continue key is not valid: it belongs to another collection")
        return found


def selectors(kind: Kind, options: ListOptions) -> tuple[LabelSelector | None, FieldSelector | None]:
    """The parsed selectors; None where everything matches."""
    try:
        labels = LabelSelector.parse(options.label_selector) if options.label_selector else None
        fields = FieldSelector.parse(options.field_selector) if options.field_selector else None
        return labels, fields.checked(kind.selectable) if fields is not None else None
    except (SelectorError, FieldSelectorError) as error:
        raise BadRequest(str(error)) from None


def matching(
    kind: Kind,
    value: bytes,
    labels: LabelSelector | None,
    fields: FieldSelector | None,
) -> bool:
    """Whether a stored object matches."""
    if labels is not None and not labels.matches(_labels_of(value).metadata.labels):
        return False
    if fields is None:
        return True
    if fields.is_about_identity:
        found = _labels_of(value).metadata
        return fields.matches({"metadata.name": found.name, "metadata.namespace": found.namespace}.__getitem__)
    return fields.matches_object(kind.decode(value), kind.selectable)


def list_objects(call: Call) -> Response:
    """The objects of a collection, or of one page of it, all from one snapshot."""
    op, kind = call.op, call.kind
    options, prefix = op.list, kind.prefix(op.namespace)
    labels, fields = selectors(kind, options)
    snapshot, after = _start(call, prefix)
    limit = options.limit
    exact_name = fields.exact_value("metadata.name") if fields is not None else None
    entries: Sequence[Entry]
    if exact_name is not None and (op.namespace or not kind.namespaced):
        found = snapshot.get(kind.key(op.namespace, exact_name))
        entries = [found] if found and found.key > after else []
    elif labels is None and fields is None:
        entries = snapshot.range(prefix, after=after, limit=limit + 1 if limit else 0)
    else:
        entries = snapshot.range(prefix, after=after)
    kind.prepare([entry.value for entry in entries] if kind.remote else ())
    items, last, more = _page(kind, entries, labels, fields, limit)
    token, remaining = "" if kind.is_custom else None, None
    if more:
        token = Continue(snapshot.revision, last).encode()
        if labels is None and fields is None:
            remaining = snapshot.count(prefix, after=last)
    body = ListBody(kind.list_kind, kind.gvk.api_version, snapshot.revision, items, token, remaining)
    return Response(200, body)


def _page(
    kind: Kind,
    entries: Sequence[Entry],
    labels: LabelSelector | None,
    fields: FieldSelector | None,
    limit: int,
) -> tuple[list[bytes], str, bool]:
    """Up to ``limit`` encoded items, the key of the last one, and whether there are more."""
    items: list[bytes] = []
    last = ""
    selective = labels is not None or fields is not None
    for entry in entries:
        if selective and not matching(kind, entry.value, labels, fields):
            continue
        if limit and len(items) == limit:
            return items, last, True
        items.append(with_version(kind.list_item(entry.value), entry.revision))
        last = entry.key
    return items, last, False


def _start(call: Call, prefix: str) -> tuple[Snapshot, str]:
    """The snapshot that a list reads, and the key it starts after."""
    options, txn = call.op.list, call.txn
    if options.continue_token:
        where = Continue.decode(options.continue_token, prefix)
        if options.resource_version and options.resource_version != "0":
            raise BadRequest("specifying resource version is not allowed when using continue")
        try:
            return txn.at(where.revision), where.after
        except Compacted:
            raise _expired_token() from None
    wanted = int(options.resource_version or 0)
    if wanted > txn.revision:
        raise too_large(wanted, txn.revision)
    if options.resource_version_match == "Exact":
        try:
            return txn.at(wanted), ""
        except Compacted:
            raise Gone(f"The provided resource version is too old: {wanted} ({txn.revision})") from None
    return txn.snapshot, ""


def too_large(wanted: int, current: int) -> Timeout:
    """The answer for a version that does not exist yet."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Timeout(
        f"Too large resource version: {wanted}, current: {current}",
        details={"causes": [cause], "retryAfterSeconds": 1},
    )


def _expired_token() -> Gone:
    return Gone(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
