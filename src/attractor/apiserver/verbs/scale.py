"""Scale: the replica count of any kind that has one, as ``autoscaling/v1`` Scale.

The owners of an object's replica count are owners of its Scale's, and back. Kubernetes keeps them as entries of two
objects in different versions. So the way there and back is not quite a circle, and clients see it: whoever updates a
Scale owns the count without a time, and an updater of the object who still owns the count afterwards owns it in an
entry of its own, without a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.admission.plugin import NO_PLUGINS
from attractor.apiserver.kinds.metadata import check_place, check_uid, check_version, require_name, set_managed_fields
from attractor.apiserver.request.objects import decode_object
from attractor.apiserver.request.operation import APPLY_PATCH
from attractor.apiserver.request.routing import method_not_allowed
from attractor.apiserver.response import JsonBody, Response
from attractor.apiserver.verbs.call import Call
from attractor.apiserver.verbs.patch import check_name, decode_patched, patched_document
from attractor.apiserver.verbs.subresource_bodies import kind_named
from attractor.apiserver.verbs.update import update_object
from attractor.apply.entries import UPDATE, Managed, Owned, read, updater, written
from attractor.apply.fieldset import LEAF, difference
from attractor.apply.manager import shown_object
from attractor.objects.errors import ApiError, BadRequest, InternalError, Invalid
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.labels import LabelSelector

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind, ScalePaths
    from attractor.apply.fieldset import FieldSet
    from attractor.objects.json_types import JsonObject


SCALE_V1 = GroupVersionKind("autoscaling", "v1", "Scale")
_IN_SCALE = ("spec", "replicas")


def owners_of_scale(kind: Kind, entries: list[JsonObject]) -> list[JsonObject]:
    """The managedFields of an object's Scale: those who own the object's replica count."""
    path = _count_of(kind)
    found: Managed = {}
    for name, owned in read(entries).items():
        if _is_known(kind, owned) and _has(owned.fields, path):
            shown = updater(name.manager, SCALE_V1.api_version, name.subresource) if name.operation == UPDATE else name
            found[shown] = Owned(_only(_IN_SCALE), SCALE_V1.api_version, owned.time)
    return written(found)


def owners_of_object(kind: Kind, entries: list[JsonObject], scaled: list[JsonObject]) -> list[JsonObject]:
    """The managedFields of an object, once its Scale's have become ``scaled``; those of unknown versions are lost."""
    path = _count_of(kind)
    before, after = read(entries), read(scaled)
    found: Managed = {}
    for name, owned in before.items():
        if not _is_known(kind, owned):
            continue
        if not _has(owned.fields, path):
            found[name] = owned
        elif name in after:
            found[name] = owned
            del after[name]
        elif rest := difference(owned.fields, _only(path)):
            found[name] = Owned(rest, owned.api_version, owned.time)
    for name, owned in after.items():
        if _has(owned.fields, _IN_SCALE):
            time = before[name].time if name in before else ""
            found[name] = Owned(_only(path), kind.gvk.api_version, time)
    return written(found)


def _count_of(kind: Kind) -> tuple[str, ...]:
    assert kind.scale is not None, "routed to scale of a kind without one"
    return kind.scale.spec_replicas


def _is_known(kind: Kind, owned: Owned) -> bool:
    """Whether an entry is of a version of the kind; all of them keep the count in one place."""
    return owned.api_version.rpartition("/")[0] == kind.gvk.group


def _has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    here: Any = fields
    for name in path:
        here = here.get(f"f:{name}")
        if here is None:
            return False
    return True


def _only(path: tuple[str, ...]) -> FieldSet:
    fields: FieldSet = LEAF
    for name in reversed(path):
        fields = {f"f:{name}": fields}
    return fields


SCALE = SCALE_V1.group_kind
_INT32 = 2**31 - 1
_NOT_APPLICABLE = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
_UNOWNED = "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale)"
_NO_SCALE = 'no kind is registered for the type v1.Scale in scheme "pkg/apiserver/customresource_handler.go:781"'
_METADATA = ("name", "namespace", "uid", "creationTimestamp")


def scale(call: Call) -> Response:
    """Read or change an object's scale."""
    kind, op = call.kind, call.op
    assert kind.scale is not None, "routed to scale of a kind without one"
    sent = _sent(call) if op.verb == "update" else None
    entry = call.existing()
    live = kind.decode(entry.value)
    current = scale_of(kind, live, str(entry.revision))
    if op.verb == "get":
        if kind.is_custom and at(live, kind.scale.spec_replicas) is None:
            path = ".".join(kind.scale.spec_replicas)
            raise InternalError.of(f'the spec replicas field ".{path}" does not exist')
        return Response(200, JsonBody(current))
    owners = live["metadata"].get("managedFields") or []
    owned = {**current, "metadata": {**current["metadata"]}}
    set_managed_fields(owned["metadata"], owners_of_scale(kind, owners))
    wanted, applied_owners = (sent, None) if sent is not None else _wanted(call, owned)
    replicas, metadata = _wanted_scale(kind, wanted, op.name)
    check_uid(kind, metadata, op.name, live["metadata"]["uid"])
    check_version(kind, metadata, op.name, entry.revision)
    # Admission is asked about the Scale, not about the object that it is taken from.
    asked = {**current, "metadata": {**current["metadata"]}, "spec": {"replicas": replicas} if replicas else {}}
    call.admit_finally(call.admit(asked, current, entry))
    replicas, _ = _wanted_scale(kind, asked, op.name)
    scaled = applied_owners if applied_owners is not None else _owners_after(call, owned, asked)
    changed = put(live, kind.scale.spec_replicas, replicas)
    changed["metadata"] = {**changed["metadata"], "resourceVersion": str(entry.revision)}
    managed = owners_of_object(kind, owners, scaled)
    response = update_object(Call(op, call.kind, call.txn, NO_PLUGINS), entry, live, changed, managed)
    version = "" if call.txn.is_dirty else str(entry.revision)
    return Response(200, JsonBody(scale_of(kind, changed, version)), response.warnings)


