"""The Authz library of Kubernetes' CEL: expressions that ask what the author of a request may do.

    authorizer.group('apps').resource('deployments').namespace('a').check('create').allowed()
    authorizer.serviceAccount('a', 'robot').path('/metrics').check('get').allowed()
    authorizer.requestResource.check('custom').allowed()

Values are built up step by step and never change. Who decides is given with the first one, so nothing here knows of
users or roles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from attractor.cel.library import function
from attractor.cel.types import Type
from attractor.cel.values import CelError
from attractor.objects import names

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGE = "kubernetes.authorization."
CHECK_COST = 350_000
"""What one question costs, as in Kubernetes: two are affordable in one expression."""


class Question(NamedTuple):
    """A question to the authorizer: a verb on a resource, or on a path when ``resource`` is empty."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class ServiceAccount(NamedTuple):
    """Somebody else than the author of the request."""

    namespace: str
    name: str


Decide: TypeAlias = "Callable[[ServiceAccount | None, Question], tuple[bool, str]]"
"""Whether the service account, or the request's author if there is none, may do it; and why."""


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Whom to ask, and about whom."""

    cel_type: ClassVar[str] = f"{_PACKAGE}Authorizer"
    decide: Decide
    account: ServiceAccount | None = None


@dataclass(frozen=True, slots=True)
class PathCheck:
    """A question about a path that no resource is at."""

    cel_type: ClassVar[str] = f"{_PACKAGE}PathCheck"
    authorizer: Authorizer
    question: Question


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """The first half of a question about a resource."""

    cel_type: ClassVar[str] = f"{_PACKAGE}GroupCheck"
    authorizer: Authorizer
    group: str


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """A question about a resource."""

    cel_type: ClassVar[str] = f"{_PACKAGE}ResourceCheck"
    authorizer: Authorizer
    question: Question


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer."""

    cel_type: ClassVar[str] = f"{_PACKAGE}Decision"
    allowed: bool
    reason: str


AUTHORIZER, REQUEST_RESOURCE = "authorizer", "authorizer.requestResource"
VARIABLES = {AUTHORIZER: Type(Authorizer.cel_type), REQUEST_RESOURCE: Type(ResourceCheck.cel_type)}
"""The variables that expressions ask by, and their types."""

_A, _P, _G = (f"{_PACKAGE}{name}" for name in ("Authorizer", "PathCheck", "GroupCheck"))
_R, _D = (f"{_PACKAGE}{name}" for name in ("ResourceCheck", "Decision"))


@function(f"{_A}.path(string): {_P}")
def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path:
        raise CelError("path must not be empty")
    return PathCheck(authorizer, Question("", path=path))


@function(f"{_A}.group(string): {_G}")
def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(authorizer, group)


@function(f"{_A}.serviceAccount(string, string): {_A}")
def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if names.dns1123_subdomain(name):
        raise CelError("Invalid service account name")
    if names.dns1123_label(namespace):
        raise CelError("Invalid service account namespace")
    return replace(authorizer, account=ServiceAccount(namespace, name))


@function(f"{_G}.resource(string): {_R}")
def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource:
        raise CelError("resource must not be empty")
    return ResourceCheck(check.authorizer, Question("", check.group, resource))


@function(f"{_R}.subresource(string): {_R}")
def _subresource(check: ResourceCheck, subresource: str) -> ResourceCheck:
    return replace(check, question=check.question._replace(subresource=subresource))


@function(f"{_R}.namespace(string): {_R}")
def _namespace(check: ResourceCheck, namespace: str) -> ResourceCheck:
    return replace(check, question=check.question._replace(namespace=namespace))


@function(f"{_R}.name(string): {_R}")
def _name(check: ResourceCheck, name: str) -> ResourceCheck:
    return replace(check, question=check.question._replace(name=name))


@function(f"{_R}.fieldSelector(string): {_R}", f"{_R}.labelSelector(string): {_R}")
def _selector(check: ResourceCheck, _selector: str) -> ResourceCheck:
    """Roles do not look at selectors."""
    return check


@function(f"{_P}.check(string): {_D}", f"{_R}.check(string): {_D}", cost=lambda *_: CHECK_COST)
def _check(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    authorizer = check.authorizer
    return Decision(*authorizer.decide(authorizer.account, check.question._replace(verb=verb)))


function(f"{_D}.allowed(): bool")(lambda decision: decision.allowed)
function(f"{_D}.reason(): string")(lambda decision: decision.reason)
function(f"{_D}.errored(): bool")(lambda _decision: False)
function(f"{_D}.error(): string")(lambda _decision: "")
