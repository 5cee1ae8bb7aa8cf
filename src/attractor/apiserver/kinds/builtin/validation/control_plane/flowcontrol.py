"""Rules of flow control: which requests belong to a flow, and how much a priority level may take.

The flows and levels that a server cannot do without (``exempt``, ``catch-all``) keep what they are made with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.rules import each, named
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_GROUP = "flowcontrol.apiserver.k8s.io"
_MAX_PRECEDENCE = 10000
_MAX_QUEUES = 10_000_000
_MAX_HASH_BITS = 60
_PERCENT = 100
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_EVERYONE = ("system:unauthenticated", "system:authenticated")


def _everything(*groups: str) -> list[JsonObject]:
    subjects = [{"kind": "Group", "group": {"name": group}} for group in groups]
    resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    return [{"subjects": subjects, "resourceRules": [resources], "nonResourceRules": [paths]}]


_FIXED_FLOWS: Mapping[str, JsonObject] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": _everything("system:masters"),
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": _MAX_PRECEDENCE,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": _everything(*_EVERYONE),
    },
}
_FIXED_LEVELS: Mapping[str, JsonObject] = {
    "exempt": {"type": "Exempt"},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
    },
}


def validate_flow_schema(flow: JsonObject) -> list[FieldError]:
    """Its place among the flows, its priority level, and its rules."""
    name, spec = flow["metadata"].get("name", ""), flow["spec"]
    errors = _precedence_errors(name, spec.get("matchingPrecedence") or 0)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in {"ByNamespace", "ByUser"}:
        said = {"Type": method.get("type", "")}
        errors.append(FieldError.unsupported("spec.distinguisherMethod.type", said, ("ByNamespace", "ByUser")))
    level, at = (spec.get("priorityLevelConfiguration") or {}).get("name", ""), "spec.priorityLevelConfiguration.name"
    if level:
        errors += named(names.dns1123_subdomain, level, at)
    else:
        errors.append(FieldError.required(at, "must reference a priority level"))
    for rule, where in each(spec, "rules", "spec"):
        errors += _rule_errors(rule, where)
    if name in _FIXED_FLOWS and spec != _FIXED_FLOWS[name]:
        internal = shown(spec, "flowcontrol.FlowSchemaSpec")
        errors.append(FieldError.invalid("spec", internal, f"spec of '{name}' must equal the fixed value"))
    return errors + validate_conditions(flow, flow)


def _precedence_errors(name: str, precedence: int) -> list[FieldError]:
    why = ""
    if precedence <= 0:
        why = "must be a positive value"
    elif precedence > _MAX_PRECEDENCE:
        why = f"must not be greater than {_MAX_PRECEDENCE}"
    elif precedence == 1 and name != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
    return [FieldError.invalid("spec.matchingPrecedence", precedence, why)] if why else []


def _rule_errors(rule: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for subject, at in each(rule, "subjects", path):
        errors += _subject_errors(subject, at)
    if not rule.get("subjects"):
        errors.append(FieldError.required(f"{path}.subjects", "subjects must contain at least one value"))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(FieldError.required(path, why))
    for resources, at in each(rule, "resourceRules", path):
        errors += _verb_errors(resources, at) + _resource_errors(resources, at)
    for paths, at in each(rule, "nonResourceRules", path):
        errors += _verb_errors(paths, at) + _path_errors(paths, at)
    return errors


def _subject_errors(subject: JsonObject, path: str) -> list[FieldError]:
    kind = subject.get("kind", "")
    field = _SUBJECTS.get(kind)
    if field is None:
        return [FieldError.unsupported(f"{path}.kind", kind, ("Group", "ServiceAccount", "User"))]
    said, at = subject.get(field), f"{path}.{field}"
    errors: list[FieldError] = []
    if said is None:
        errors.append(FieldError.required(at, f"{field} is required when subject kind is '{kind}'"))
    elif not said.get("name"):
        errors.append(FieldError.required(f"{at}.name"))
    if said is not None and kind == "ServiceAccount":
        errors += _account_errors(said, at)
    for other, theirs in _SUBJECTS.items():
        if other != kind and subject.get(theirs) is not None:
            why = f"{theirs} is forbidden when subject kind is not '{other}'"
            errors.append(FieldError.forbidden(f"{path}.{theirs}", why))
    return errors


def _account_errors(account: JsonObject, path: str) -> list[FieldError]:
    name, namespace = account.get("name", ""), account.get("namespace", "")
    errors = named(names.dns1123_subdomain, name, f"{path}.name") if name not in {"", "*"} else []
    if namespace:
        return errors + named(names.dns1123_label, namespace, f"{path}.namespace")
    return [*errors, FieldError.required(f"{path}.namespace", "must specify namespace for service account")]


def _alone(values: Sequence[str], path: str, what: str) -> list[FieldError]:
    if "*" in values and len(values) > 1:
        return [FieldError.invalid(path, list(values), f"if '*' is present, must not specify other {what}")]
    return []


def _verb_errors(rule: JsonObject, path: str) -> list[FieldError]:
    verbs, at = rule.get("verbs") or [], f"{path}.verbs"
    if not verbs:
        return [FieldError.required(at, "verbs must contain at least one value")]
    if "*" in verbs:
        return _alone(verbs, at, "verbs")
    return [FieldError.unsupported(at, verbs, _VERBS)] if set(verbs) - set(_VERBS) else []


def _resource_errors(rule: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        at = f"{path}.{field}"
        if not rule.get(field):
            errors.append(FieldError.required(at, f"resource rules must supply at least one {one}"))
        errors += _alone(rule.get(field) or [], at, many)
    namespaces, at = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(FieldError.required(at, why))
    if "*" in namespaces:
        return errors + _alone(namespaces, at, "namespaces")
    for index, namespace in enumerate(namespaces):
        for message in names.dns1123_label(namespace):
            why = f"each member of this list must be '*' or a DNS-1123 label; {message}"
            errors.append(FieldError.invalid(f"{at}[{index}]", namespace, why))
    return errors


def _path_errors(rule: JsonObject, path: str) -> list[FieldError]:
    urls, at = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    if not urls:
        return [FieldError.required(at, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        return _alone(urls, at, "non-resource URLs")
    found = [(index, url, _why_no_path(url)) for index, url in enumerate(urls)]
    return [FieldError.invalid(f"{at}[{index}]", url, why) for index, url, why in found if why]


def _why_no_path(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    return "wildcard can only do suffix matching" if stars > 1 or (stars and not url.endswith("/*")) else ""


def validate_conditions(obj: JsonObject, _old: JsonObject) -> list[FieldError]:
    """Conditions have types, each once."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for condition, at in each(obj.get("status"), "conditions", "status"):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(FieldError.duplicate(f"{at}.type", kind))
        if not kind:
            errors.append(FieldError.required(f"{at}.type"))
        seen.add(kind)
    return errors


