"""CEL conditions on requests: all of them must be true for a webhook or a policy to have a say.

A condition that is false decides at once, whatever else fails. A condition that cannot be evaluated counts by the
failure policy: ``Ignore`` means no match, ``Fail`` refuses the request.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.apiserver.admission.request import request_of
from attractor.apiserver.auth.cel_authorizer import asking
from attractor.cel import CelCheckError, CelError, CelProgram
from attractor.cel.authorizer import VARIABLES
from attractor.cel.types import DYN
from attractor.objects.errors import Forbidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.admission.request import Versioned
    from attractor.apiserver.auth.authorizer import Authorizer
    from attractor.cel.declaration import Declaration
    from attractor.cel.types import Type
    from attractor.objects.json_types import JsonObject

REQUEST_VARIABLES = ("object", "oldObject", "request")
"""What CEL knows of a request, everywhere."""


def typed(variables: Iterable[str]) -> dict[str, Type | Declaration]:
    """The types of the variables of policies and conditions: objects are of any, questions of their own."""
    return {name: VARIABLES.get(name, DYN) for name in variables}


@lru_cache(maxsize=4096)
def compiled(
    text: str, variables: tuple[str, ...] = REQUEST_VARIABLES, messages: frozenset[str] = frozenset()
) -> CelProgram:
    """An expression over untyped variables; raises ``CelCheckError``."""
    return CelProgram.compile(text, typed(variables), messages)


def bindings_of(attributes: Attributes, seen: Versioned, deciding: Authorizer) -> dict[str, Any]:
    """The values of ``REQUEST_VARIABLES``, and of those that ask what the request's author may do."""
    known = {"object": seen.obj, "oldObject": seen.old, "request": request_of(attributes, seen)}
    return known | asking(attributes, deciding)


class Condition(NamedTuple):
    """A named expression."""

    name: str
    expression: str


class MatchConditions(NamedTuple):
    """The conditions of one webhook or policy."""

    conditions: tuple[Condition, ...] = ()
    fails_open: bool = False

    @classmethod
    def of(cls, specs: Sequence[JsonObject], *, fails_open: bool) -> MatchConditions:
        """From ``matchConditions``."""
        return cls(tuple(Condition(spec["name"], spec["expression"]) for spec in specs), fails_open)

    def match(self, attributes: Attributes, bindings: dict[str, Any]) -> bool:
        """Whether all conditions are true; raises ``Forbidden`` when that cannot be told and the policy is Fail."""
        failures: list[str] = []
        for condition in self.conditions:
            try:
                value = compiled(condition.expression, tuple(bindings)).evaluate(bindings)
            except (CelError, CelCheckError) as error:
                failures.append(f"expression '{condition.expression}' resulted in error: {error}")
                continue
            if value is not True:
                return False
        if not failures:
            return True
        if self.fails_open:
            return False
        why = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
        raise Forbidden.of(attributes.kind.group_resource, attributes.name, why)
