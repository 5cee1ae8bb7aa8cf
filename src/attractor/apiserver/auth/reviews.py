"""Reviews: questions about who one is and what one may do, asked as objects that nobody stores.

``review(call, reviewer)`` answers a create of one of the review kinds. The answer is the asked object with its status
filled in; a self review is about the caller, a SubjectAccessReview about whom it names. The ``Reviewer`` brings what
the core does not know: how to decide, which rules there are, and whose token that is.

Pure: the answer depends on the call, its snapshot and the reviewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.apiserver.auth.authorizer import Attributes
from attractor.apiserver.kinds.metadata import check_place, set_managed_fields
from attractor.apiserver.kinds.served_kind import in_order
from attractor.apiserver.request.caller import User
from attractor.apiserver.request.objects import decode_object
from attractor.apiserver.response import JsonBody, Response
from attractor.objects import names
from attractor.objects.errors import BadRequest, Invalid
from attractor.objects.field import FieldError, InOrder
from attractor.objects.fields import FieldSelector, FieldSelectorError
from attractor.objects.gvk import GroupKind
from attractor.objects.labels import LabelSelector, SelectorError, validate_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from attractor.apiserver.auth.authorizer import Authorizer
    from attractor.apiserver.auth.rbac import Rule
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.verbs.call import Call
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

AUTHENTICATION, AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"
_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_KNOWN_OPERATORS = frozenset(("In", "NotIn", "Exists", "DoesNotExist"))
_NOT_BOTH = "cannot be specified in combination with resourceAttributes"


class Verified(NamedTuple):
    """Whose token it is, and for which of the asked audiences it is good."""

    user: User
    audiences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Answers access and token reviews."""

    authorizer: Authorizer
    rules: Callable[[User, str, Snapshot], Iterable[Rule]]
    """Every rule that applies to a user in a namespace."""
    verify: Callable[[str, Sequence[str]], Verified | None]
    """Whose token that is, for some audiences (the server's own when none are named); None when it is not known."""


def is_review(kind: Kind) -> bool:
    """Whether objects of the kind are answered rather than stored."""
    return (kind.gvk.group, kind.gvk.kind) in _REVIEWS


def review(call: Call, reviewer: Reviewer) -> Response:
    """Answer a review; raises ``ApiError``."""
    op, kind = call.op, call.kind
    obj, warnings = decode_object(kind, op.body, op.duplicates, op.write.field_validation)
    call.txn.warn(*warnings)
    check_place(kind, obj["metadata"], op.namespace, "")
    kind.strategy.default(obj)
    managed = kind.fields.on_update(None, obj, manager=op.manager, now=call.txn.now)
    set_managed_fields(obj["metadata"], managed)
    call.admit(obj, None)
    answered = _REVIEWS[kind.gvk.group, kind.gvk.kind](obj, call, reviewer)
    return Response(201, JsonBody(answered), tuple(warnings))


def _fresh(call: Call, metadata: JsonObject, **parts: JsonObject) -> JsonObject:
    gvk = call.kind.gvk
    return {"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": metadata, **parts}


def _user_info(user: User) -> JsonObject:
    """A user as reviews show it; what is empty is left out."""
    told: JsonObject = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra},
    }
    return {name: value for name, value in told.items() if value}


def _self_subject(_obj: JsonObject, call: Call, _reviewer: Reviewer) -> JsonObject:
    status = {"userInfo": _user_info(call.op.user)}
    return _fresh(call, {"creationTimestamp": call.txn.now}, status=status)


def _token(obj: JsonObject, _call: Call, reviewer: Reviewer) -> JsonObject:
    spec = obj.get("spec") or {}
    if not spec.get("token"):
        raise BadRequest("token is required for TokenReview in authentication")
    verified = reviewer.verify(spec["token"], tuple(spec.get("audiences") or ()))
    if verified is None:
        obj["status"] = {"user": {}, "error": "invalid bearer token"}
        return obj
    obj["status"] = {"authenticated": True, "user": _user_info(verified.user)}
    if verified.audiences:
        obj["status"]["audiences"] = list(verified.audiences)
    return obj


