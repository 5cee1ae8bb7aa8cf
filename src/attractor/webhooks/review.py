"""Admission reviews: the request that a server sends as JSON, answered by a webhook's function."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import orjson

from attractor.objects.json_equality import same_json
from attractor.objects.resource import DecodeError
from attractor.patch.merge_patch import apply_merge_patch, merge_patch_between
from attractor.webhooks.admission import AdmissionRequest, Denied, UserInfo

if TYPE_CHECKING:
    from attractor.objects.json_types import Json, JsonObject
    from attractor.objects.resource import Resource
    from attractor.webhooks.admission import AdmissionWebhook


def answer_admission(hook: AdmissionWebhook[Any], request: JsonObject, user: UserInfo | None = None) -> JsonObject:
    """The ``response`` to an AdmissionReview's ``request``, without its uid; whatever the function raises is raised.

    ``user`` stands in for the one that the request names.
    """
    sent = request.get("object")
    try:
        old = _read(hook, request.get("oldObject"))
        obj = _read(hook, sent) if sent is not None else old
    except DecodeError as error:
        return _unreadable(hook, error)
    if obj is None:
        return {"allowed": True}
    asked: AdmissionRequest[Any] = AdmissionRequest(
        operation=request.get("operation", "CREATE"),
        old=old,
        user=user or _user(request.get("userInfo") or {}),
        dry_run=bool(request.get("dryRun")),
        name=request.get("name") or "",
        namespace=request.get("namespace") or "",
        subresource=request.get("subResource") or "",
    )
    before = obj.to_dict() if hook.mutates else {}
    try:
        changed = hook.function(obj, asked)
    except Denied as why:
        return _with_warnings(asked, {"allowed": False, "status": _status(403, "Forbidden", str(why))})
    if asked.refusals:
        return _with_warnings(asked, {"allowed": False, "status": _invalid(asked.refusals)})
    if not hook.mutates or sent is None:
        return _with_warnings(asked, {"allowed": True})
    after = _returned(hook, obj if changed is None else changed)
    return _with_warnings(asked, {"allowed": True, **_patch(sent, before, after)})


def _read(hook: AdmissionWebhook[Any], sent: JsonObject | None) -> Resource | None:
    read: Resource | None = None if sent is None else hook.kind.from_dict(sent)
    return read


def _unreadable(hook: AdmissionWebhook[Any], error: DecodeError) -> JsonObject:
    """What does not fit the class is refused by who judges; who changes comes before the server's own validation."""
    if hook.mutates:
        return {"allowed": True, "warnings": [f"webhook {hook.name} left the object as it is: {error}"]}
    return {"allowed": False, "status": _status(422, "Invalid", str(error))}


def _returned(hook: AdmissionWebhook[Any], changed: Any) -> JsonObject:
    if not isinstance(changed, hook.kind):
        raise TypeError(f"webhook {hook.name!r} returned {changed!r}; return a {hook.kind.__name__}, or nothing")
    made: JsonObject = changed.to_dict()
    return made


def _user(info: JsonObject) -> UserInfo:
    return UserInfo(
        info.get("username") or "",
        info.get("uid") or "",
        tuple(info.get("groups") or ()),
        {name: tuple(values) for name, values in (info.get("extra") or {}).items()},
    )


def _with_warnings(asked: AdmissionRequest[Any], response: JsonObject) -> JsonObject:
    return {**response, "warnings": asked.warnings} if asked.warnings else response


def _status(code: int, reason: str, message: str) -> JsonObject:
    return {"code": code, "reason": reason, "message": message}


def _invalid(refusals: list[tuple[str, str]]) -> JsonObject:
    told = [f"{field}: {why}" for field, why in refusals]
    causes = [{"reason": "FieldValueInvalid", "message": why, "field": field} for field, why in refusals]
    message = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    return {**_status(422, "Invalid", message), "details": {"causes": causes}}


# What a function changed.


def _patch(sent: JsonObject, before: JsonObject, after: JsonObject) -> JsonObject:
    """The change of a typed copy, as a JSON patch of what was sent; what the class adds by reading is no change."""
    wanted = apply_merge_patch(sent, merge_patch_between(before, after))
    assert isinstance(wanted, dict), "an object stays one"
    steps = list(_steps(sent, wanted, ""))
    if not steps:
        return {}
    return {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(steps)).decode("ascii")}


def _steps(old: JsonObject, new: JsonObject, path: str) -> list[JsonObject]:
    steps: list[JsonObject] = [{"op": "remove", "path": f"{path}/{_token(name)}"} for name in old if name not in new]
    for name, value in new.items():
        at = f"{path}/{_token(name)}"
        if name not in old:
            steps.append({"op": "add", "path": at, "value": value})
            continue
        known: Json = old[name]
        if isinstance(known, dict) and isinstance(value, dict):
            steps += _steps(known, value, at)
        elif not same_json(known, value):
            steps.append({"op": "replace", "path": at, "value": value})
    return steps


def _token(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
