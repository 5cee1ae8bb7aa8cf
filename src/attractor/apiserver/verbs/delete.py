"""Delete: at once, or by a mark that finalizers act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.metadata import uid_precondition
from attractor.apiserver.response import JsonBody, ListBody, ObjectBody, Response, with_version
from attractor.apiserver.verbs.read import matching, selectors
from attractor.apiserver.verbs.update import is_finished, remove
from attractor.objects.errors import Conflict
from attractor.objects.timestamps import format_time, parse_time

if TYPE_CHECKING:
    from attractor.apiserver.kinds import Kind
    from attractor.apiserver.operation import DeleteOptions
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.jsontypes import JsonObject
    from attractor.store.contract import Entry

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


def delete(call: Call) -> Response:
    """Delete the named object, or mark it as deleted if somebody must clean up first."""
    kind, options = call.kind, call.op.delete
    entry = call.existing()
    live = kind.decode(entry.value)
    _check_preconditions(kind, call.op.name, live, entry, options)
    call.admit(None, live, entry)
    call.admit_finally(None, live, entry)
    marked = mark_deleted(call, live)
    if is_finished(kind, marked):
        if not options.dry_run:
            remove(call, entry, live)
        if kind.returns_deleted:
            return Response(200, ObjectBody(kind.served(kind.encode(marked)), entry.revision))
        return Response(200, JsonBody(success(kind, live)))
    if marked == live:
        return Response(200, ObjectBody(kind.served(entry.value), entry.revision))
    value = kind.encode(marked)
    if not options.dry_run:
        call.txn.put(entry.key, value)
    return Response(200, ObjectBody(kind.served(value), entry.revision if options.dry_run else None))


def success(kind: Kind, obj: JsonObject) -> JsonObject:
    """The Status that says that an object is gone."""
    details = {"name": obj["metadata"]["name"], "group": kind.gvk.group, "kind": kind.resource}
    details = {name: value for name, value in details.items() if value}
    details["uid"] = obj["metadata"]["uid"]
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _check_preconditions(kind: Kind, name: str, live: JsonObject, entry: Entry, options: DeleteOptions) -> None:
    said = options.preconditions
    if said.uid is not None and said.uid != live["metadata"]["uid"]:
        raise Conflict.of(kind.group_resource, name, uid_precondition(said.uid, live["metadata"]["uid"]))
    if said.resource_version is not None and said.resource_version != str(entry.revision):
        why = (
            f"Precondition failed: ResourceVersion in precondition: {said.resource_version}, "
            f"ResourceVersion in object meta: {entry.revision}"
        )
        raise Conflict.of(kind.group_resource, name, why)


def mark_deleted(call: Call, live: JsonObject) -> JsonObject:
    """The object with the mark of deletion and the finalizers that its propagation policy asks for."""
    metadata = {**live["metadata"]}
    finalizers = metadata.get("finalizers") or []
    propagation = call.op.delete.propagation
    if not propagation and call.kind.strategy.orphans_by_default and not {ORPHAN, FOREGROUND} & {*finalizers}:
        propagation = "Orphan"
        if call.kind.strategy.warns_of_orphans:
            call.txn.warn(call.kind.strategy.warns_of_orphans)
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
    return obj


def _later(now: str, seconds: int) -> str:
    return format_time(parse_time(now)._replace(seconds=parse_time(now).seconds + seconds)) if seconds else now


def _with_policy(finalizers: list[str], propagation: str) -> list[str]:
    kept = [item for item in finalizers if propagation == "" or item not in {ORPHAN, FOREGROUND}]
    wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(propagation)
    return [*kept, wanted] if wanted and wanted not in kept else kept


def delete_collection(call: Call) -> Response:
    """Delete every object that the selectors match; the answer lists them as they were before."""
    op, kind, txn = call.op, call.kind, call.txn
    labels, fields = selectors(kind, op.list)
    items: list[bytes] = []
    entries = txn.range(kind.prefix(op.namespace))
    kind.prepare([entry.value for entry in entries] if kind.remote else ())
    for entry in entries:
        if not matching(kind, entry.value, labels, fields):
            continue
        txn.get(entry.key)
        live = kind.decode(entry.value)
        call.admit(None, live, entry)
        call.admit_finally(None, live, entry)
        marked = mark_deleted(call, live)
        items.append(with_version(kind.list_item(entry.value), entry.revision))
        if op.delete.dry_run or marked == live:
            continue
        if is_finished(kind, marked):
            remove(call, entry, live)
        else:
            txn.put(entry.key, kind.encode(marked))
    token = "" if kind.is_custom else None
    return Response(200, ListBody(kind.list_kind, kind.gvk.api_version, txn.revision, items, token))
