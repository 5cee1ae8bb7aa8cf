"""Create: a new object under a name that is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds import metadata as rules
from attractor.apiserver.request.error_values import as_given
from attractor.apiserver.request.objects import decode_object
from attractor.apiserver.response import UNWRITTEN, ObjectBody, Response
from attractor.objects.errors import AlreadyExists, Forbidden, Invalid
from attractor.objects.numbers import saturated

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.json_types import JsonObject

MAX_NAME_ATTEMPTS = 8


def create(call: Call) -> Response:
    """Create the object in the body."""
    op, kind = call.op, call.kind
    obj, complaints = decode_object(kind, op.body, op.duplicates, op.write.field_validation)
    if complaints:
        call.txn.warn(*complaints)
    rules.wipe_system_fields(obj["metadata"])
    rules.check_place(kind, obj["metadata"], op.namespace, op.name)
    kind.strategy.default(obj)
    return create_object(call, obj)


def create_object(call: Call, obj: JsonObject, managed: list[JsonObject] | None = None) -> Response:
    """Store a decoded, defaulted object as new; ``managed`` says who owns its fields if that is already known."""
    op, kind, txn = call.op, call.kind, call.txn
    metadata = obj["metadata"]
    repeated: list[str] = []
    if op.verb == "create" and "ownerReferences" in metadata:
        repeated = rules.deduplicate_owners(metadata)
    if managed is None:
        reset = kind.strategy.reset_fields("")
        managed = kind.fields.on_update(None, obj, manager=op.manager, now=txn.now, reset=reset)
    rules.set_managed_fields(metadata, managed)
    if kind.is_terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise Forbidden.of(kind.group_resource, metadata.get("name") or "", why)
    asked = call.admit(obj, None)
    if "ownerReferences" in metadata:
        repeated += rules.deduplicate_owners(metadata, rules.AFTER_ADMISSION)
    rules.check_place(kind, metadata, op.namespace, op.name)
    generated = "generateName" in metadata and bool(metadata["generateName"]) and not metadata.get("name")
    shown = _shown_version(metadata) if op.write.dry_run and "resourceVersion" in metadata else UNWRITTEN
    rules.stamp_new(metadata, txn)
    key = kind.key(op.namespace, metadata.get("name") or "")
    if generated:
        key = _free_key(call, metadata, key)
    if kind.strategy.has_generation:
        metadata["generation"] = 1
    kind.strategy.prepare_create(obj)
    if kind.allocate:
        kind.allocate(txn, obj, None, claim=not op.write.dry_run)
    errors = kind.strategy.identity_errors(obj)
    errors = errors or rules.validate_new(kind, metadata) + kind.strategy.validate(obj)
    if errors:
        raise Invalid.of(kind.said_by(obj), metadata.get("name") or "", as_given(errors, op.body))
    said = kind.strategy.warnings(obj, None)
    if kind.is_custom:
        said = [*said, *rules.finalizer_warnings(kind, metadata, {})]
    kind.strategy.canonicalize(obj)
    call.admit_finally(asked)
    existing = txn.get(key)
    if existing is not None:
        txn.warn(*repeated, *said)
        raise _already_exists(kind, metadata, existing.value)
    value = kind.encode(obj)
    if not op.write.dry_run:
        txn.put(key, value)
    body = ObjectBody(kind.served(value), shown if op.write.dry_run else None)
    return Response(201, body, (*repeated, *said))


def _already_exists(kind: Kind, metadata: JsonObject, value: bytes) -> AlreadyExists:
    error = AlreadyExists.of(kind.group_resource, metadata["name"])
    if metadata.get("generateName"):  # even if the caller gave the name, too
        error.message += ", the server was not able to generate a unique name for the object"
        error.details = {**(error.details or {}), "retryAfterSeconds": 1}
    if kind.decode(value)["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error


def _shown_version(metadata: JsonObject) -> int:
    """The version that the caller of a dry run sent: only storing a new object is refused for it."""
    said = str(metadata.pop("resourceVersion"))
    version = saturated(said) if said.isascii() and said.isdigit() else UNWRITTEN
    return version if version < 2**64 else UNWRITTEN


def _free_key(call: Call, metadata: JsonObject, key: str) -> str:
    """The key of the generated name, or of another one if that is taken, as far as some attempts go."""
    for _ in range(MAX_NAME_ATTEMPTS):
        if call.txn.get(key) is None:
            break
        metadata["name"] = metadata["generateName"][: rules.MAX_GENERATED_BASE] + call.txn.source.suffix()
        key = call.kind.key(call.op.namespace, metadata["name"])
    return key
