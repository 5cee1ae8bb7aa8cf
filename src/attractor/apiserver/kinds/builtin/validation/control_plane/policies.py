"""Rules of admission policies and their bindings; broken expressions of validating ones are refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from attractor.apiserver.kinds.builtin.validation.conditions import validate_conditions
from attractor.apiserver.kinds.builtin.validation.rules import each, known, named, one_of, required_name
from attractor.cel import CelCheckError, CelProgram
from attractor.cel.authorizer import VARIABLES
from attractor.cel.declaration import Declaration
from attractor.cel.types import BOOL, DYN, NULL, STRING, Type, resolved
from attractor.objects import names
from attractor.objects.field import FieldError, repeated
from attractor.objects.gvk import GroupVersion
from attractor.objects.labels import validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_ADMISSION = "admissionregistration.k8s.io"
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_REQUEST: Names = {"object": DYN, "oldObject": DYN, "request": DYN, **VARIABLES}
_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


Names: TypeAlias = "Mapping[str, Type | Declaration]"
"""What an expression may speak of."""


def expression_errors(expression: str | None, path: str, known: Names, *results: Type) -> list[FieldError]:
    """What is wrong with an expression that gives one of these results; anything, if there are none."""
    return _checked(expression, path, known, *results)[1]


def _checked(expression: str | None, path: str, known: Names, *results: Type) -> tuple[Type, list[FieldError]]:
    text = (expression or "").strip()
    if not text:
        return DYN, [FieldError.required(path, "expression is not specified")]
    try:
        found = CelProgram.compile(text, dict(known)).result
    except CelCheckError as error:
        return DYN, [FieldError.invalid(path, text, f"compilation failed: {error}")]
    if results and found not in results:
        listed = " ".join(map(str, results))
        wanted = f"one of [{listed}]" if len(results) > 1 else listed
        detail = f"must evaluate to {wanted} but got {resolved(found, {})}"
        return found, [FieldError.invalid(path, text, detail)]
    return found, []


def match_condition_errors(obj: JsonObject, path: str, known: Names = _REQUEST) -> list[FieldError]:
    """Names and expressions of ``matchConditions``."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for condition, at in each(obj, "matchConditions", path):
        name = condition.get("name") or ""
        if not name:
            errors.append(FieldError.required(f"{at}.name"))
        else:
            errors += named(names.qualified_name, name, f"{at}.name")
        if name and name in seen:
            errors.append(FieldError.duplicate(f"{at}.name", name))
        seen.add(name)
        text = condition.get("expression") or ""
        errors += (
            expression_errors(text, f"{at}.expression", known, BOOL)
            if text.strip()
            else [FieldError.required(f"{at}.expression")]
        )
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
    errors += [FieldError.required(at) for version, at in each(rule, "apiVersions", path) if not version]
    errors += _resource_errors(rule.get("resources") or [], f"{path}.resources")
    for operation, at in each(rule, "operations", path):
        errors += known(operation, at, _OPERATIONS)
    return errors + known(rule.get("scope"), f"{path}.scope", ("*", "Cluster", "Namespaced"))


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
            wanted = rule.get("resourceNames") or []
            twice = repeated(wanted)
            for index, name in enumerate(wanted):
                where = f"{at}.resourceNames[{index}]"
                errors += named(names.path_segment, name, where)
                errors += [FieldError.duplicate(where, name)] if index in twice else []
            errors += rule_errors(rule, at)
    for field in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(match.get(field), f"{path}.{field}")
    return errors + known(match.get("matchPolicy"), f"{path}.matchPolicy", ("Equivalent", "Exact"))


def _param_kind_errors(param: JsonObject) -> list[FieldError]:
    at, version, kind = "spec.paramKind", param.get("apiVersion") or "", param.get("kind") or ""
    errors = [FieldError.required(f"{at}.{name}") for name in ("apiVersion", "kind") if not param.get(name)]
    wrong = names.dns1035_label(kind.lower()) if kind else []
    if wrong:
        why = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        errors.append(FieldError.invalid(f"{at}.kind", kind, why))
    try:
        found = GroupVersion.parse(version)
    except ValueError as error:
        return [*errors, FieldError.invalid(f"{at}.apiVersion", version, str(error))]
    if not version:
        return errors
    if not found.version:
        errors.append(FieldError.invalid(f"{at}.apiVersion", version, "version must be specified"))
    for part, rule in ((found.group, names.dns1123_subdomain), (found.version, names.dns1035_label)):
        wrong = rule(part) if part else []
        errors += [FieldError.invalid(f"{at}.apiVersion", part, ",".join(wrong))] if wrong else []
    return errors