def _rules(obj: JsonObject, call: Call, reviewer: Reviewer) -> JsonObject:
    namespace = (obj.get("spec") or {}).get("namespace")
    if not namespace:
        raise BadRequest("no namespace on request")
    found = list(reviewer.rules(call.op.user, namespace, call.txn.snapshot))
    resources = [
        _present(
            verbs=rule.verbs, apiGroups=rule.api_groups, resources=rule.resources, resourceNames=rule.resource_names
        )
        for rule in found
        if rule.resources
    ]
    others = [
        _present(verbs=rule.verbs, nonResourceURLs=rule.non_resource_urls) for rule in found if rule.non_resource_urls
    ]
    status = {"resourceRules": resources, "nonResourceRules": others, "incomplete": False}
    return _fresh(call, {}, spec={}, status=status)


def _present(**lists: tuple[str, ...]) -> JsonObject:
    return {name: list(values) for name, values in lists.items() if values or name == "verbs"}


def _self_access(obj: JsonObject, call: Call, reviewer: Reviewer) -> JsonObject:
    spec = obj.get("spec") or {}
    _refuse([*_attribute_errors(spec), *_metadata_errors(obj, "must be empty")])
    return _decided(obj, call.op.user, call, reviewer)


def _access(obj: JsonObject, call: Call, reviewer: Reviewer) -> JsonObject:
    spec = obj.get("spec") or {}
    _refuse([*_attribute_errors(spec), *_subject_errors(spec), *_metadata_errors(obj, "must be empty")])
    return _decided(obj, _subject(spec), call, reviewer)


def _local_access(obj: JsonObject, call: Call, reviewer: Reviewer) -> JsonObject:
    spec, metadata = obj.get("spec") or {}, obj["metadata"]
    namespace = metadata.setdefault("namespace", call.op.namespace) or ""
    errors = [*_attribute_errors(spec), *_subject_errors(spec)]
    errors += _metadata_errors(obj, "must be empty except for namespace", also="namespace")
    asked = spec.get("resourceAttributes")
    if asked is not None and (asked.get("namespace") or "") != namespace:
        at = "spec.resourceAttributes.namespace"
        errors.append(FieldError.invalid(at, asked.get("namespace") or "", "must match metadata.namespace"))
    if spec.get("nonResourceAttributes") is not None:
        at, why = "spec.nonResourceAttributes", "disallowed on this kind of request"
        errors.append(FieldError.invalid(at, _as_struct(spec["nonResourceAttributes"]), why))
    _refuse(errors)
    if namespace != call.op.namespace:
        raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {call.op.namespace}")
    return _decided(obj, _subject(spec), call, reviewer)


def _decided(obj: JsonObject, user: User, call: Call, reviewer: Reviewer) -> JsonObject:
    decision = reviewer.authorizer.decide(user, _attributes(obj["spec"]), call.txn.snapshot)
    said = {"reason": decision.reason, "evaluationError": "; ".join(_unread_selectors(obj["spec"]))}
    obj["status"] = {"allowed": decision.allowed, **{name: text for name, text in said.items() if text}}
    return obj


def _unread_selectors(spec: JsonObject) -> Iterator[str]:
    """What is said of selectors that were not understood: nobody's access is narrowed by them."""
    asked = spec.get("resourceAttributes") or {}
    for name, is_read in (("fieldSelector", _is_field_term), ("labelSelector", _is_label_term)):
        selector = asked.get(name) or {}
        raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or ()
        read = [is_read(one) for one in requirements]
        if all(read) and (not raw or _is_selector(name, raw)):
            continue
        yield f"spec.resourceAttributes.{name} {'partially ' if any(read) else ''}ignored due to parse error"


def _is_selector(name: str, text: str) -> bool:
    try:
        if name == "labelSelector":
            LabelSelector.parse(text)
        else:
            FieldSelector.parse(text)
    except (SelectorError, FieldSelectorError):
        return False
    return True


def _is_field_term(requirement: JsonObject) -> bool:
    return requirement.get("operator") in {"In", "NotIn"} and len(requirement.get("values") or ()) == 1


