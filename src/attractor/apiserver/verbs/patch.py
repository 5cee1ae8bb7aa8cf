"""Patch: a change described rather than a state, in four languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from attractor.apiserver.kinds import metadata as rules
from attractor.apiserver.kinds.builtin import strategy_for
from attractor.apiserver.request.bodies import check_shape, missing_kind
from attractor.apiserver.request.decode_errors import DecodeError, Undecodable
from attractor.apiserver.request.objects import (
    decode_object,
    keep_reset,
    not_registered,
    share_scheme,
    strict_error,
    strict_errors,
    unknown_conversion,
)
from attractor.apiserver.request.operation import APPLY_PATCH, JSON_PATCH, STRATEGIC_PATCH
from attractor.apiserver.verbs.create import create_object
from attractor.apiserver.verbs.patch_errors import as_shown
from attractor.apiserver.verbs.update import update_object
from attractor.apply.manager import shown_object
from attractor.k8s import catalog
from attractor.objects.errors import ApiError, BadRequest, Conflict, InternalError, Invalid, NotFound
from attractor.objects.field import FieldError
from attractor.objects.go_wording import GO_MAP, cannot_unmarshal, go_text
from attractor.objects.gvk import GroupKind, GroupVersionKind
from attractor.patch.json_patch import apply_json_patch
from attractor.patch.merge_patch import apply_merge_patch, without_nulls_in_lists
from attractor.patch.strategic import apply_strategic_merge_patch

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.operation import Operation
    from attractor.apiserver.response import Response
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.json_types import JsonObject


_OPERATION_FIELDS = {"op", "path", "from", "value"}


def patch(call: Call) -> Response:
    """Change the object (or its status) as the patch in the body says."""
    if call.op.patch_type == APPLY_PATCH:
        return apply(call)
    op, kind = call.op, call.kind
    entry = call.existing()
    live = kind.decode(entry.value)
    current = {**live, "metadata": {**live["metadata"], "resourceVersion": str(entry.revision)}}
    patched = patched_document(op, current, kind)
    if isinstance(patched, dict) and not patched.get("apiVersion"):
        call.txn.warn(*_unversioned_complaints(kind, patched, op))
    obj, complaints = decode_patched(kind, current, patched, op)
    if complaints:
        call.txn.warn(*complaints)
    check_name(obj, op)
    kind.strategy.default(obj)
    return update_object(call, entry, live, obj)


def patched_document(op: Operation, current: JsonObject, kind: Kind) -> Any:
    """The object after the patch, not yet decoded."""
    if op.patch_type == JSON_PATCH:
        patched = apply_json_patch(current, op.body)
        check_shape(patched)  # operations can build what no body could say
        return patched
    if op.patch_type == STRATEGIC_PATCH:
        return apply_strategic_merge_patch(current, op.body, kind.schema)
    if op.body is None:
        raise BadRequest("Invalid JSON Patch")
    if not isinstance(op.body, dict):
        raise BadRequest(f"error decoding patch: {cannot_unmarshal(op.body, GO_MAP)}")
    return apply_merge_patch(current, without_nulls_in_lists(op.body, current))


def decode_patched(kind: Kind, current: JsonObject, patched: Any, op: Operation) -> tuple[JsonObject, list[str]]:
    """The patched document in its kind's shape; what cannot be decoded is the patch's fault."""
    if not isinstance(patched, dict):
        raise _bad_patch(kind, patched, cannot_unmarshal(patched, GO_MAP))
    if not (patched.get("kind") == kind.gvk.kind and patched.get("apiVersion") == kind.api_version):
        _require_texts(kind, patched, op)
        _require_identity(kind, patched, op)
    document = {**kind.identity, **patched, "kind": patched.get("kind") or kind.gvk.kind}
    is_strategic = op.patch_type == STRATEGIC_PATCH
    if is_strategic:  # its result goes into an object of the kind, whatever it says that it is
        document.update(kind=kind.gvk.kind, apiVersion=kind.gvk.api_version)
    kept = _kept_metadata(document.get("metadata"), current["metadata"])
    if kept is not None:
        document["metadata"] = {}
    try:
        if (document["kind"] != kind.gvk.kind or document["apiVersion"] != kind.api_version) and not kind.is_custom:
            _refuse_other_kind(kind, document)
        decoded = kind.strategy.decode(document)
    except DecodeError as error:
        fitted = kind.strategy.fitted(patched) if is_strategic else None
        if fitted is not None:
            return decode_patched(kind, current, fitted, op)
        raise _bad_result(kind, patched, op, error.restored if is_strategic else str(error)) from None
    if kept is not None:
        decoded.obj["metadata"] = {**kept}
    keep_reset(kind, patched, decoded.obj)
    unknown = decoded.unknown if op.patch_type == JSON_PATCH else sorted(decoded.unknown)
    complaints = strict_errors(op.duplicates, unknown) if op.duplicates or unknown else []
    if op.patch_type == JSON_PATCH:
        complaints = [*_operation_complaints(op), *strict_errors((), unknown)]
    if op.write.field_validation == "Strict" and complaints:
        raise _bad_result(kind, patched, op, strict_error(complaints))
    return decoded.obj, complaints if op.write.field_validation == "Warn" else []


def _kept_metadata(patched: Any, current: JsonObject) -> JsonObject | None:
    """The patched metadata, if nothing of it is new but the version that the writer has seen; else None.

    Patches share what they leave alone, and stored metadata is in shape: it need not be decoded again.
    """
    metadata: JsonObject | None = patched if isinstance(patched, dict) else None
    if metadata is None or metadata is current:
        return metadata
    if metadata.keys() != current.keys():
        return None
    for name, value in metadata.items():
        if value is not current[name] and not (name == "resourceVersion" and isinstance(value, str) and value):
            return None
    return metadata


def _operation_complaints(op: Operation) -> list[str]:
    """What the operations of a JSON patch say twice, or should not say."""
    unknown = [
        f"[{index}].{name}"
        for index, operation in enumerate(op.body if isinstance(op.body, list) else ())
        if isinstance(operation, dict)
        for name in sorted(operation.keys() - _OPERATION_FIELDS)
    ]
    return [f"json patch {text}" for text in strict_errors(op.duplicates, unknown)]


def _unversioned_complaints(kind: Kind, patched: JsonObject, op: Operation) -> list[str]:
    """What is unknown to Kubernetes in a result without a version: all of it, for such an object has no fields."""
    if kind.is_custom or op.patch_type == STRATEGIC_PATCH or op.write.field_validation != "Warn":
        return []
    if not isinstance(patched.get("apiVersion"), str | None):
        return []
    return strict_errors((), sorted(patched.keys() - {"apiVersion", "kind"}))


def _require_texts(kind: Kind, patched: JsonObject, op: Operation) -> None:
    """Refuse a result whose kind or version is no text at all."""
    for name in ("apiVersion", "kind"):
        said = patched.get(name)
        if kind.is_custom or isinstance(said, str | None):
            continue
        if op.patch_type == STRATEGIC_PATCH:
            is_number = isinstance(said, int) and not isinstance(said, bool)
            why = "cannot convert int64 to string" if is_number else "unrecognized type: string"
        else:
            why = cannot_unmarshal(said, "string", f".{name}")
            why = f"couldn't get version/kind; json parse error: {why}"
        raise _bad_result(kind, patched, op, why)


def _require_identity(kind: Kind, patched: JsonObject, op: Operation) -> None:
    """Refuse a result that a patch has taken its kind or version from, where Kubernetes cannot do without."""
    if op.patch_type == STRATEGIC_PATCH:
        return
    if kind.is_custom and not patched.get("kind"):
        raise _bad_patch(kind, patched, missing_kind(_sorted_text(patched)))
    if not patched.get("apiVersion"):
        if not kind.is_custom:
            raise _undeterminable(op)
        why = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
        raise InternalError.of(why)


def _undeterminable(op: Operation) -> BadRequest:
    return BadRequest(f"the name of the object ({op.name} based on URL) was undeterminable: name must be provided")


def _refuse_other_kind(kind: Kind, patched: JsonObject) -> NoReturn:
    """Refuse a document that says it is of another kind: first for what is wrong with it as one of that."""
    try:
        said = GroupVersionKind.of(str(patched["apiVersion"]), str(patched["kind"]))
    except ValueError as error:
        raise DecodeError(str(error)) from None
    info = catalog.find_kind(said)
    if info is None or not share_scheme(kind, said.group):
        raise DecodeError(not_registered(kind, patched))
    strategy_for(info).decode(patched)
    raise DecodeError(unknown_conversion(kind, info.kind))


def _bad_result(kind: Kind, patched: JsonObject, op: Operation, why: str) -> Invalid:
    """The refusal of a patch's result; of a strategic one Kubernetes shows the patch itself."""
    if op.patch_type == STRATEGIC_PATCH:
        return Invalid.of(GroupKind("", ""), "", [FieldError.invalid("patch", go_text(op.body), why)])
    return _bad_patch(kind, patched, why, op.body)