def _known(spec: JsonObject) -> Names:
    """What an expression of a policy may speak of, but for its variables."""
    params: Names = {"params": DYN} if spec.get("paramKind") is not None else {}
    return {**_REQUEST, "namespaceObject": DYN, **params}


def _with_variables(spec: JsonObject) -> tuple[Names, list[FieldError]]:
    """What an expression may speak of, with the variables and their types; each knows those before it."""
    declared, errors = Declaration(Type("kubernetes.variables")), []
    known: Names = {**_known(spec), **({"variables": declared} if spec.get("variables") else {})}
    for variable, at in each(spec, "variables", "spec"):
        name = variable.get("name", "")
        if not name.strip():
            errors.append(FieldError.required(f"{at}.name", "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name):
            errors.append(FieldError.invalid(f"{at}.name", name, "must be a valid CEL identifier"))
        found, wrong = _checked(variable.get("expression"), f"{at}.expression", known)
        errors += wrong
        declared.fields[name] = (name, Declaration(found))
    return known, errors


def _matching_errors(spec: JsonObject) -> list[FieldError]:
    """What both kinds of policies say of the requests that they are for."""
    errors = known(spec.get("failurePolicy"), "spec.failurePolicy", ("Fail", "Ignore"))
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
    return errors + match_condition_errors(spec, "spec", _known(spec))


def validate_policy(policy: JsonObject) -> list[FieldError]:
    """What it matches, what it needs, and that its expressions make sense."""
    spec = policy.get("spec") or {}
    visible, wrong = _with_variables(spec)
    errors = _matching_errors(spec) + wrong
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        why = "validations or auditAnnotations must contain at least one item"
        errors += [FieldError.required(f"spec.{field}", why) for field in ("validations", "auditAnnotations")]
    for validation, at in each(spec, "validations", "spec"):
        errors += expression_errors(validation.get("expression"), f"{at}.expression", visible, BOOL)
        errors += _message_errors(validation, at, visible)
        errors += known(validation.get("reason"), f"{at}.reason", _REASONS)
    name = policy["metadata"].get("name", "")
    for annotation, at in each(spec, "auditAnnotations", "spec"):
        key = annotation.get("key", "")
        errors += (
            named(names.qualified_name, f"{name}/{key}", f"{at}.key")
            if name
            else [FieldError.invalid(f"{at}.key", key, "requires metadata.name be non-empty")]
        )
        text, where = annotation.get("valueExpression", ""), f"{at}.valueExpression"
        if not text.strip():
            errors.append(FieldError.required(where, "valueExpression is not specified"))
        else:
            errors += expression_errors(text, where, visible, STRING, NULL)
    return errors


def _message_errors(validation: JsonObject, path: str, known: Names) -> list[FieldError]:
    errors: list[FieldError] = []
    text, message = validation.get("messageExpression") or "", validation.get("message") or ""
    empty = "must be non-empty if specified"
    if text.strip():
        told = {name: known[name] for name in known if name not in VARIABLES}  # what is said of a refusal asks nobody
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
    errors = _matching_errors(spec) + _with_variables(spec)[1]
    errors += _mutable_errors(spec.get("matchConstraints"), "spec.matchConstraints")
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
    twice = repeated(actions)
    for index, action in enumerate(actions):
        errors += known(action, f"spec.validationActions[{index}]", ("Audit", "Deny", "Warn"))
        if index in twice:
            errors.append(FieldError.duplicate(f"spec.validationActions[{index}]", action))
    if {"Deny", "Warn"} <= set(actions):
        why = "must not contain both Deny and Warn (repeating the same validation failure information in the API "
        why += "response and headers serves no purpose)"
        errors.append(FieldError.invalid("spec.validationActions", list(actions), why))
    return errors


def validate_policy_status(policy: JsonObject, _old: JsonObject) -> list[FieldError]:
    """Conditions are such."""
    return validate_conditions(policy.get("status"), "status")


VALIDATE: Mapping[tuple[str, str], Validator] = {
    (_ADMISSION, "MutatingAdmissionPolicy"): validate_mutating_policy,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): validate_mutating_binding,
    (_ADMISSION, "ValidatingAdmissionPolicy"): validate_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): validate_binding,
}
STATUS: Mapping[tuple[str, str], UpdateValidator] = {
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): validate_policy_status
}
