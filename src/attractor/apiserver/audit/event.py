"""One audit event as one line of JSON, in the form of ``audit.k8s.io/v1``.

What may be in it is decided by its level. At Metadata a refusal of a request that had a body is told by its code and
reason alone, for its message may quote the body; Kubernetes writes the message down and so leaks what it quotes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import orjson

from attractor.apiserver.audit.policy import API_VERSION, LEVEL_NAMES, Level

if TYPE_CHECKING:
    from attractor.apiserver.audit.policy import Stage, Verdict
    from attractor.apiserver.auth.authorizer import Attributes, Decision
    from attractor.apiserver.request.caller import User
    from attractor.objects.json_types import JsonObject

RESULT = "attractor.dev/resource-version"
"""The annotation that says which resourceVersion a write has led to."""
DECISION, REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
MAX_USER_AGENT_CHARACTERS = 1024
_WRITES = frozenset({"create", "update", "patch", "delete"})


class Asked(NamedTuple):
    """A request as its head tells it."""

    audit_id: str
    uri: str
    attributes: Attributes
    received: str
    """When, to the microsecond."""
    user: User | None = None
    """None when the credentials are nobody's."""
    source_ips: tuple[str, ...] = ()
    user_agent: str = ""
    had_body: bool = False


class Told(NamedTuple):
    """The course of a request after its head: its object, its answer."""

    impersonated: User | None = None
    decision: Decision | None = None
    """None when nobody was asked whether it is allowed."""
    body: bytes = b""
    """The request's, as JSON; empty when there was none that could be read."""
    code: int = 0
    """The answer's; 0 before there is one."""
    answer: bytes = b""
    """The answer's body, if it is JSON."""
    message: str = ""
    """Said instead of the answer's own words."""


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class _Details(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _Object(msgspec.Struct):
    """Of an object or a Status, what tells them from others."""

    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_decode = msgspec.json.Decoder(_Object).decode


def event_line(asked: Asked, told: Told, stage: Stage, at: str, verdict: Verdict) -> bytes:
    """The event of one stage, as a line."""
    level = verdict.level
    is_complete = stage != "RequestReceived"
    verb = asked.attributes.verb
    sent = _decoded(told.body) if verb in {"create", "update"} else None
    got = _decoded(told.answer) if told.code >= 400 or verb in _WRITES else None
    event: JsonObject = {
        "kind": "Event",
        "apiVersion": API_VERSION,
        "level": LEVEL_NAMES[level],
        "auditID": asked.audit_id,
        "stage": stage,
        "requestURI": asked.uri,
        "verb": verb,
        "user": _user(asked.user),
    }
    if told.impersonated is not None:
        event["impersonatedUser"] = _user(told.impersonated)
    if asked.source_ips:
        event["sourceIPs"] = asked.source_ips
    if asked.user_agent:
        event["userAgent"] = _shortened(asked.user_agent)
    if asked.attributes.resource:
        event["objectRef"] = _reference(asked.attributes, sent, got)
    if is_complete and told.code:
        event["responseStatus"] = _status(asked, told, got, level)
    if is_complete:
        _add_objects(event, told, verdict)
    event["requestReceivedTimestamp"] = asked.received
    event["stageTimestamp"] = at
    if annotations := _annotations(told, verb, got):
        event["annotations"] = annotations
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def _decoded(body: bytes) -> _Object | None:
    """What a body says of itself; None when it is no object."""
    if not body:
        return None
    try:
        return _decode(body)
    except msgspec.DecodeError:
        return None


def _user(user: User | None) -> JsonObject:
    if user is None:
        return {}
    said: JsonObject = {"username": user.name}
    if user.uid:
        said["uid"] = user.uid
    if user.groups:
        said["groups"] = user.groups
    if user.extra:
        said["extra"] = dict(user.extra)
    return said


def _shortened(user_agent: str) -> str:
    if len(user_agent) <= MAX_USER_AGENT_CHARACTERS:
        return user_agent
    return f"{user_agent[:MAX_USER_AGENT_CHARACTERS]}...TRUNCATED"


def _reference(asked: Attributes, sent: _Object | None, got: _Object | None) -> JsonObject:
    """What the request is about; name and uid of a created object are known from the answer."""
    said = sent.metadata if sent is not None else _Metadata()
    became = got.metadata if got is not None and got.kind != "Status" else _Metadata()
    details = got.details if got is not None and got.kind == "Status" and got.details is not None else _Details()
    reference = {
        "resource": asked.resource,
        "namespace": asked.namespace or said.namespace,
        "name": asked.name or said.name or became.name,
        "uid": said.uid or became.uid or details.uid,
        "apiGroup": asked.group,
        "apiVersion": asked.version,
        "resourceVersion": said.resource_version,
        "subresource": asked.subresource,
    }
    return {name: value for name, value in reference.items() if value}


def _status(asked: Asked, told: Told, got: _Object | None, level: Level) -> JsonObject:
    """How it ended, in the answer's own words where they cannot quote what was sent."""
    status: JsonObject = {"metadata": {}}
    if told.code >= 400:
        status["status"] = "Failure"
    if told.message:
        status["message"] = told.message
    elif got is not None and got.kind == "Status" and got.message and (level > Level.METADATA or not asked.had_body):
        status["message"] = got.message
    if got is not None and got.kind == "Status" and got.reason:
        status["reason"] = got.reason
    status["code"] = told.code
    return status


def _annotations(told: Told, verb: str, got: _Object | None) -> dict[str, str]:
    annotations: dict[str, str] = {}
    if told.decision is not None:
        annotations[DECISION] = "allow" if told.decision.allowed else "forbid"
        annotations[REASON] = told.decision.reason
    if verb in _WRITES and got is not None and told.code < 400 and got.metadata.resource_version:
        annotations[RESULT] = got.metadata.resource_version
    return annotations


def _add_objects(event: JsonObject, told: Told, verdict: Verdict) -> None:
    if verdict.level >= Level.REQUEST and (sent := _embedded(told.body, verdict)) is not None:
        event["requestObject"] = sent
    if verdict.level >= Level.REQUEST_RESPONSE and told.answer:
        if verdict.omit_managed_fields or b"\n" in told.answer:
            event["responseObject"] = _embedded(told.answer, verdict)
        else:
            event["responseObject"] = orjson.Fragment(told.answer)  # a list of thousands is not worth reading again


def _embedded(body: bytes, verdict: Verdict) -> object | None:
    """A body within an event, without line breaks; None when there is none or it is not JSON."""
    if not body:
        return None
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if verdict.omit_managed_fields and isinstance(value, dict):
        for item in (value, *_items(value)):
            metadata = item.get("metadata") if isinstance(item, dict) else None
            if isinstance(metadata, dict):
                metadata.pop("managedFields", None)
    return value


def _items(value: JsonObject) -> list[object]:
    items = value.get("items")
    return items if isinstance(items, list) else []