def validate_priority_level(level: JsonObject) -> list[FieldError]:
    """What it is limited to, or that it is not."""
    name, spec = level["metadata"].get("name", ""), level["spec"]
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    errors: list[FieldError] = []
    if (name == "exempt") != (kind == "Exempt"):
        detail = "must be 'Exempt' if and only if `name` is 'exempt'"
        errors.append(FieldError.invalid("spec.type", kind, detail))
    if kind == "Exempt":
        if limited is not None:
            errors.append(FieldError.forbidden("spec.limited", "must be nil if the type is not Limited"))
        errors += _share_errors(exempt or {}, "spec.exempt")
    elif kind == "Limited":
        if exempt is not None:
            errors.append(FieldError.forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            errors.append(FieldError.required("spec.limited", "must not be empty when type is Limited"))
        errors += _limited_errors(limited) if limited is not None else []
    elif kind:
        errors.append(FieldError.unsupported("spec.type", kind, ("Exempt", "Limited")))
    else:
        errors.append(FieldError.required("spec.type"))
    return errors + _fixed_level_errors(name, spec) + validate_conditions(level, level)


def _share_errors(part: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    shares: Any = part.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        errors.append(FieldError.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    lendable: Any = part.get("lendablePercent")
    if lendable is not None and not 0 <= lendable <= _PERCENT:
        why = "must be between 0 and 100, inclusive"
        errors.append(FieldError.invalid(f"{path}.lendablePercent", lendable, why))
    return errors


def _limited_errors(limited: JsonObject) -> list[FieldError]:
    at = "spec.limited"
    errors = _share_errors(limited, at) + _response_errors(limited.get("limitResponse") or {}, f"{at}.limitResponse")
    borrowing: Any = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        why = "if specified, must be a non-negative integer"
        errors.append(FieldError.invalid(f"{at}.borrowingLimitPercent", borrowing, why))
    return errors


def _response_errors(response: JsonObject, path: str) -> list[FieldError]:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject":
        why = "must be nil if limited.limitResponse.type is not Limited"
        return [FieldError.forbidden(f"{path}.queuing", why)] if queuing is not None else []
    if kind == "Queue":
        if queuing is None:
            why = "must not be empty if limited.limitResponse.type is Limited"
            return [FieldError.required(f"{path}.queuing", why)]
        return _queue_errors(queuing, f"{path}.queuing")
    if kind:
        return [FieldError.unsupported(f"{path}.type", kind, ("Queue", "Reject"))]
    return [FieldError.required(f"{path}.type")]


def _queue_errors(queuing: JsonObject, path: str) -> list[FieldError]:
    queues, hand = queuing.get("queues") or 0, queuing.get("handSize") or 0
    length = queuing.get("queueLengthLimit") or 0
    errors = [] if length > 0 else [FieldError.invalid(f"{path}.queueLengthLimit", length, "must be positive")]
    if queues <= 0:
        errors.append(FieldError.invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _MAX_QUEUES:
        errors.append(FieldError.invalid(f"{path}.queues", queues, f"must not be greater than {_MAX_QUEUES}"))
    why = ""
    if hand <= 0:
        why = "must be positive"
    elif hand > queues:
        why = f"should not be greater than queues ({queues})"
    elif _entropy_bits(queues, hand) > _MAX_HASH_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than "
        why += str(_MAX_HASH_BITS)
    return [*errors, FieldError.invalid(f"{path}.handSize", hand, why)] if why else errors


def _entropy_bits(deck: int, hand: int) -> int:
    """How many bits it takes to deal a hand of cards."""
    hands = 1
    for dealt in range(hand):
        hands *= deck - dealt
    return (hands - 1).bit_length()


def _fixed_level_errors(name: str, spec: JsonObject) -> list[FieldError]:
    fixed = _FIXED_LEVELS.get(name)
    if fixed is None:
        return []
    compared, but = spec, ""
    if name == "exempt":
        compared, but = (
            {field: value for field, value in spec.items() if field != "exempt"},
            " except the 'spec.exempt' field",
        )
    if compared == fixed:
        return []
    internal = shown(spec, "flowcontrol.PriorityLevelConfigurationSpec")
    return [FieldError.invalid("spec", internal, f"spec of '{name}'{but} must equal the fixed value")]


VALIDATE: Mapping[tuple[str, str], Validator] = {
    (_GROUP, "FlowSchema"): validate_flow_schema,
    (_GROUP, "PriorityLevelConfiguration"): validate_priority_level,
}
STATUS: Mapping[tuple[str, str], UpdateValidator] = {
    (_GROUP, "FlowSchema"): validate_conditions,
    (_GROUP, "PriorityLevelConfiguration"): validate_conditions,
}