def _wanted(call: Call, current: JsonObject) -> tuple[JsonObject, list[JsonObject] | None]:
    """The Scale that the caller wants, and who owns its fields then, where that is known at once: after an apply."""
    op = call.op
    if op.verb != "patch":
        raise method_not_allowed()
    if op.patch_type == APPLY_PATCH:
        return _applied(call, current)
    patched = patched_document(op, current, kind_named(SCALE_V1))
    wanted, complaints = decode_patched(kind_named(SCALE_V1), current, patched, op)
    call.txn.warn(*complaints)
    check_name(wanted, op)
    return wanted, None


def _sent(call: Call) -> JsonObject:
    """The Scale in a body; of what is none, a custom kind's handler says only that it cannot tell what it is."""
    op = call.op
    try:
        wanted, complaints = decode_object(kind_named(SCALE_V1), op.body, op.duplicates, op.write.field_validation)
    except BadRequest:
        if call.kind.is_custom:
            raise BadRequest(_NO_SCALE) from None
        raise
    call.txn.warn(*complaints)
    require_name(wanted["metadata"], op.name)
    check_place(call.kind, wanted["metadata"], op.namespace, op.name)
    return wanted


def _owners_after(call: Call, current: JsonObject, wanted: JsonObject) -> list[JsonObject]:
    op = call.op
    return kind_named(SCALE_V1).fields.on_update(
        current, wanted, manager=op.manager, now=call.txn.now, subresource=op.subresource
    )


def _applied(call: Call, current: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """The Scale after an apply, and its owners; raises ``ApiError`` for what is no Scale, or ``Conflict``."""
    op = call.op
    given: JsonObject = op.body if isinstance(op.body, dict) else {}
    metadata = given.get("metadata")
    body: JsonObject = {**given, "metadata": metadata if isinstance(metadata, dict) else {}}
    if call.kind.is_custom:
        is_owned = bool(current["metadata"].get("managedFields"))
        what = f"failed to convert new object ({shown_object(body)})" if is_owned else _UNOWNED
        raise ApiError(f"{what} {_NOT_APPLICABLE}")
    return kind_named(SCALE_V1).fields.on_apply(
        current,
        body,
        manager=op.write.field_manager,
        force=op.write.force,
        now=call.txn.now,
        subresource=op.subresource,
    )


def scale_of(kind: Kind, obj: JsonObject, version: str) -> JsonObject:
    """The Scale of an object."""
    paths: ScalePaths = kind.scale  # type: ignore[assignment]  # checked by the caller
    metadata = {name: obj["metadata"][name] for name in _METADATA if name in obj["metadata"]}
    metadata["resourceVersion"] = version
    replicas = at(obj, paths.spec_replicas)
    status: JsonObject = {"replicas": at(obj, paths.status_replicas) or 0}
    selector = at(obj, paths.selector) if paths.selector else None
    if selector:
        status["selector"] = selector if paths.selector_is_text else _selector_text(kind, selector)
    spec = {"replicas": replicas} if replicas else {}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def _selector_text(kind: Kind, selector: JsonObject) -> str:
    """The selector as text; a ReplicationController's is plain labels."""
    if kind.gvk.kind == "ReplicationController":
        return str(LabelSelector.of_labels(selector))
    return str(LabelSelector.of_object(selector))


def _wanted_scale(kind: Kind, wanted: Any, name: str) -> tuple[int, JsonObject]:
    if not isinstance(wanted, dict):
        raise BadRequest("the object provided is not a Scale")
    spec, metadata = _part(wanted, "spec", "ScaleSpec"), _part(wanted, "metadata", "ObjectMeta")
    said = metadata.get("name") or name
    if said != name:
        raise BadRequest(f"the name of the object ({said}) does not match the name on the URL ({name})")
    replicas = spec.get("replicas") or 0
    if not isinstance(replicas, int) or isinstance(replicas, bool) or abs(replicas) > _INT32:
        raise _no_scale("ScaleSpec.spec.replicas", "int32")
    for text in ("uid", "resourceVersion"):
        if not isinstance(metadata.get(text), str | None):
            raise _no_scale(f"ObjectMeta.metadata.{text}", "string")
    if replicas < 0 and not kind.is_custom:  # whose schema says where the count really stands
        error = FieldError.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid.of(SCALE, name, [error])
    return replicas, {**metadata}


def _part(wanted: JsonObject, name: str, go_type: str) -> JsonObject:
    part = wanted.get(name)
    if not isinstance(part, dict | None):
        raise _no_scale(f"Scale.{name}", f"v1.{go_type}")
    return part or {}


def _no_scale(field: str, go_type: str) -> BadRequest:
    return BadRequest(f"Scale cannot be handled: json: cannot unmarshal into Go struct field {field} of type {go_type}")


def at(obj: Any, path: tuple[str, ...]) -> Any:
    """The value at a path; None where the path ends early."""
    for name in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj


def put(obj: JsonObject, path: tuple[str, ...], value: Any) -> JsonObject:
    """The object with a value at a path; what did not change is shared."""
    head, *rest = path
    inner = put(obj.get(head) or {}, tuple(rest), value) if rest else value
    return {**obj, head: inner}
