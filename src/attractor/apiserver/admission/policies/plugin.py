"""The plug-in that evaluates policies: the first violation that a binding denies is the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.apiserver.admission.match import namespace_of
from attractor.apiserver.admission.match_conditions import bindings_of, compiled
from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.policies.params import NoParams, params_of
from attractor.apiserver.admission.policies.policy import GROUP, bound_policies
from attractor.apiserver.admission.request import versioned
from attractor.cel import CelCheckError, CelError
from attractor.cel.authorizer import AUTHORIZER, REQUEST_RESOURCE
from attractor.objects.errors import ApiError, Forbidden

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.admission.policies.policy import Binding, Policy, Validation
    from attractor.apiserver.auth.authorizer import Authorizer
    from attractor.objects.json_types import JsonObject

POLICY_VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", AUTHORIZER, REQUEST_RESOURCE)
REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
_MENTION = re.compile(r"\bvariables\s*\.\s*([A-Za-z_]\w*)")
_NAMELESS = "Unknown"
"""What Kubernetes calls an object that it finds out about only by listing."""
MAX_MESSAGE_CHARACTERS = 5 * 1024


class Violation(NamedTuple):
    """A rule that the request breaks, or that could not be evaluated."""

    message: str
    reason: str = ""


class ValidatingAdmissionPolicies(Plugin):
    """Refuses or warns of what breaks a bound policy."""

    obeys_registrations = True

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def validate(self, attributes: Attributes) -> None:
        """Evaluate every policy that is for this request."""
        if attributes.kind.gvk.group == GROUP or attributes.kind.gvk.group in REVIEWS:
            return
        refusals = [
            refusal
            for policy, bindings in bound_policies(attributes.txn)
            for refusal in _refusals(policy, bindings, attributes, self._authorizer)
        ]
        if refusals:
            raise refusals[0]


def _refusals(
    policy: Policy, bindings: list[Binding], attributes: Attributes, authorizer: Authorizer
) -> Iterator[ApiError]:
    target = policy.constraints.match(attributes)
    if target is None:
        return
    known = bindings_of(attributes, versioned(attributes, target), authorizer)
    is_inside = attributes.kind.namespaced and bool(attributes.op.namespace)
    known["namespaceObject"] = namespace_of(attributes) if is_inside else None
    for binding in bindings:
        if binding.resources is not None and binding.resources.match(attributes) is None:
            continue
        try:
            params = params_of(policy, binding, attributes)
        except NoParams as error:
            if not policy.fails_open:
                yield _refusal(policy, binding, Violation(f"failed to configure binding: {error}"), attributes)
            continue
        for param in params:
            for violation in _evaluate(policy, {**known, "params": param}, attributes):
                if "Warn" in binding.actions:
                    attributes.txn.warn(
                        f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding "
                        f"'{binding.name}': {violation.message}"
                    )
                if "Deny" in binding.actions:
                    yield _refusal(policy, binding, violation, attributes)


def _evaluate(policy: Policy, known: dict[str, Any], attributes: Attributes) -> Iterator[Violation]:
    """Every rule of a policy that is broken; one that cannot be evaluated counts unless the policy ignores failures."""
    try:
        if not policy.conditions.match(attributes, known):
            return
    except Forbidden as error:
        yield Violation(error.message)
        return
    variables = Variables(policy, known)
    for validation in policy.validations:
        try:
            value = variables.evaluate(validation.expression)
        except (CelError, CelCheckError) as error:
            if not policy.fails_open:
                yield Violation(f"expression '{validation.expression}' resulted in error: {error}")
            continue
        if value is not True:
            yield Violation(_message(validation, variables), validation.reason)


def _message(validation: Validation, variables: Variables) -> str:
    """What to say: the expression's text if it gives one line of it, else the fixed text, else the rule itself."""
    if validation.message_expression:
        try:
            text = variables.evaluate(validation.message_expression)
        except (CelError, CelCheckError):
            text = None
        if isinstance(text, str) and text.strip() and "\n" not in text and len(text) <= MAX_MESSAGE_CHARACTERS:
            return text.strip()
    return validation.message or f"failed expression: {validation.expression}"


class Variables:
    """The variables of a policy while one request is judged; each is evaluated when it is needed, and once."""

    def __init__(self, policy: Policy, known: dict[str, Any], messages: frozenset[str] = frozenset()) -> None:
        self._messages = messages
        self._expressions = {variable.name: variable.expression for variable in policy.variables}
        self._known = known
        self._values: dict[str, Any] = {}
        self._failures: dict[str, CelError | CelCheckError] = {}

    def evaluate(self, expression: str) -> Any:
        """The value of an expression; raises ``CelError`` or ``CelCheckError``, a failed variable's own."""
        needed = [name for name in _MENTION.findall(expression) if name in self._expressions]
        for name in needed:
            self._prepare(name)
        values = {name: self._values[name] for name in needed if name in self._values}
        program = compiled(expression, (*POLICY_VARIABLES, "variables"), self._messages)
        try:
            return program.evaluate({**self._known, "variables": values})
        except CelError as error:
            failed = next((name for name in needed if str(error) == f"no such key: {name}"), None)
            if failed in self._failures:
                raise self._failures[failed] from None
            raise

    def _prepare(self, name: str) -> None:
        if name in self._values or name in self._failures:
            return
        # Filed first: a variable that needs itself finds a failure, not an endless descent.
        self._failures[name] = CelError(f"variable {name} needs itself")
        try:
            value = self.evaluate(self._expressions[name])
        except (CelError, CelCheckError) as error:
            self._failures[name] = error
        else:
            del self._failures[name]
            self._values[name] = value


def _refusal(policy: Policy, binding: Binding, violation: Violation, attributes: Attributes) -> ApiError:
    message = (
        f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}' denied request: {violation.message}"
    )
    name = _NAMELESS if attributes.op.verb == "deletecollection" else attributes.name
    error = Forbidden.of(attributes.kind.group_resource, name, message)
    reason = violation.reason or "Invalid"
    details: JsonObject = {**(error.details or {}), "causes": [{"message": message}]}
    return ApiError.from_status(
        {"code": _CODES.get(reason, 422), "reason": reason, "message": error.message, "details": details}
    )
