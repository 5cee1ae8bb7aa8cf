"""May this user do that? What is asked, what an answer looks like, and how a refusal is worded.

Pure: an ``Authorizer`` decides from the user, the attributes of the request and a snapshot of the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from attractor.apiserver import routing
from attractor.objects.errors import ApiError, Forbidden
from attractor.objects.fields import FieldSelector, FieldSelectorError
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.apiserver.asked import User
    from attractor.store.contract import Snapshot

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_READ_VERBS = frozenset({"get", "list", "watch"})


class Attributes(NamedTuple):
    """What is asked: a verb on a resource, or on a path when ``resource`` is empty."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Decision(NamedTuple):
    """The answer; ``reason`` says why, when there is something to say."""

    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    """Decides who may do what."""

    def decide(self, user: User, attributes: Attributes, snapshot: Snapshot) -> Decision:
        """Whether the user may do it, as of the snapshot."""
        ...


class AnonymousRead:
    """Lets everybody read, credentials or not; all else is for the next authorizer to decide."""

    def __init__(self, then: Authorizer) -> None:
        self._then = then

    def decide(self, user: User, attributes: Attributes, snapshot: Snapshot) -> Decision:
        """Reading is allowed."""
        if attributes.verb in _READ_VERBS:
            return Decision(allowed=True)
        return self._then.decide(user, attributes, snapshot)


def attributes_of(method: str, path: str, query: Mapping[str, Sequence[str]]) -> Attributes:
    """What an HTTP request asks for, told from method, path and query alone."""
    try:
        target = routing.parse_path(path)
    except ApiError:
        target = None
    if target is None:
        return Attributes(method.lower(), path=path)
    verb = _VERBS.get(method, "")
    name = target.name
    if not name:
        if verb == "get":
            verb = "watch" if query.get("watch", ("0",))[0] not in {"0", "false"} else "list"
        elif verb == "delete":
            verb = "deletecollection"
        name = _selected_name(verb, query)
    namespace = target.name if target.resource == "namespaces" and not target.group else target.namespace
    return Attributes(verb, target.group, target.version, target.resource, target.subresource, namespace, name, path)


def _selected_name(verb: str, query: Mapping[str, Sequence[str]]) -> str:
    """A collection request that selects one name is about that name."""
    selector = query.get("fieldSelector")
    if verb not in {"list", "watch", "deletecollection"} or not selector:
        return ""
    try:
        return FieldSelector.parse(selector[0]).exact_value("metadata.name") or ""
    except FieldSelectorError:
        return ""


def forbidden(user: User, attributes: Attributes, reason: str = "") -> Forbidden:
    """The refusal, in Kubernetes' words."""
    if not attributes.resource:
        what = f'User "{user.name}" cannot {attributes.verb} path "{attributes.path}"'
    else:
        resource = attributes.resource + (f"/{attributes.subresource}" if attributes.subresource else "")
        where = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
        what = (
            f'User "{user.name}" cannot {attributes.verb} resource "{resource}" '
            f'in API group "{attributes.group}" {where}'
        )
    if reason:
        what = f"{what}: {reason}"
    if not attributes.resource:
        return Forbidden(f"forbidden: {what}", details={})
    return Forbidden.of(GroupResource(attributes.group, attributes.resource), attributes.name, what)
