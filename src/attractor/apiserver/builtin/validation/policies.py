"""Rules of ValidatingAdmissionPolicy and its binding; expressions are compiled, so that a broken one is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.builtin.validation.rules import each, one_of
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupVersion
from attractor.objects.labels import validate_label_selector
from attractor.objects.schema.cel import CelCheckError, CelProgram
from attractor.objects.schema.cel.types import BOOL, DYN, STRING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.builtin.validation.rules import Validator
    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.schema.cel.declaration import Declaration
    from attractor.objects.schema.cel.types import Type

_ADMISSION = "admissionregistration.k8s.io"
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_REQUEST = ("object", "oldObject", "request")


def expression_errors(
    expression: str | None, path: str, variables: tuple[str, ...], result: Type | None = BOOL
) -> list[FieldError]:
    """What is wrong with an expression."""
    text = (expression or "").strip()
    if not text:
        return [FieldError.required(path, "expression is not specified")]
    types: dict[str, Type | Declaration] = dict.fromkeys(variables, DYN)
    try:
        program = CelProgram.compile(text, types)
    except CelCheckError as error:
        return [FieldError.invalid(path, text, f"compilation failed: {error}")]
    if result is not None and program.result not in {result, DYN}:
        return [FieldError.invalid(path, text, f"must evaluate to {result}")]
    return []


def match_condition_errors(obj: JsonObject, path: str, variables: tuple[str, ...] = _REQUEST) -> list[FieldError]:
    """Names and expressions of ``matchConditions``."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for condition, at in each(obj, "matchConditions", path):
        name = condition.get("name") or ""
        if not name:
            errors.append(FieldError.required(f"{at}.name"))
        elif name in seen:
            errors.append(FieldError.duplicate(f"{at}.name", name))
        seen.add(name)
        errors += expression_errors(condition.get("expression"), f"{at}.expression", variables)
    return errors


def rule_errors(rule: JsonObject, path: str) -> list[FieldError]:
    """A RuleWithOperations: everything is said, and a wildcard stands alone."""
    errors = []
    for field in ("operations", "apiGroups", "apiVersions", "resources"):
        if not rule.get(field):
            errors.append(FieldError.required(f"{path}.{field}"))
        elif "*" in rule[field] and len(rule[field]) > 1 and field != "resources":
            detail = "if '*' is present, must not specify other " + {
                "apiGroups": "API groups",
                "apiVersions": "API versions",
            }.get(field, field)
            errors.append(FieldError.invalid(f"{path}.{field}", rule[field], detail))
    for operation, at in each(rule, "operations", path):
        errors += one_of(operation, at, _OPERATIONS)
    return errors + one_of(rule.get("scope"), f"{path}.scope", ("*", "Cluster", "Namespaced"), optional=True)


def _match_errors(match: JsonObject, path: str) -> list[FieldError]:
    """MatchResources: rules and selectors that make sense."""
    errors: list[FieldError] = []
    for field in ("resourceRules", "excludeResourceRules"):
        for rule, at in each(match, field, path):
            errors += rule_errors(rule, at)
    for field in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(match.get(field), f"{path}.{field}")
    return errors + one_of(match.get("matchPolicy"), f"{path}.matchPolicy", ("Equivalent", "Exact"), optional=True)


def _param_kind_errors(param: JsonObject) -> list[FieldError]:
    at = "spec.paramKind"
    errors = [FieldError.required(f"{at}.{name}") for name in ("apiVersion", "kind") if not param.get(name)]
    try:
        GroupVersion.parse(param.get("apiVersion") or "")
    except ValueError as error:
        errors.append(FieldError.invalid(f"{at}.apiVersion", param["apiVersion"], str(error)))
    return errors


def validate_policy(policy: JsonObject) -> list[FieldError]:
    """What it matches, what it needs, and that its expressions make sense."""
    spec = policy.get("spec") or {}
    errors: list[FieldError] = []
    known = (*_REQUEST, "namespaceObject", *(("params",) if spec.get("paramKind") else ()))
    errors += one_of(spec.get("failurePolicy"), "spec.failurePolicy", ("Fail", "Ignore"), optional=True)
    param = spec.get("paramKind")
    if param is not None:
        errors += _param_kind_errors(param)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(FieldError.required("spec.matchConstraints"))
    elif not constraints.get("resourceRules"):
        errors.append(FieldError.required("spec.matchConstraints.resourceRules"))
    else:
        errors += _match_errors(constraints, "spec.matchConstraints")
    errors += match_condition_errors(spec, "spec", known)
    for variable, at in each(spec, "variables", "spec"):
        if not variable.get("name"):
            errors.append(FieldError.required(f"{at}.name", "name is not specified"))
        errors += expression_errors(variable.get("expression"), f"{at}.expression", (*known, "variables"), None)
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        why = "validations or auditAnnotations must contain at least one item"
        errors += [FieldError.required(f"spec.{field}", why) for field in ("validations", "auditAnnotations")]
    for validation, at in each(spec, "validations", "spec"):
        errors += expression_errors(validation.get("expression"), f"{at}.expression", (*known, "variables"))
        if validation.get("messageExpression"):
            text, where = validation["messageExpression"], f"{at}.messageExpression"
            errors += expression_errors(text, where, (*known, "variables"), STRING)
        errors += one_of(validation.get("reason"), f"{at}.reason", _REASONS, optional=True)
    return errors


def validate_binding(binding: JsonObject) -> list[FieldError]:
    """Which policy, with which parameters, and what to do about violations."""
    spec = binding.get("spec") or {}
    errors: list[FieldError] = []
    if not spec.get("policyName"):
        errors.append(FieldError.required("spec.policyName"))
    ref = spec.get("paramRef")
    if ref is not None:
        if bool(ref.get("name")) == (ref.get("selector") is not None):
            why = "one of name or selector must be specified"
            errors.append(FieldError.required("spec.paramRef.name", why))
        action = ref.get("parameterNotFoundAction")
        if not action:
            errors.append(FieldError.required("spec.paramRef.parameterNotFoundAction"))
        errors += validate_label_selector(ref.get("selector"), "spec.paramRef.selector")
        errors += one_of(action, "spec.paramRef.parameterNotFoundAction", ("Allow", "Deny"), optional=True)
    errors += _match_errors(spec.get("matchResources") or {}, "spec.matchResources")
    actions = spec.get("validationActions") or ()
    if not actions:
        errors.append(FieldError.required("spec.validationActions", "at least one validation action is required"))
    for index, action in enumerate(actions):
        errors += one_of(action, f"spec.validationActions[{index}]", ("Audit", "Deny", "Warn"))
        if action in actions[:index]:
            errors.append(FieldError.duplicate(f"spec.validationActions[{index}]", action))
    if {"Deny", "Warn"} <= set(actions):
        why = "must not contain both Deny and Warn (repeating the same validation failure information in the API "
        why += "response and headers serves no purpose)"
        errors.append(FieldError.invalid("spec.validationActions", list(actions), why))
    return errors


VALIDATE: Mapping[tuple[str, str], Validator] = {
    (_ADMISSION, "ValidatingAdmissionPolicy"): validate_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): validate_binding,
}
