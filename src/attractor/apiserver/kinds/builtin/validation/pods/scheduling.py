"""Rules of where a pod may run: tolerations, affinity, spreading, gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.validation.rules import each, named, one_of
from attractor.objects import names
from attractor.objects.field import FieldError
from attractor.objects.labels import validate_label_selector, validate_operator

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_OPERATORS = ("Equal", "Exists")
_COMPARING = ("Equal", "Exists", "Lt", "Gt")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_WEIGHT = 100


def validate_scheduling(spec: JsonObject, path: str) -> list[FieldError]:
    """Everything that tells the scheduler where a pod may run."""
    errors = validate_affinity(spec.get("affinity"), f"{path}.affinity")
    for gate, at in each(spec, "readinessGates", path):
        errors += named(names.qualified_name, gate.get("conditionType", ""), f"{at}.conditionType")
    errors += _validate_gates(spec, path)
    errors += _validate_spreading(spec, path)
    return errors + validate_tolerations(spec, path)


def validate_tolerations(spec: JsonObject, path: str) -> list[FieldError]:
    """Keys, operators, values and effects of tolerations."""
    errors = []
    for toleration, at in each(spec, "tolerations", path):
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        if key:
            errors += named(names.qualified_name, key, f"{at}.key")
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(FieldError.invalid(f"{at}.operator", operator, detail))
        if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(FieldError.invalid(f"{at}.effect", toleration.get("effect", ""), detail))
        errors += _validate_operator(operator, toleration.get("value", ""), f"{at}.operator")
        errors += one_of(toleration.get("effect"), f"{at}.effect", _EFFECTS, optional=True)
    return errors


def _validate_operator(operator: str, value: str, path: str) -> list[FieldError]:
    if operator in {"", "Equal"}:
        wrong = names.label_value(value)
        return [FieldError.invalid(path, value, ";".join(wrong))] if wrong else []
    if operator == "Exists":
        return [FieldError.invalid(path, value, "value must be empty when `operator` is 'Exists'")] if value else []
    # Comparing operators are behind a feature gate that is off; only then are they listed.
    supported = _COMPARING if operator in _COMPARING else _OPERATORS
    return [FieldError.unsupported(path, operator, supported)]


def _validate_gates(spec: JsonObject, path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for gate, at in each(spec, "schedulingGates", path):
        name = gate.get("name", "")
        errors += named(names.qualified_name, name, at)
        if name in seen:
            errors.append(FieldError.duplicate(at, name))
        seen.add(name)
    return errors


def _validate_spreading(spec: JsonObject, path: str) -> list[FieldError]:
    errors = []
    constraints = spec.get("topologySpreadConstraints") or []
    for index, (constraint, at) in enumerate(each(spec, "topologySpreadConstraints", path)):
        skew, key, action = (constraint.get(f) for f in ("maxSkew", "topologyKey", "whenUnsatisfiable"))
        if (skew or 0) <= 0:
            errors.append(FieldError.invalid(f"{at}.maxSkew", skew or 0, "must be greater than zero"))
        if not key:
            errors.append(FieldError.required(f"{at}.topologyKey", "can not be empty"))
        if action not in {"DoNotSchedule", "ScheduleAnyway"}:
            supported = ("DoNotSchedule", "ScheduleAnyway")
            errors.append(FieldError.unsupported(f"{at}.whenUnsatisfiable", action or "", supported))
        later = [(one.get("topologyKey"), one.get("whenUnsatisfiable")) for one in constraints[index + 1 :]]
        if (key, action) in later:
            where = f"{at}.{{topologyKey, whenUnsatisfiable}}"
            errors.append(FieldError.duplicate(where, f"{{{key or ''}, {action or ''}}}"))
        errors += _validate_min_domains(constraint.get("minDomains"), action, f"{at}.minDomains")
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            errors += one_of(constraint.get(field), f"{at}.{field}", ("Honor", "Ignore"), optional=True)
        if constraint.get("matchLabelKeys") and constraint.get("labelSelector") is None:
            detail = "must not be specified when labelSelector is not set"
            errors.append(FieldError.forbidden(f"{at}.matchLabelKeys", detail))
        errors += validate_label_selector(constraint.get("labelSelector"), f"{at}.labelSelector")
    return errors


def _validate_min_domains(domains: int | None, action: Any, path: str) -> list[FieldError]:
    if domains is None:
        return []
    errors = [FieldError.invalid(path, domains, "must be greater than zero")] if domains <= 0 else []
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(FieldError.invalid(path, domains, detail))
    return errors


def validate_affinity(affinity: JsonObject | None, path: str) -> list[FieldError]:
    """Affinity to nodes, to pods, and away from pods."""
    if not affinity:
        return []
    errors: list[FieldError] = []
    node, at = affinity.get("nodeAffinity") or {}, f"{path}.nodeAffinity"
    if node.get(_REQUIRED) is not None:
        errors += validate_node_selector(node[_REQUIRED], f"{at}.{_REQUIRED}")
    for term, where in each(node, _PREFERRED, at):
        errors += _validate_weight(term, where)
        errors += _validate_node_term(term.get("preference") or {}, f"{where}.preference", any_value=True)
    for field in ("podAffinity", "podAntiAffinity"):
        said, at = affinity.get(field), f"{path}.{field}"
        for term, where in each(said, _REQUIRED, at):
            errors += _validate_pod_term(term, where)
        for term, where in each(said, _PREFERRED, at):
            errors += _validate_weight(term, where)
            errors += _validate_pod_term(term.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")
    return errors


def _validate_weight(term: JsonObject, path: str) -> list[FieldError]:
    weight = term.get("weight", 0)
    if 0 < weight <= _MAX_WEIGHT:
        return []
    return [FieldError.invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def validate_node_selector(selector: JsonObject, path: str) -> list[FieldError]:
    """A selector of nodes has at least one term."""
    if not selector.get("nodeSelectorTerms"):
        return [FieldError.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [
        error
        for term, at in each(selector, "nodeSelectorTerms", path)
        for error in _validate_node_term(term, at, any_value=False)
    ]


def _validate_node_term(term: JsonObject, path: str, *, any_value: bool) -> list[FieldError]:
    errors = []
    for requirement, at in each(term, "matchExpressions", path):
        errors += _validate_expression(requirement, at)
        for value, where in each(requirement, "values", at) if not any_value else ():
            errors += named(names.label_value, value, where)
    for requirement, at in each(term, "matchFields", path):
        errors += _validate_field_requirement(requirement, at)
    return errors


def _validate_expression(requirement: JsonObject, path: str) -> list[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator not in {"Gt", "Lt"}:
        errors = validate_operator(operator, values, path)
    else:
        detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        errors = [] if len(values) == 1 else [FieldError.required(f"{path}.values", detail)]
    return errors + named(names.qualified_name, requirement.get("key", ""), f"{path}.key")


def _validate_field_requirement(requirement: JsonObject, path: str) -> list[FieldError]:
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    errors = []
    if operator not in {"In", "NotIn"}:
        errors.append(FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(requirement.get("values") or ()) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(FieldError.required(f"{path}.values", detail))
    if key != "metadata.name":
        return [*errors, FieldError.invalid(f"{path}.key", key, "not a valid field selector key")]
    for value, at in each(requirement, "values", path):
        errors += named(names.dns1123_subdomain, value, at)
    return errors


def _validate_pod_term(term: JsonObject, path: str) -> list[FieldError]:
    errors = validate_label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    errors += validate_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        errors += named(names.dns1123_label, name, f"{path}.namespace")
    key = term.get("topologyKey", "")
    if not key:
        errors.append(FieldError.required(f"{path}.topologyKey", "can not be empty"))
    return errors + named(names.qualified_name, key, f"{path}.topologyKey")
