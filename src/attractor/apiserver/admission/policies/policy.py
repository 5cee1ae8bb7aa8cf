"""Policies and bindings, read from the store and remembered by their bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import orjson

from attractor.apiserver.admission.match import Rule, Selectors, match_rules
from attractor.apiserver.admission.match_conditions import Condition, MatchConditions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.admission.match import Target
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
MUTATING_POLICIES, MUTATING_BINDINGS = "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"


class MatchResources(NamedTuple):
    """The requests that a policy or a binding is for."""

    rules: tuple[Rule, ...]
    excluded: tuple[Rule, ...]
    selectors: Selectors
    is_exact: bool
    is_limited: bool
    """Whether there are rules at all; a binding without any takes what its policy takes."""

    @classmethod
    def of(cls, spec: JsonObject) -> MatchResources:
        """From ``matchConstraints`` or ``matchResources``."""
        given = spec.get("resourceRules")
        return cls(
            msgspec.convert(given or (), tuple[Rule, ...]),
            msgspec.convert(spec.get("excludeResourceRules") or (), tuple[Rule, ...]),
            Selectors.of(spec.get("namespaceSelector"), spec.get("objectSelector")),
            spec.get("matchPolicy") == "Exact",
            bool(given),
        )

    def match(self, attributes: Attributes) -> Target | None:
        """The resource as which the request matches; None when it does not."""
        rules = self.rules if self.is_limited else (_EVERYTHING,)
        target = match_rules(rules, attributes, excluded=self.excluded, is_exact=self.is_exact)
        return target if target is not None and self.selectors.match(attributes) else None


_EVERYTHING = Rule(("*",), ("*",), ("*",), ("*/*",))


class Validation(NamedTuple):
    """One rule: what must be true, and what to say when it is not."""

    expression: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""


class Mutation(NamedTuple):
    """One change: an expression for an object to merge in, or for the operations of a JSON patch."""

    expression: str
    is_json_patch: bool


class Policy(NamedTuple):
    """A ValidatingAdmissionPolicy, or a MutatingAdmissionPolicy, which has ``mutations`` in place of validations."""

    name: str
    constraints: MatchResources
    conditions: MatchConditions
    variables: tuple[Condition, ...]
    validations: tuple[Validation, ...]
    param_kind: tuple[str, str] | None
    """apiVersion and kind of its parameters."""
    fails_open: bool
    mutations: tuple[Mutation, ...] = ()
    is_reinvoked: bool = False
    """Whether it is evaluated again when a later one changed the object."""


class ParamRef(NamedTuple):
    """Which objects are the parameters."""

    name: str = ""
    namespace: str = ""
    selector: Any = None
    is_needed: bool = True
    """Whether a request is refused when there are none."""


class Binding(NamedTuple):
    """A ValidatingAdmissionPolicyBinding."""

    name: str
    policy: str
    resources: MatchResources | None
    actions: tuple[str, ...]
    param_ref: ParamRef | None


@lru_cache(maxsize=1024)
def _policy(value: bytes) -> Policy:
    obj = orjson.loads(value)
    spec = obj["spec"]
    fails_open = spec.get("failurePolicy") == "Ignore"
    param = spec.get("paramKind")
    return Policy(
        name=obj["metadata"]["name"],
        constraints=MatchResources.of(spec.get("matchConstraints") or {}),
        conditions=MatchConditions.of(spec.get("matchConditions") or (), fails_open=fails_open),
        variables=tuple(Condition(item["name"], item["expression"]) for item in spec.get("variables") or ()),
        validations=tuple(map(_validation, spec.get("validations") or ())),
        param_kind=(param["apiVersion"], param["kind"]) if param else None,
        fails_open=fails_open,
        mutations=tuple(map(_mutation, spec.get("mutations") or ())),
        is_reinvoked=spec.get("reinvocationPolicy") == "IfNeeded",
    )


def _mutation(spec: JsonObject) -> Mutation:
    is_json_patch = spec.get("patchType") == "JSONPatch"
    how = spec.get("jsonPatch" if is_json_patch else "applyConfiguration") or {}
    return Mutation((how.get("expression") or "").strip(), is_json_patch)


def _validation(spec: JsonObject) -> Validation:
    return Validation(
        spec["expression"].strip(),
        (spec.get("message") or "").strip(),
        spec.get("messageExpression") or "",
        spec.get("reason") or "",
    )


@lru_cache(maxsize=1024)
def _binding(value: bytes) -> Binding:
    obj = orjson.loads(value)
    spec = obj["spec"]
    ref, resources = spec.get("paramRef"), spec.get("matchResources")
    return Binding(
        name=obj["metadata"]["name"],
        policy=spec["policyName"],
        resources=MatchResources.of(resources) if resources else None,
        actions=tuple(spec.get("validationActions") or ()),
        param_ref=_param_ref(ref) if ref else None,
    )


def _param_ref(spec: JsonObject) -> ParamRef:
    return ParamRef(
        spec.get("name") or "",
        spec.get("namespace") or "",
        spec.get("selector"),
        spec.get("parameterNotFoundAction") != "Allow",
    )


def bound_policies(
    txn: Transaction, policies: str = POLICIES, bound: str = BINDINGS
) -> Iterator[tuple[Policy, list[Binding]]]:
    """Every policy of a resource that has bindings, with them."""
    bindings: dict[str, list[Binding]] = {}
    for entry in txn.range(f"{GROUP}/{bound}/"):
        binding = _binding(entry.value)
        bindings.setdefault(binding.policy, []).append(binding)
    if not bindings:
        return
    for entry in txn.range(f"{GROUP}/{policies}/"):
        policy = _policy(entry.value)
        if policy.name in bindings:
            yield policy, bindings[policy.name]
