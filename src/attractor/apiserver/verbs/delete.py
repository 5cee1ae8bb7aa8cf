"""Delete: at once, or by a mark that finalizers act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.response import JsonBody, ObjectBody, Response
from attractor.apiserver.transaction import Piece
from attractor.apiserver.verbs.read import list_page
from attractor.apiserver.verbs.update import is_finished, remove
from attractor.objects.errors import Conflict
from attractor.objects.gvk import GroupKind, GroupResource, GroupVersionKind
from attractor.objects.timestamps import format_time, parse_time

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.caller import DeleteOptions
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Entry

_OWN_DELETES = frozenset({GroupKind("", "Namespace"), GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")})
"""Kinds that are deleted by code of their own, which looks at preconditions first."""
_POD = GroupVersionKind("", "v1", "Pod")
"""The kind that is deleted with grace, and therefore shown with the mark of deletion even when it is gone."""
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


def delete(call: Call) -> Response:
    """Delete the named object, or mark it as deleted if somebody must clean up first."""
    kind, options = call.kind, call.op.delete
    _warn_of_orphans(call)
    entry = call.existing()
    live = kind.decode(entry.value)
    check_preconditions(kind, live, entry, options)
    call.admit_finally(call.admit(None, live, entry))
    marked = mark_deleted(call, live)
    if is_finished(kind, marked):
        if not options.dry_run:
            remove(call, entry, live)
            if kind.gvk == _POD:
                call.txn.pieces = _marked_and_gone(kind, entry.key, marked)
        if kind.returns_deleted:
            shown = marked if kind.gvk == _POD else live
            body = ObjectBody(kind.served(kind.encode(shown)), entry.revision if options.dry_run else None)
            return Response(200, body)
        return Response(200, JsonBody(success(kind, live)))
    code = 202 if options.waits_for_dependents else 200
    if marked == live:
        return Response(code, ObjectBody(kind.served(entry.value), entry.revision))
    value = kind.encode(marked)
    if not options.dry_run:
        call.txn.put(entry.key, value)
    return Response(code, ObjectBody(kind.served(value), entry.revision if options.dry_run else None))


def success(kind: Kind, obj: JsonObject) -> JsonObject:
    """The Status that says that an object is gone."""
    details = {"name": obj["metadata"]["name"], "group": kind.gvk.group, "kind": kind.resource}
    details = {name: value for name, value in details.items() if value}
    details["uid"] = obj["metadata"]["uid"]
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def check_preconditions(kind: Kind, live: JsonObject, entry: Entry, options: DeleteOptions) -> None:
    """Refuse the delete of another object, or of another version of it, than the caller means; raises ``Conflict``."""
    said, metadata = options.preconditions, live["metadata"]
    if kind.group_kind in _OWN_DELETES:
        _check_early(kind, metadata, entry, options)
    what = GroupResource(kind.gvk.group, kind.gvk.kind)
    if said.uid is not None and said.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({said.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise Conflict.of(what, metadata["name"], why)
    if said.resource_version is not None and said.resource_version != str(entry.revision):
        why = (
            f"the ResourceVersion in the precondition ({said.resource_version}) does not match the ResourceVersion in "
            f"record ({entry.revision}). The object might have been modified"
        )
        raise Conflict.of(what, metadata["name"], why)


def _check_early(kind: Kind, metadata: JsonObject, entry: Entry, options: DeleteOptions) -> None:
    """Some kinds are looked at before all others are, and in other words."""
    for what, said, found in (
        ("UID", options.preconditions.uid, metadata["uid"]),
        ("ResourceVersion", options.preconditions.resource_version, str(entry.revision)),
    ):
        if said is not None and said != found:
            why = f"Precondition failed: {what} in precondition: {said}, {what} in object meta: {found}"
            raise Conflict.of(kind.group_resource, metadata["name"], why)


def _warn_of_orphans(call: Call) -> None:
    """Tell a caller who did not say what becomes of dependents, whether there is anything to delete or not."""
    if not call.op.delete.propagation and call.kind.strategy.warns_of_orphans:
        call.txn.warn(call.kind.strategy.warns_of_orphans)


def mark_deleted(call: Call, live: JsonObject) -> JsonObject:
    """The object with the mark of deletion and the finalizers that its propagation policy asks for."""
    metadata = {**live["metadata"]}
    finalizers = metadata.get("finalizers") or []
    propagation = call.op.delete.propagation
    if not propagation and call.kind.strategy.orphans_by_default and not {ORPHAN, FOREGROUND} & {*finalizers}:
        propagation = "Orphan"
    finalizers = _with_policy(finalizers, propagation)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    obj = {**live, "metadata": metadata}
    grace = call.kind.strategy.grace_period_s(obj, call.op.delete.grace_period_s)
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = _later(call.txn.now, grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1
        call.kind.strategy.prepare_delete(obj, call.txn.now)
    elif grace < (metadata.get("deletionGracePeriodSeconds") or 0):
        metadata["deletionTimestamp"] = _later(call.txn.now, grace)
        metadata["deletionGracePeriodSeconds"] = grace
    elif not call.kind.strategy.awaits_finalization(obj):
        metadata.setdefault("deletionGracePeriodSeconds", grace)
    return obj


def _later(now: str, seconds: int) -> str:
    return format_time(parse_time(now)._replace(seconds=parse_time(now).seconds + seconds)) if seconds else now


def _with_policy(finalizers: list[str], propagation: str) -> list[str]:
    kept = [item for item in finalizers if propagation == "" or item not in {ORPHAN, FOREGROUND}]
    wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(propagation)
    return [*kept, wanted] if wanted and wanted not in kept else kept


def _marked_and_gone(kind: Kind, key: str, marked: JsonObject) -> list[Piece]:
    """How what is deleted with grace goes when no time is left: it is marked, and then removed."""
    return [Piece({key: kind.encode(marked)}, set()), Piece({}, {key})]


def delete_collection(call: Call) -> Response:
    """Delete every object that the selectors match, or a page of them; the answer lists them as they were before.

    Each is deleted in a version of its own, in the order of the list: who watches sees them one by one.
    """
    op, kind, txn = call.op, call.kind, call.txn
    _warn_of_orphans(call)
    page = list_page(call)
    pieces: list[Piece] = []
    for listed in page.entries:
        entry = txn.get(listed.key)
        if entry is None:
            continue
        live = kind.decode(entry.value)
        check_preconditions(kind, live, entry, op.delete)
        call.admit_finally(call.admit(None, live, entry))
        marked = mark_deleted(call, live)
        if op.delete.dry_run or marked == live:
            continue
        gone_before = set(txn.deletes) if kind.allocate else None
        if not is_finished(kind, marked):
            txn.put(entry.key, kind.encode(marked))
            pieces.append(Piece({entry.key: txn.puts[entry.key]}, set()))
            continue
        remove(call, entry, live)
        if kind.gvk == _POD:
            pieces += _marked_and_gone(kind, entry.key, marked)
        else:
            pieces.append(Piece({}, {entry.key} if gone_before is None else txn.deletes - gone_before))
    txn.pieces = pieces if len(pieces) > 1 else None
    return Response(200, page.body)
