"""MutatingAdmissionPolicies: objects are changed by expressions, as an applied configuration or as a JSON patch.

``Object.spec{replicas: 3}`` in an expression makes a part of an object, ``JSONPatch{op: "add", ...}`` an operation;
both are maps here, for what comes of them is decoded like any other object. Each mutation sees what the one before it
made.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from attractor.apiserver.admission.match import namespace_of
from attractor.apiserver.admission.match_conditions import bindings_of
from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.policies.params import NoParams, params_of
from attractor.apiserver.admission.policies.plugin import REVIEWS, Variables
from attractor.apiserver.admission.policies.policy import GROUP, MUTATING_BINDINGS, MUTATING_POLICIES, bound_policies
from attractor.apiserver.admission.request import versioned
from attractor.apiserver.admission.webhooks.plugins import changed_object, replace_object
from attractor.apiserver.request.decode_errors import DecodeError
from attractor.apply.atoms import DEDUCED, Atom, root_atom_of
from attractor.apply.merge import merge
from attractor.apply.typing import Untypable
from attractor.cel import CelCheckError, CelError
from attractor.objects.errors import ApiError, Forbidden
from attractor.patch.json_patch import PatchFailed, apply_json_patch

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.admission.policies.policy import Binding, Mutation, Policy
    from attractor.apiserver.admission.request import Versioned
    from attractor.apiserver.auth.authorizer import Authorizer
    from attractor.objects.json_types import Json, JsonObject

MESSAGES = frozenset({"Object", "JSONPatch"})


class MutationFailed(Exception):
    """A mutation that cannot be carried out; the text says why."""


class MutatingAdmissionPolicies(Plugin):
    """Changes objects as bound policies say; one that asks for it is evaluated again if a later one changed more."""

    obeys_registrations = True

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def admit(self, attributes: Attributes) -> None:
        """Carry out every policy that is for this request; raises ``ApiError`` where one fails and may not."""
        group = attributes.kind.gvk.group
        if attributes.obj is None or attributes.is_connecting or group == GROUP or group in REVIEWS:
            return
        done: list[tuple[Policy, list[Binding]]] = []
        again: list[tuple[Policy, list[Binding]]] = []
        for policy, bindings in bound_policies(attributes.txn, MUTATING_POLICIES, MUTATING_BINDINGS):
            if self._carry_out(policy, bindings, attributes):
                again = [*done]
            if policy.is_reinvoked:
                done.append((policy, bindings))
        for policy, bindings in again:
            self._carry_out(policy, bindings, attributes)

    def _carry_out(self, policy: Policy, bindings: list[Binding], attributes: Attributes) -> bool:
        """Whether a policy changed the object."""
        before = deepcopy(attributes.obj)
        for binding in bindings:
            try:
                if binding.resources is None or binding.resources.match(attributes) is not None:
                    self._bound(policy, binding, attributes)
            except (MutationFailed, NoParams) as why:
                if not policy.fails_open:
                    raise _refusal(policy, binding, str(why), attributes) from None
        return attributes.obj != before

    def _bound(self, policy: Policy, binding: Binding, attributes: Attributes) -> None:
        target = policy.constraints.match(attributes)
        if target is None:
            return
        for param in params_of(policy, binding, attributes):
            seen = versioned(attributes, target)
            known = bindings_of(attributes, seen, self._authorizer)
            is_inside = attributes.kind.namespaced and bool(attributes.op.namespace)
            known["namespaceObject"] = namespace_of(attributes) if is_inside else None
            known["params"] = param
            try:
                if not policy.conditions.match(attributes, known):
                    continue
            except Forbidden as error:
                raise MutationFailed(error.message) from None
            for mutation in policy.mutations:
                seen = versioned(attributes, target)
                value = _value(policy, mutation, {**known, "object": seen.obj})
                changed = _patched(seen, value) if mutation.is_json_patch else _merged(seen, value)
                try:
                    made = changed_object(seen, attributes, changed)
                except DecodeError as error:
                    raise MutationFailed(str(error)) from None
                assert attributes.obj is not None
                replace_object(attributes.obj, made)


def _value(policy: Policy, mutation: Mutation, known: dict[str, Any]) -> Json:
    try:
        value: Json = Variables(policy, known, MESSAGES).evaluate(mutation.expression)
    except (CelError, CelCheckError) as error:
        raise MutationFailed(f"expression '{mutation.expression}' resulted in error: {error}") from None
    return value


def _patched(seen: Versioned, operations: Json) -> JsonObject:
    try:
        document = apply_json_patch(seen.obj, operations)
    except PatchFailed as error:
        raise MutationFailed(f"JSON Patch: {error.why}") from None
    except ApiError as error:
        raise MutationFailed(f"JSON Patch: {error.message}") from None
    if not isinstance(document, dict):
        raise MutationFailed("JSON Patch: no object is left")
    return document


def _merged(seen: Versioned, applied: Json) -> JsonObject:
    assert seen.obj is not None, "there is nothing to change"
    if not isinstance(applied, dict):
        raise MutationFailed("must evaluate to Object but got another type")
    atom = root_atom_of(seen.kind.schema)
    if where := _atomic(atom, applied, ""):
        raise MutationFailed(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {where}")
    identity = {name: seen.obj[name] for name in ("kind", "apiVersion")}
    try:
        return merge(atom, seen.obj, {**applied, **identity})
    except Untypable as error:
        raise MutationFailed(f"error applying patch: {error}") from None


def _atomic(atom: Atom, value: Any, path: str) -> str:
    """Where a configuration would replace something as a whole, which its author may not have meant; else empty."""
    if isinstance(value, dict) and value:
        if atom.is_atomic_map:
            return path
        places = (
            (atom.fields.get(name) or atom.element or DEDUCED, one, f"{path}.{name}") for name, one in value.items()
        )
    elif isinstance(value, list):
        if not atom.is_associative:
            return path
        places = ((atom.items, one, f"{path}[{index}]") for index, one in enumerate(value))
    else:
        return ""
    return next((found for place in places if (found := _atomic(*place))), "")


def _refusal(policy: Policy, binding: Binding, why: str, attributes: Attributes) -> ApiError:
    message = f"policy '{policy.name}' with binding '{binding.name}' denied request: {why}"
    return Forbidden.of(attributes.kind.group_resource, attributes.name, message)
