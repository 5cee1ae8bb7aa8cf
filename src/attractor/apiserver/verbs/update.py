"""Update: another state of an object that exists, if the caller has seen the current one."""

from __future__ import annotations

from operator import ne
from typing import TYPE_CHECKING, Any, Final

from attractor.apiserver.kinds import metadata as rules
from attractor.apiserver.request.error_values import as_given
from attractor.apiserver.request.objects import decode_object
from attractor.apiserver.response import ObjectBody, Response
from attractor.apiserver.verbs.create import create_object
from attractor.apply.entries import same_but_for_times
from attractor.objects.errors import Invalid, NotFound
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Entry

_COUNTED = {GroupKind("apps", "Deployment"): "annotations", GroupKind("discovery.k8s.io", "EndpointSlice"): "labels"}
"""What of their metadata counts as the spec of some kinds."""
"""The kind whose generation counts changes of its annotations, too, but for those made through its status."""
_MISSING: Final[Any] = object()
_NOT_SPEC = {"kind", "apiVersion", "metadata", "status"}


def update(call: Call) -> Response:
    """Replace the object (or its status) by the one in the body."""
    op, kind = call.op, call.kind
    obj, complaints = decode_object(kind, op.body, op.duplicates, op.write.field_validation)
    if complaints:
        call.txn.warn(*complaints)
    rules.require_name(obj["metadata"], op.name)
    rules.check_place(kind, obj["metadata"], op.namespace, op.name)
    kind.strategy.default(obj)
    entry = call.txn.get(call.key)
    if entry is None:
        if kind.strategy.allow_create_on_update and not op.subresource:
            return create_object(call, obj)
        raise NotFound.of(kind.group_resource, op.name)
    return update_object(call, entry, kind.decode(entry.value), obj)


def update_object(
    call: Call,
    entry: Entry,
    live: JsonObject,
    obj: JsonObject,
    managed: list[JsonObject] | None = None,
) -> Response:
    """Store ``obj`` in the place of ``live``; ``managed`` says who owns its fields if that is already known."""
    op, kind, txn = call.op, call.kind, call.txn
    metadata = obj["metadata"]
    if op.verb == "update":
        rules.check_uid(kind, metadata, op.name, live["metadata"].get("uid"))
    if not kind.strategy.allow_unconditional_update:
        _require_version(kind, metadata, op.name)
    rules.check_version(kind, metadata, op.name, entry.revision)
    repeated: list[str] = []
    if op.verb == "update" and "ownerReferences" in metadata:
        repeated = rules.deduplicate_owners(metadata)
    if managed is None:
        managed = kind.fields.on_update(
            live,
            obj,
            manager=op.manager,
            now=txn.now,
            subresource=op.subresource,
            reset=kind.strategy.reset_fields(op.subresource),
        )
    rules.set_managed_fields(metadata, managed)
    asked = call.admit(obj, live, entry)
    if "ownerReferences" in metadata:
        repeated += rules.deduplicate_owners(metadata, rules.AFTER_ADMISSION)
    rules.check_place(kind, metadata, op.namespace, op.name)
    kind.strategy.prepare_update(obj, live, op.subresource)
    kind.strategy.stamp(obj, live, op.subresource, txn.now)
    if kind.allocate:
        kind.allocate(txn, obj, live, claim=not op.write.dry_run)
    rules.carry_over(metadata, live["metadata"])
    is_counted = kind.strategy.has_generation or kind.strategy.counts_changes
    if is_counted and _spec_changed(kind, obj, live, op.subresource):
        metadata["generation"] = live["metadata"].get("generation", 0) + 1
    errors = rules.validate_change(kind, metadata, live["metadata"], op.subresource)
    errors += kind.strategy.validate_update(obj, live, op.subresource)
    if errors:
        raise Invalid.of(kind.said_by(obj), op.name, as_given(errors, op.body))
    said = kind.strategy.warnings(obj, live) if op.subresource in {"", "scale"} else []
    if kind.is_custom:
        said = [*said, *rules.finalizer_warnings(kind, metadata, live["metadata"])]
    call.admit_finally(asked)
    return _store(call, entry, live, obj, (*repeated, *said))


def _require_version(kind: Kind, metadata: JsonObject, name: str) -> None:
    if metadata.get("resourceVersion", "") in {"", "0"}:
        error = FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise Invalid.of(GroupKind(kind.gvk.group, kind.resource), name, [error])


def _spec_changed(kind: Kind, obj: JsonObject, live: JsonObject, subresource: str) -> bool:
    if kind.group_kind in _COUNTED and not subresource:
        field = _COUNTED[kind.group_kind]
        if (obj["metadata"].get(field) or {}) != (live["metadata"].get(field) or {}):
            return True
    skipped = _NOT_SPEC if kind.strategy.has_status_subresource or not kind.is_custom else _NOT_SPEC - {"status"}
    differ = kind.fields.differ
    return any(differ(obj.get(name), live.get(name)) for name in {*obj, *live} if name not in skipped)


def _store(call: Call, entry: Entry, live: JsonObject, obj: JsonObject, warnings: tuple[str, ...]) -> Response:
    """Write the object; remove it if this was the last finalizer of a deleted one; do nothing if nothing changed."""
    kind, txn, dry_run = call.kind, call.txn, call.op.write.dry_run
    if _is_unchanged(kind, obj, live) and kind.is_stored_as_today(entry.value):
        return Response(200, ObjectBody(kind.served(entry.value), entry.revision), warnings)
    value = kind.encode(obj)
    if is_finished(kind, obj):
        if not dry_run:
            remove(call, entry, obj)
        return Response(200, ObjectBody(kind.served(value), entry.revision), warnings)
    if not dry_run:
        txn.put(entry.key, value)
    return Response(200, ObjectBody(kind.served(value), entry.revision if dry_run else None), warnings)


def remove(call: Call, entry: Entry, obj: JsonObject) -> None:
    """Delete an object and give up what it held."""
    if call.kind.allocate:
        call.kind.allocate(call.txn, None, obj, claim=True)
    call.txn.delete(entry.key)


def _is_unchanged(kind: Kind, obj: JsonObject, live: JsonObject) -> bool:
    """Whether nothing is new but when someone wrote what was there already, which is not worth a write."""
    if not _same_but_for(obj, live, "metadata", kind.fields.differ):
        return False
    metadata: JsonObject = obj["metadata"]
    before: JsonObject = live["metadata"]
    if not same_but_for_times(before.get("managedFields") or [], metadata.get("managedFields") or []):
        return False
    return _same_but_for(metadata, before, "managedFields", ne)


def _same_but_for(new: JsonObject, old: JsonObject, left_out: str, differ: Callable[[Any, Any], bool]) -> bool:
    """Whether two maps have the same fields with the same values, whatever becomes of one of them."""
    if len(new) - (left_out in new) != len(old) - (left_out in old):
        return False
    for name, value in new.items():
        if name != left_out:
            before = old.get(name, _MISSING)
            if before is not value and differ(before, value):
                return False
    return True


def is_finished(kind: Kind, obj: JsonObject) -> bool:
    """Whether a deleted object waits for nobody any more."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds") and not kind.strategy.awaits_finalization(obj)
