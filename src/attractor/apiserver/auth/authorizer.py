"""May this user do that? What is asked, what an answer looks like, and how a refusal is worded.

Pure: an ``Authorizer`` decides from the user, the attributes of the request and a snapshot of the store.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import unquote

from attractor.apiserver.request import routing
from attractor.objects import names
from attractor.objects.errors import Forbidden
from attractor.objects.fields import FieldSelector, FieldSelectorError
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.apiserver.request.caller import User
    from attractor.store.contract import Snapshot

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_READ_VERBS = frozenset({"get", "list", "watch"})


class Attributes(NamedTuple):
    """Attributes of a request to authorize: a verb on a resource, or on a path when ``resource`` is empty."""

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


class AlwaysAllow:
    """Lets everybody do everything."""

    def decide(self, user: User, attributes: Attributes, snapshot: Snapshot) -> Decision:
        """Yes."""
        return Decision(allowed=True)


class AlwaysDeny:
    """Lets nobody do anything, but for those whom no authorizer is asked about."""

    def decide(self, user: User, attributes: Attributes, snapshot: Snapshot) -> Decision:
        """No."""
        return Decision(allowed=False, reason="Everything is forbidden.")


class AnonymousRead:
    """Lets everybody read, credentials or not; all else is for the next authorizer to decide."""

    def __init__(self, then: Authorizer) -> None:
        self._then = then

    def decide(self, user: User, attributes: Attributes, snapshot: Snapshot) -> Decision:
        """Reading is allowed."""
        if attributes.verb in _READ_VERBS:
            return Decision(allowed=True)
        return self._then.decide(user, attributes, snapshot)


class _Place(NamedTuple):
    """The parts of a request that its path tells."""

    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str
    verb: str
    """The verb that old paths begin with, else empty."""


def attributes_of(method: str, path: str, query: Mapping[str, Sequence[str]]) -> Attributes:
    """What an HTTP request asks for, told from method, path and query alone, as Kubernetes' RequestInfo tells it."""
    place = _remembered(path) if len(path) <= routing.REMEMBERED_CHARACTERS else _place(path)
    if place is None:
        return Attributes(method.lower(), path=path)
    group, version, resource, subresource, namespace, name, verb = place
    verb = verb or _VERBS.get(method, "")
    if not name and verb == "get":
        verb = "watch" if routing.asks_watch(query) else "list"
        name = _selected_name(query) if "fieldSelector" in query else ""
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Attributes(verb, group, version, resource, subresource, namespace, name, path)


def _place(path: str) -> _Place | None:
    """What a path names; None when that is no resource. Nothing here asks whether there is such a thing."""
    parts = (unquote(path) if "%" in path else path).strip("/").split("/")
    group, verb = "", ""
    if parts[0] == "apis" and len(parts) > len(("apis", "group", "version")):
        group, parts = parts[1], parts[1:]
    elif parts[0] != "api" or len(parts) <= len(("api", "version")):
        return None
    _, version, *parts = parts
    if parts[0] in routing.OLD_VERBS:
        verb, *parts = parts
    if not parts or "" in parts:
        return None
    namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 1 else ""
    if namespace and len(parts) > len(("namespaces", "name")) and parts[2] not in routing.NAMESPACE_SUBRESOURCES:
        parts = parts[2:]
    resource, name, subresource = (*parts[:3], "", "")[:3]
    return _Place(group, version, resource, "" if verb == "proxy" else subresource, namespace, name, verb)


_remembered = lru_cache(maxsize=4096)(_place)


def _selected_name(query: Mapping[str, Sequence[str]]) -> str:
    """A list or watch that selects one name is about that name; one that cannot be understood is about all."""
    numbers = [query[name][0] for name in ("limit", "timeoutSeconds") if query.get(name)]
    try:
        name = FieldSelector.parse(query["fieldSelector"][0]).exact_value("metadata.name") or ""
    except FieldSelectorError:
        return ""
    return "" if names.path_segment(name) or any(not _NUMBER.fullmatch(number) for number in numbers) else name


_NUMBER = re.compile("[+-]?[0-9]+|")


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
