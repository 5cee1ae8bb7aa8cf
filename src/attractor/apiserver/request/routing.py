"""From method, path and query to a verb on a resource."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from attractor.objects.errors import BadRequest, MethodNotAllowed, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.apiserver.request.operation import Verb

REMEMBERED_CHARACTERS: Final = 200
"""Paths up to this length are parsed once, for clients ask for the same ones again and again."""
NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
OLD_VERBS: Final = frozenset({"proxy", "watch"})
"""What old paths begin with: no resource is reached by such a name, as in Kubernetes, where it would be mistaken."""


class Target:
    """The resource, namespace, name and subresource that a path names."""

    __slots__ = ("group", "name", "namespace", "resource", "subresource", "version")

    def __init__(
        self, group: str, version: str, resource: str, namespace: str = "", name: str = "", subresource: str = ""
    ) -> None:
        self.group = group
        self.version = version
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.subresource = subresource

    def __repr__(self) -> str:
        said = (f"{name}={getattr(self, name)!r}" for name in ("group", "version", "resource", "namespace", "name"))
        return f"Target({', '.join(said)}, subresource={self.subresource!r})"


def no_such_resource() -> NotFound:
    """The answer for paths below an API group that lead nowhere."""
    return NotFound("the server could not find the requested resource", details={})


def method_not_allowed() -> MethodNotAllowed:
    """The answer for verbs that a resource does not have."""
    return MethodNotAllowed("the server does not allow this method on the requested resource", details={})


def parse_path(path: str) -> Target | None:
    """What a resource path names; None when it is not one (discovery, health and the like).

    >>> parse_path("/apis/apps/v1/namespaces/a/deployments/d/scale")
    Target(group='apps', version='v1', resource='deployments', namespace='a', name='d', subresource='scale')
    >>> parse_path("/api/v1/namespaces/a")
    Target(group='', version='v1', resource='namespaces', namespace='', name='a', subresource='')
    """
    if len(path) > REMEMBERED_CHARACTERS:
        return _parsed(path)
    collection, _, name = path.rpartition("/")
    if name and "%" not in name and not collection.endswith("/"):
        # Names are many and collections are few: an object's place is known as soon as its collection's is.
        found = _remembered(collection)
        if found is not None and not found.name:
            return Target(found.group, found.version, found.resource, found.namespace, name)
    return _remembered(path)


def _parsed(path: str) -> Target | None:
    parts = (unquote(path) if "%" in path else path).split("/")[1:]
    match parts:
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return None
    if rest == [""]:
        return None
    if rest[-1] == "" and len(rest) > 1:
        rest = rest[:-1]
    if "" in rest:
        raise no_such_resource()
    return _target(group, version, rest)


_remembered = lru_cache(maxsize=4096)(_parsed)


def _target(group: str, version: str, rest: list[str]) -> Target:
    namespace = ""
    if rest[0] in OLD_VERBS:
        raise no_such_resource()
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    match rest:
        case [resource]:
            return Target(group, version, resource, namespace)
        case [resource, name]:
            return Target(group, version, resource, namespace, name)
        case [resource, name, subresource]:
            return Target(group, version, resource, namespace, name, subresource)
        case [resource, name, "proxy", *_] if not group:
            return Target(group, version, resource, namespace, name, "proxy")
    raise no_such_resource()


WATCH_SEGMENT = "/watch/"


def without_watch_prefix(path: str) -> tuple[str, str] | None:
    """For a path of the old form ``…/VERSION/watch/…``: the collection it watches, and the only name if it has one.

    >>> without_watch_prefix("/api/v1/watch/namespaces/a/configmaps/c")
    ('/api/v1/namespaces/a/configmaps', 'c')
    >>> without_watch_prefix("/apis/apps/v1/namespaces/watch/deployments")
    """
    parts = path.split("/")
    at = len(("", "api", "v1")) if parts[1] == "api" else len(("", "apis", "group", "v1"))
    if len(parts) <= at + 1 or parts[at] != "watch":
        return None
    rest = parts[at + 1 :]
    is_named = len(rest) == (len(("namespaces", "ns", "resource", "name")) if _is_inside(rest) else 2)
    kept = rest[:-1] if is_named else rest
    return "/".join([*parts[:at], *kept]), rest[-1] if is_named else ""


def _is_inside(rest: list[str]) -> bool:
    return rest[0] == "namespaces" and len(rest) > len(("namespaces", "name"))


_ITEM_VERBS: dict[str, Verb] = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS: dict[str, Verb] = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


def asks_watch(query: Mapping[str, Sequence[str]]) -> bool:
    """Whether a query says ``watch``; there is no other meaning of it, for whoever asks and for whoever may."""
    said = query.get("watch")
    return said is not None and len(said) > 0 and said[0].lower() not in {"0", "false"}


def verb_of(method: str, target: Target, *, is_watch: bool) -> Verb:
    """The verb that a method means on a path."""
    if not target.name:
        verb = _COLLECTION_VERBS.get(method)
        if verb == "list" and is_watch:
            return "watch"
    elif target.subresource and method == "POST":
        verb = "create"
    else:
        verb = _ITEM_VERBS.get(method)
    if verb is None:
        raise method_not_allowed()
    return verb


def custom_verb_of(method: str, target: Target, *, is_watch: bool) -> Verb:
    """The verb that a method means on a path of a custom kind, whose server looks at the method first."""
    if method == "POST":
        return "create"
    if target.name or method not in {"PUT", "PATCH"}:
        return verb_of(method, target, is_watch=is_watch)
    raise BadRequest("name must be provided")
