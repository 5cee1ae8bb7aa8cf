"""Create: a new object under a name that is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver import metadata as rules
from attractor.apiserver.decoding import decode_object
from attractor.apiserver.response import UNWRITTEN, ObjectBody, Response
from attractor.objects.errors import AlreadyExists, Forbidden, Invalid

if TYPE_CHECKING:
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.jsontypes import JsonObject

MAX_NAME_ATTEMPTS = 8


def create(call: Call) -> Response:
    """Create the object in the body."""
    op, kind = call.op, call.kind
    obj, complaints = decode_object(kind, op.body, op.duplicates, op.write.field_validation)
    call.txn.warn(*complaints)
    rules.wipe_system_fields(obj["metadata"])
    rules.check_place(kind, obj["metadata"], op.namespace, op.name)
    kind.strategy.default(obj)
    return create_object(call, obj, [])


def create_object(
    call: Call, obj: JsonObject, warnings: list[str], managed: list[JsonObject] | None = None
) -> Response:
    """Store a decoded, defaulted object as new; ``managed`` says who owns its fields if that is already known."""
    op, kind, txn = call.op, call.kind, call.txn
    metadata = obj["metadata"]
    warnings = [*warnings, *(rules.deduplicate_owners(metadata) if op.verb == "create" else ())]
    if managed is None:
        reset = kind.strategy.reset_fields("")
        managed = kind.fields.on_update(None, obj, manager=op.manager, now=txn.now, reset=reset)
    rules.set_managed_fields(metadata, managed)
    if kind.is_terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise Forbidden.of(kind.group_resource, metadata.get("name") or "", why)
    asked = call.admit(obj, None)
    warnings += rules.deduplicate_owners(metadata, rules.AFTER_ADMISSION)
    rules.check_place(kind, metadata, op.namespace, op.name)
    generated = bool(metadata.get("generateName")) and not metadata.get("name")
    rules.stamp_new(metadata, txn)
    key = kind.key(op.namespace, metadata.get("name") or "")
    for _ in range(MAX_NAME_ATTEMPTS if generated else 0):
        if txn.get(key) is None:
            break
        metadata["name"] = metadata["generateName"][: rules.MAX_GENERATED_BASE] + txn.source.suffix()
        key = kind.key(op.namespace, metadata["name"])
    if kind.strategy.has_generation:
        metadata["generation"] = 1
    kind.strategy.prepare_create(obj)
    errors = kind.strategy.identity_errors(obj)
    errors = errors or rules.validate_new(kind, metadata) + kind.strategy.validate(obj)
    if errors:
        raise Invalid.of(kind.said_by(obj), metadata.get("name") or "", errors)
    warnings += kind.strategy.warnings(obj, None)
    warnings += rules.finalizer_warnings(kind, metadata, {})
    call.admit_finally(asked)
    if txn.get(key) is not None:
        raise AlreadyExists.of(kind.group_resource, metadata["name"])
    if kind.allocate:
        kind.allocate(txn, obj, None, claim=not op.write.dry_run)
    value = kind.encode(obj)
    if not op.write.dry_run:
        txn.put(key, value)
    body = ObjectBody(kind.served(value), UNWRITTEN if op.write.dry_run else None)
    return Response(201, body, tuple(warnings))
