"""Rules of admission policies and their bindings; broken expressions of validating ones are refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attractor.apiserver.builtin.validation.rules import each, named, one_of, required_name
from attractor.objects import names
from attractor.objects.field import FieldError
from attractor.objects.gvk import GroupVersion
from attractor.objects.labels import validate_label_selector
from attractor.objects.schema.cel import CelCheckError, CelProgram
from attractor.objects.schema.cel.authorizer import VARIABLES
from attractor.objects.schema.cel.types import BOOL, DYN, STRING, resolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.builtin.validation.rules import Validator
    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.schema.cel.declaration import Declaration
    from attractor.objects.schema.cel.types import Type

_ADMISSION = "admissionregistration.k8s.io"
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_REQUEST = ("object", "oldObject", "request", *VARIABLES)
_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


def expression_errors(
    expression: str | None, path: str, variables: tuple[str, ...], result: Type | None = BOOL
) -> list[FieldError]:
    """What is wrong with an expression."""
    text = (expression or "").strip()
    if not text:
        return [FieldError.required(path, "expression is not specified")]
    types: dict[str, Type | Declaration] = {name: VARIABLES.get(name, DYN) for name in variables}
    try:
        program = CelProgram.compile(text, types)
    except CelCheckError as error:
        return [FieldError.invalid(path, text, f"compilation failed: {error}")]
    # What a variable is, its own expression says; it is not looked up here.
    wanted = {result, DYN} if "variables" in variables and "variables." in text else {result}
    if result is not None and program.result not in wanted:
        return [FieldError.invalid(path, text, f"must evaluate to {result} but got {resolved(program.result, {})}")]
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
    errors += _resource_errors(rule.get("resources") or [], f"{path}.resources")
    for operation, at in each(rule, "operations", path):
        errors += one_of(operation, at, _OPERATIONS)
    return errors + one_of(rule.get("scope"), f"{path}.scope", ("*", "Cluster", "Namespaced"), optional=True)


def _resource_errors(resources: list[str], path: str) -> list[FieldError]:
    """Wildcards that leave nothing for others to say."""
    errors: list[FieldError] = []
    all_of: set[str] = set()
    everywhere: set[str] = set()
    for index, text in enumerate(resources):
        at, (resource, slash, subresource) = f"{path}[{index}]", text.partition("/")
        if not text:
            errors.append(FieldError.required(at))
        if not slash:
            continue
        if resource in all_of:
            errors.append(FieldError.invalid(at, text, f"if '{resource}/*' is present, must not specify {text}"))
        if subresource in everywhere:
            errors.append(FieldError.invalid(at, text, f"if '*/{subresource}' is present, must not specify {text}"))
        all_of |= {resource} if subresource == "*" else set()
        everywhere |= {subresource} if resource == "*" else set()
    if "*/*" in resources and len(resources) > 1:
        errors.append(FieldError.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    plain = [text for text in resources if text and "/" not in text]
    if "*" in resources and plain and plain[-1] != "*":
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(FieldError.invalid(path, resources, why))
    return errors


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


def _known(spec: JsonObject) -> tuple[str, ...]:
    """What an expression of a policy may speak of."""
    return (*_REQUEST, "namespaceObject", *(("params",) if spec.get("paramKind") is not None else ()))


def _matching_errors(spec: JsonObject) -> list[FieldError]:
    """What both kinds of policies say of the requests that they are for."""
    errors = one_of(spec.get("failurePolicy"), "spec.failurePolicy", ("Fail", "Ignore"), optional=True)
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
    errors += match_condition_errors(spec, "spec", _known(spec))
    for variable, at in each(spec, "variables", "spec"):
        name = variable.get("name", "")
        if not name.strip():
            errors.append(FieldError.required(f"{at}.name", "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name):
            errors.append(FieldError.invalid(f"{at}.name", name, "must be a valid CEL identifier"))
        errors += expression_errors(variable.get("expression"), f"{at}.expression", (*_known(spec), "variables"), None)
    return errors


def validate_policy(policy: JsonObject) -> list[FieldError]:
    """What it matches, what it needs, and that its expressions make sense."""
    spec = policy.get("spec") or {}
    errors = _matching_errors(spec)
    known = (*_known(spec), "variables")
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        why = "validations or auditAnnotations must contain at least one item"
        errors += [FieldError.required(f"spec.{field}", why) for field in ("validations", "auditAnnotations")]
    for validation, at in each(spec, "validations", "spec"):
        errors += expression_errors(validation.get("expression"), f"{at}.expression", known)
        errors += _message_errors(validation, at, known)
        errors += one_of(validation.get("reason"), f"{at}.reason", _REASONS, optional=True)
    name = policy["metadata"].get("name", "")
    for annotation, at in each(spec, "auditAnnotations", "spec"):
        errors += named(names.qualified_name, f"{name}/{annotation.get('key', '')}", f"{at}.key")
        text, where = annotation.get("valueExpression", ""), f"{at}.valueExpression"
        if not text.strip():
            errors.append(FieldError.required(where, "valueExpression is not specified"))
        else:
            errors += expression_errors(text, where, known, None)
    return errors


def _message_errors(validation: JsonObject, path: str, known: tuple[str, ...]) -> list[FieldError]:
    errors: list[FieldError] = []
    text, message = validation.get("messageExpression") or "", validation.get("message") or ""
    empty = "must be non-empty if specified"
    if text.strip():
        told = tuple(name for name in known if name not in VARIABLES)  # what is said of a refusal asks nobody
        errors += expression_errors(text, f"{path}.messageExpression", told, STRING)
    elif text:
        errors.append(FieldError.invalid(f"{path}.messageExpression", text, empty))
    if message and not message.strip():
        errors.append(FieldError.invalid(f"{path}.message", message, empty))
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.append(FieldError.invalid(f"{path}.message", message, "must not contain line breaks"))
    return errors


def validate_mutating_policy(policy: JsonObject) -> list[FieldError]:
    """What it matches, and that every change is of one of the two kinds."""
    spec = policy.get("spec") or {}
    errors = _matching_errors(spec) + _mutable_errors(spec.get("matchConstraints"), "spec.matchConstraints")
    if not spec.get("mutations"):
        errors.append(FieldError.required("spec.mutations", "mutations must contain at least one item"))
    for mutation, at in each(spec, "mutations", "spec"):
        kind = mutation.get("patchType")
        errors += one_of(kind, f"{at}.patchType", tuple(_PATCHES))
        for patch_type, field in _PATCHES.items() if kind in _PATCHES else ():
            said, where = mutation.get(field) is not None, f"{at}.{field}"
            if kind == patch_type and not said:
                errors.append(FieldError.required(where, f"must be specified when patchType is {kind}"))
            elif kind != patch_type and said:
                why = f"must not be specified when patchType is {kind}"
                errors.append(FieldError.invalid(where, f"{{{field}}}", why))
    return errors + one_of(spec.get("reinvocationPolicy"), "spec.reinvocationPolicy", ("IfNeeded", "Never"))


def _mutable_errors(match: JsonObject | None, path: str) -> list[FieldError]:
    """Only what is written can be changed on the way."""
    return [
        FieldError.unsupported(f"{path}.resourceRules.operations", operation, ("CREATE", "UPDATE"))
        for rule in (match or {}).get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in {"CREATE", "UPDATE"}
    ]


def _param_ref_errors(ref: JsonObject) -> list[FieldError]:
    """Parameters by name or by selector, and what to do without."""
    at, name, selector = "spec.paramRef", ref.get("name") or "", ref.get("selector")
    errors = named(names.path_segment, name, f"{at}.name") if name else []
    if name and selector is not None:
        why = "name and selector are mutually exclusive"
        errors += [FieldError.forbidden(f"{at}.{field}", why) for field in ("name", "selector")]
    errors += validate_label_selector(selector, f"{at}.selector")
    if not name and selector is None:
        errors.append(FieldError.required(at, "one of name or selector must be specified"))
    return errors + one_of(ref.get("parameterNotFoundAction"), f"{at}.parameterNotFoundAction", ("Deny", "Allow"))


def _bound_errors(spec: JsonObject) -> list[FieldError]:
    policy = spec.get("policyName") or ""
    errors = required_name(names.dns1123_subdomain, policy, "spec.policyName")
    if spec.get("paramRef") is not None:
        errors += _param_ref_errors(spec["paramRef"])
    return errors + _match_errors(spec.get("matchResources") or {}, "spec.matchResources")


def validate_mutating_binding(binding: JsonObject) -> list[FieldError]:
    """Which policy, with which parameters."""
    spec = binding.get("spec") or {}
    return _bound_errors(spec) + _mutable_errors(spec.get("matchResources"), "spec.matchResources")


def validate_binding(binding: JsonObject) -> list[FieldError]:
    """Which policy, with which parameters, and what to do about violations."""
    spec = binding.get("spec") or {}
    errors = _bound_errors(spec)
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
    (_ADMISSION, "MutatingAdmissionPolicy"): validate_mutating_policy,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): validate_mutating_binding,
    (_ADMISSION, "ValidatingAdmissionPolicy"): validate_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): validate_binding,
}