def _bad_patch(kind: Kind, patched: Any, why: str, patch: Any = None) -> Invalid:
    """The refusal of a patch whose result is not an object of the kind; it shows the result, as Kubernetes does."""
    text = _sorted_text(patched) if kind.is_custom else _go_json(orjson.dumps(as_shown(kind.gvk, patched, patch)))
    return Invalid.of(GroupKind("", ""), "", [FieldError.invalid("patch", text, why)])


def _sorted_text(value: Any) -> str:
    """A value of a custom kind: all of it is maps to Go, which are sorted."""
    return _go_json(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def _go_json(data: bytes) -> str:
    """JSON as Go writes it: for the sake of HTML, some characters by their number."""
    for character in (b"<", b">", b"&"):
        data = data.replace(character, b"\\u%04x" % ord(character))
    return data.decode()


def check_name(obj: JsonObject, op: Operation) -> None:
    """A patch cannot rename or move an object."""
    said = obj["metadata"].get("name")
    if not said:
        raise _undeterminable(op)
    if said != op.name:
        raise BadRequest(f"the name of the object ({said}) does not match the name on the URL ({op.name})")
    if op.namespace and obj["metadata"].setdefault("namespace", op.namespace) != op.namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def apply(call: Call) -> Response:
    """Server-side apply: make the fields in the body so, own them, and let go of those no longer there."""
    op, kind, txn = call.op, call.kind, call.txn
    applied = _applied_object(op, kind)
    entry = txn.get(call.key)
    if entry is None and op.subresource:
        raise NotFound.of(kind.group_resource, op.name)
    live = kind.decode(entry.value) if entry else None
    if entry is None and applied["metadata"].get("uid"):
        said = applied["metadata"]["uid"]
        why = f"uid mismatch: the provided object specified uid {said}, and no existing object was found"
        raise Conflict.of(kind.group_resource, op.name, why)
    version = ""
    if isinstance(applied["metadata"].get("resourceVersion"), str | None):  # anything else is refused with its type
        version = applied["metadata"].pop("resourceVersion", None) or ""
    merged, managed = kind.fields.on_apply(
        live,
        applied,
        manager=op.write.field_manager,
        force=op.write.force,
        now=txn.now,
        subresource=op.subresource,
        reset=kind.strategy.reset_fields(op.subresource),
    )
    repeated = _repeated_keys(op)
    obj, complaints = _decode_applied(kind, applied, merged, op)
    txn.warn(*repeated, *complaints)
    if version and entry:
        obj["metadata"]["resourceVersion"] = version
    elif entry:
        obj["metadata"]["resourceVersion"] = str(entry.revision)
    if entry is None:
        rules.require_name(obj["metadata"], op.name)
    rules.check_place(kind, obj["metadata"], op.namespace, op.name)
    kind.strategy.default_applied(obj)
    if entry is None or live is None:
        return create_object(call, obj, managed)
    return update_object(call, entry, live, obj, managed)


def _decode_applied(kind: Kind, applied: JsonObject, merged: JsonObject, op: Operation) -> tuple[JsonObject, list[str]]:
    """The merged object in its kind's shape; a value that its type cannot hold is an error of conversion (500)."""
    try:
        return decode_object(kind, merged, (), op.write.field_validation)
    except Undecodable as refused:
        if kind.is_custom:
            raise
        fitted = kind.strategy.fitted(merged)
        if fitted is not None:
            return _decode_applied(kind, applied, fitted, op)
        named = f"{kind.gvk.group}/{kind.gvk.version}, Kind={kind.gvk.kind}"
        why = f"unable to convert unstructured object to {named}: {refused.restored}"
        raise ApiError(f"failed to convert new object ({shown_object(applied)}) to proper version: {why}") from None


def _repeated_keys(op: Operation) -> list[str]:
    """Warnings of keys that stand twice in the configuration; raises ``BadRequest`` for a strict caller."""
    if not op.duplicates or op.write.field_validation == "Ignore":
        return []
    if op.write.field_validation == "Strict":
        lines = "".join(f"\n  {line}" for line in op.duplicates)
        raise BadRequest(f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:{lines}")
    return list(op.duplicates)


def _applied_object(op: Operation, kind: Kind) -> JsonObject:
    """The configuration in the body, if it says what it is and where it belongs."""
    body = {} if op.body is None else op.body
    if not isinstance(body, dict):
        why = f"error unmarshaling JSON: while decoding JSON: {cannot_unmarshal(body, GO_MAP)}"
        raise BadRequest(f"error decoding YAML: {why}")
    api_version, said_kind = body.get("apiVersion") or "", body.get("kind") or ""
    if api_version != kind.gvk.api_version or said_kind != kind.gvk.kind:
        group, _, version = str(api_version).rpartition("/")
        raise BadRequest(f"invalid object type: {group}/{version}, Kind={said_kind}")
    metadata = body.get("metadata")
    if not isinstance(metadata, dict | None):
        why = f".metadata: expected map, got &{{{go_text(metadata)}}}"
        raise ApiError(f"failed to create typed patch object ({shown_object({**body, 'metadata': None})}): {why}")
    metadata = dict(metadata or {})
    if metadata.get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    return {**body, "metadata": metadata}