def _is_label_term(requirement: JsonObject) -> bool:
    try:
        LabelSelector.of_object({"matchExpressions": [requirement]})
    except SelectorError:
        return False
    return True


def _attributes(spec: JsonObject) -> Attributes:
    asked = spec.get("resourceAttributes")
    if asked is None:
        other = spec["nonResourceAttributes"]
        return Attributes(other.get("verb") or "", path=other.get("path") or "")
    fields = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    return Attributes(**{name: asked.get(name) or "" for name in fields})


def _subject(spec: JsonObject) -> User:
    extra = tuple((key, tuple(values or ())) for key, values in (spec.get("extra") or {}).items())
    return User(spec.get("user") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)


def _attribute_errors(spec: JsonObject) -> list[FieldError]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        return [FieldError.invalid("spec.nonResourceAttributes", _as_struct(other), _NOT_BOTH)]
    if resource is None and other is None:
        return [FieldError.invalid("spec.resourceAttributes", None, _ONE_OF)]
    return [error for name in ("fieldSelector", "labelSelector") for error in _selector_errors(resource, name)]


def _as_struct(other: JsonObject) -> InOrder:
    """Attributes as Go prints its internal struct, which has no names for JSON."""
    return InOrder(Path=other.get("path") or "", Verb=other.get("verb") or "")


def _selector_errors(resource: JsonObject | None, name: str) -> list[FieldError]:
    selector: Any = (resource or {}).get(name)
    if selector is None:
        return []
    at = f"spec.resourceAttributes.{name}"
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        return [FieldError.invalid(f"{at}.rawSelector", raw, "may not specified at the same time as requirements")]
    if not raw and not requirements:
        why = f"when {at} is specified, requirements or rawSelector is required"
        return [FieldError.required(f"{at}.requirements", why)]
    errors = []
    for index, one in enumerate(requirements or ()):
        errors += _requirement_errors(one, f"{at}.requirements[{index}]", is_of_labels=name == "labelSelector")
    return errors


def _requirement_errors(requirement: JsonObject, path: str, *, is_of_labels: bool) -> list[FieldError]:
    key, values = requirement.get("key") or "", requirement.get("values") or []
    errors = []
    if requirement.get("operator") in _KNOWN_OPERATORS:  # of others, newer clients may know
        errors += validate_operator(requirement["operator"], values, path)
    if not is_of_labels:
        return errors if key else [FieldError.required(f"{path}.key", "must be specified"), *errors]
    errors += [FieldError.invalid(f"{path}.key", key, why) for why in names.qualified_name(key)]
    for index, value in enumerate(values):
        errors += [FieldError.invalid(f"{path}.values[{index}]", value, why) for why in names.label_value(value)]
    return errors


def _subject_errors(spec: JsonObject) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [FieldError.invalid("spec.user", spec.get("user") or "", "at least one of user or group must be specified")]


def _metadata_errors(obj: JsonObject, why: str, also: str = "") -> list[FieldError]:
    said = {name: value for name, value in obj["metadata"].items() if value and name not in {"managedFields", also}}
    return [FieldError.invalid("metadata", _metadata_struct(obj["metadata"]), why)] if said else []


def _metadata_struct(metadata: JsonObject) -> InOrder:
    shown = InOrder(in_order(metadata))
    if "managedFields" in shown:
        shown["managedFields"] = [InOrder(entry) for entry in shown["managedFields"]]
    return shown


def _refuse(errors: list[FieldError]) -> None:
    """Kubernetes names no kind here: its own object has forgotten what it is called."""
    if errors:
        raise Invalid.of(GroupKind(AUTHORIZATION, ""), "", errors)


_REVIEWS: dict[tuple[str, str], Callable[[JsonObject, Call, Reviewer], JsonObject]] = {
    (AUTHENTICATION, "SelfSubjectReview"): _self_subject,
    (AUTHENTICATION, "TokenReview"): _token,
    (AUTHORIZATION, "LocalSubjectAccessReview"): _local_access,
    (AUTHORIZATION, "SelfSubjectAccessReview"): _self_access,
    (AUTHORIZATION, "SelfSubjectRulesReview"): _rules,
    (AUTHORIZATION, "SubjectAccessReview"): _access,
}
