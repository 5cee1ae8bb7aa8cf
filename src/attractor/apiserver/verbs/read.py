"""Get and list: what a snapshot shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from attractor.apiserver.request.continue_token import Continue
from attractor.apiserver.request.options import no_version
from attractor.apiserver.response import ListBody, LongListBody, ObjectBody, Response, run_through, with_version
from attractor.objects.errors import ApiError, BadRequest, Gone, Timeout
from attractor.objects.fields import FieldSelector, FieldSelectorError
from attractor.objects.labels import LabelSelector, SelectorError
from attractor.objects.numbers import saturated
from attractor.store.contract import Compacted, FutureRevision

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.caller import ListOptions
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Entry, Snapshot


PIECE = 128
"""Objects between two pauses of a long list: about half a millisecond's work. Shorter lists are made at once."""


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Metadata


_labels_of = msgspec.json.Decoder(_Labelled).decode


def get(call: Call) -> Response:
    """The named object."""
    if call.op.list.resource_version:
        _require_seen(call.op.list.resource_version, call.txn.revision)
    entry = call.existing()
    return Response(200, ObjectBody(call.kind.served(entry.value), entry.revision))


def _require_seen(version: str, current: int) -> None:
    """Refuse to read at a version that is none, or that does not exist yet."""
    if why := no_version(version):
        raise ApiError(why)
    wanted = saturated(version)
    if wanted > current:
        raise too_large(wanted, current)


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


class Page(NamedTuple):
    """One page of a list: its entries, and the body that holds them."""

    entries: Sequence[Entry]
    body: ListBody


def list_objects(call: Call) -> Response:
    """The objects of a collection, or of one page of it, all from one snapshot; a long list is made in pieces."""
    entries, steps = _listed(call)
    if len(entries) <= PIECE or call.kind.remote:  # whoever is asked outside is asked now
        return Response(200, run_through(steps).body)
    return Response(200, LongListBody(_bodies(steps)))


def list_page(call: Call) -> Page:
    """The page of a collection that the options ask for."""
    return run_through(_listed(call)[1])


def _bodies(steps: Generator[None, None, Page]) -> Generator[None, None, ListBody]:
    return (yield from steps).body


def _listed(call: Call) -> tuple[Sequence[Entry], Generator[None, None, Page]]:
    """The entries that a list looks at, and how it comes from them, with a pause every ``PIECE`` of them."""
    op, kind = call.op, call.kind
    options, prefix = op.list, kind.prefix(op.namespace)
    labels, fields = selectors(kind, options)
    snapshot, after = _start(call, prefix)
    limit = _page_limit(options)
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
    return entries, _page(kind, entries, labels, fields, limit, snapshot, prefix)


def _page(
    kind: Kind,
    entries: Sequence[Entry],
    labels: LabelSelector | None,
    fields: FieldSelector | None,
    limit: int,
    snapshot: Snapshot,
    prefix: str,
) -> Generator[None, None, Page]:
    last = entries[-1].key if entries else ""
    if labels is not None or fields is not None:
        matched: list[Entry] = []
        for start in range(0, len(entries), PIECE):
            piece = entries[start : start + PIECE]
            matched += [entry for entry in piece if matching(kind, entry.value, labels, fields)]
            yield
        entries = matched
    token, remaining = "" if kind.is_custom else None, None
    if limit and len(entries) >= limit and last > entries[limit - 1].key:  # what follows need not match
        entries = entries[:limit]
        token = Continue(snapshot.revision, entries[-1].key).encode(prefix)
        if labels is None and fields is None:
            remaining = snapshot.count(prefix, after=entries[-1].key)
    items: list[bytes] = []
    for start in range(0, len(entries), PIECE):
        piece = entries[start : start + PIECE]
        items += [with_version(kind.list_item(entry.value), entry.revision) for entry in piece]
        yield
    body = ListBody(kind.list_kind, kind.gvk.api_version, snapshot.revision, items, token, remaining)
    return Page(entries, body)


def _page_limit(options: ListOptions) -> int:
    """How many items a page has; a list at version 0 comes from Kubernetes' cache, which knows no pages."""
    return 0 if options.resource_version == "0" else options.limit


def _start(call: Call, prefix: str) -> tuple[Snapshot, str]:
    """The snapshot that a list reads, and the key it starts after."""
    options, txn = call.op.list, call.txn
    if options.continue_token:
        where = Continue.decode(options.continue_token, prefix)
        if options.resource_version and options.resource_version != "0":
            raise BadRequest("specifying resource version is not allowed when using continue")
        if where.revision < 0:
            return txn.snapshot, where.after
        try:
            return txn.at(where.revision), where.after
        except FutureRevision:
            raise too_large(where.revision, txn.revision, is_worth_waiting=False) from None
        except Compacted:
            raise _expired_token(Continue(-1, where.after).encode(prefix)) from None
    wanted = saturated(options.resource_version or "0")
    match = options.resource_version_match
    is_exact = match == "Exact" or bool(wanted and options.limit and not match)
    if wanted > txn.revision:
        raise too_large(wanted, txn.revision, is_worth_waiting=not is_exact)
    if is_exact:
        try:
            return txn.at(wanted), ""
        except Compacted:
            raise Gone("The resourceVersion for the provided list is too old.") from None
    return txn.snapshot, ""


def too_large(wanted: int, current: int, *, is_worth_waiting: bool = True) -> Timeout:
    """The answer for a version that does not exist yet; Kubernetes does not ask to come back for an exact one."""
    details: JsonObject = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        **({"retryAfterSeconds": 1} if is_worth_waiting else {}),
    }
    return Timeout(f"Timeout: Too large resource version: {wanted}, current: {current}", details=details)


def _expired_token(fresh: str) -> Gone:
    gone = Gone(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )
    gone.continue_token = fresh
    return gone
