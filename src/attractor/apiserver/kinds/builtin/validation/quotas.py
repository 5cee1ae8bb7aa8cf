"""Rules of ResourceQuotas: what can be limited, and for which objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.validation.resources import (
    INTEGER_RESOURCES,
    STANDARD_RESOURCES,
    is_huge_pages,
    validate_resource_name,
)
from attractor.apiserver.kinds.builtin.validation.rules import amount, quantity_at_least_zero
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_COMPUTE = frozenset(("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"))
_OF_PODS = _COMPUTE | {"pods"}
_SCOPES: Mapping[str, frozenset[str]] = {
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "BestEffort": frozenset(("pods",)),
    "NotBestEffort": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
"""What can be limited for the objects of each scope."""
_WITH_VALUES = frozenset(("PriorityClass", "VolumeAttributesClass"))
_PAIRS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_OUT_OF_SCOPE = "unsupported scope applied to resource"
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def validate_resource_quota(quota: JsonObject) -> list[FieldError]:
    """Names, amounts and scopes."""
    spec = quota["spec"]
    return _amount_errors(spec.get("hard") or {}, "spec.hard") + _scope_errors(spec) + _selector_errors(spec)


def _amount_errors(amounts: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, value in amounts.items():
        at = f"{path}[{name}]"
        errors += [] if name.startswith("count/") else _validate_quota_name(name, at)
        errors += quantity_at_least_zero(value, at)
        if (name in INTEGER_RESOURCES or name.startswith("count/")) and amount(value).nanos % 10**9:
            errors.append(FieldError.invalid(at, value, "must be an integer"))
    return errors


def _validate_quota_name(name: str, path: str) -> list[FieldError]:
    errors = validate_resource_name(name, path)
    if "/" not in name and name not in STANDARD_RESOURCES and not is_huge_pages(name):
        errors.append(FieldError.invalid(path, name, "must be a standard resource for quota"))
    return errors


def _out_of_scope(scope: str, spec: JsonObject) -> int:
    """How many of the limited resources objects of the scope do not have."""
    known, hard = _SCOPES.get(scope, STANDARD_RESOURCES), spec.get("hard") or {}
    return sum(name in STANDARD_RESOURCES and name not in known for name in hard)


def _scope_errors(spec: JsonObject) -> list[FieldError]:
    scopes, at = spec.get("scopes") or [], "spec.scopes"
    errors: list[FieldError] = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(FieldError.invalid(at, scopes, "unsupported scope"))
        errors += [FieldError.invalid(at, scopes, _OUT_OF_SCOPE)] * _out_of_scope(scope, spec)
    return errors + [FieldError.invalid(at, scopes, "conflicting scopes") for pair in _PAIRS if pair <= set(scopes)]


def _selector_errors(spec: JsonObject) -> list[FieldError]:
    selector, at = spec.get("scopeSelector"), "spec.scopeSelector.matchExpressions"
    errors: list[FieldError] = []
    scopes: set[str] = set()
    for rule in (selector or {}).get("matchExpressions") or ():
        scope, operator, values = rule.get("scopeName", ""), rule.get("operator", ""), rule.get("values") or []
        if scope not in _SCOPES:
            errors.append(FieldError.invalid(f"{at}.scopeName", scope, "unsupported scope"))
        errors += [FieldError.invalid(at, selector, _OUT_OF_SCOPE)] * _out_of_scope(scope, spec)
        if scope in _SCOPES and scope not in _WITH_VALUES and operator != "Exists":
            errors.append(FieldError.invalid(f"{at}.operator", operator, _ONLY_EXISTS))
        errors += _value_errors(operator, values, at)
        scopes.add(scope)
    said = spec.get("scopes")
    return errors + [FieldError.invalid(at, said, "conflicting scopes") for pair in _PAIRS if pair <= scopes]


def _value_errors(operator: str, values: list[str], path: str) -> list[FieldError]:
    if operator in {"In", "NotIn"}:
        why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        return [] if values else [FieldError.required(f"{path}.values", why)]
    if operator in {"Exists", "DoesNotExist"}:
        why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        return [FieldError.invalid(f"{path}.values", values, why)] if values else []
    return [FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator")]


def update_resource_quota(quota: JsonObject, old: JsonObject) -> list[FieldError]:
    """Scopes never change."""
    before = old["spec"].get("scopes") or []
    if sorted(quota["spec"].get("scopes") or []) == sorted(before):
        return []
    return [FieldError.invalid("spec.scopes", quota["spec"].get("scopes"), "field is immutable")]


def validate_quota_status(quota: JsonObject, _old: JsonObject) -> list[FieldError]:
    """Names and amounts of what is limited and of what is used."""
    status = quota.get("status") or {}
    return _amount_errors(status.get("hard") or {}, "status.hard") + _amount_errors(
        status.get("used") or {}, "status.used"
    )


VALIDATE: Mapping[tuple[str, str], Validator] = {("", "ResourceQuota"): validate_resource_quota}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {("", "ResourceQuota"): update_resource_quota}
STATUS: Mapping[tuple[str, str], UpdateValidator] = {("", "ResourceQuota"): validate_quota_status}
