"""Every path, method and parameter that the server serves for a resource, as OpenAPI describes them.

Both versions of OpenAPI are written from these rows. Only what is served stands here: no deprecated ``/watch/`` paths,
and none of the subresources that upgrade the connection (``exec``, ``attach``, ``portforward``, ``proxy``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from attractor.apiserver.kinds.registry import builtin_kind
from attractor.k8s import catalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.k8s.catalog import ResourceInfo, SubresourceInfo
    from attractor.objects.gvk import GroupVersionKind

Method = Literal["get", "post", "put", "patch", "delete"]

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
STATUS, DELETE_OPTIONS, PATCH = f"{META}.Status", f"{META}.DeleteOptions", f"{META}.Patch"
WATCH_EVENT, RESOURCE_LIST = f"{META}.WatchEvent", f"{META}.APIResourceList"
TEXT = "text/plain"
"""Stands for an answer that is plain text rather than an object."""

PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_UPGRADING = frozenset({"attach", "exec", "portforward", "proxy"})


_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_DELETE_COLLECTION = (
    "continue", "dryRun", "fieldSelector", "gracePeriodSeconds", "labelSelector", "limit", "orphanDependents",
    "propagationPolicy", "resourceVersion", "resourceVersionMatch", "timeoutSeconds",
)  # fmt: skip
_LOG = ("container", "follow", "previous", "tailLines", "timestamps")


class Endpoint(NamedTuple):
    """One method at one path."""

    path: str
    method: Method
    action: str
    """Kubernetes' name for what it does: list, post, deletecollection, get, put, patch, delete."""
    operation_id: str
    description: str
    gvk: GroupVersionKind
    answer: str
    """The definition of what comes back, or ``TEXT``."""
    body: str = ""
    """The definition of what is sent, if anything is."""
    parameters: tuple[str, ...] = ()

    @property
    def successes(self) -> dict[str, str]:
        """Codes and phrases of the answers of those that work."""
        return _SUCCESSES.get(self.action, {"200": "OK"})


_SUCCESSES = {
    "post": {"200": "OK", "201": "Created", "202": "Accepted"},
    "put": {"200": "OK", "201": "Created"},
    "patch": {"200": "OK", "201": "Created"},
    "delete": {"200": "OK", "202": "Accepted"},
}


def reversed_group(group: str) -> str:
    """A group as definitions of custom kinds spell it.

    >>> reversed_group("stable.example.org")
    'org.example.stable'
    """
    return ".".join(reversed(group.split(".")))


def definition_name(info: ResourceInfo, kind: str = "") -> str:
    """The name of a kind's definition: published for built-in kinds, from the reversed group for custom ones."""
    if not info.definition:
        return f"{reversed_group(info.group)}.{info.version}.{kind or info.kind}"
    return catalog.definition_of(info.gvk._replace(kind=kind)) or "" if kind else info.definition


def operation_group(group: str, version: str) -> str:
    """A group and version as operation ids spell them.

    >>> operation_group("rbac.authorization.k8s.io", "v1"), operation_group("", "v1")
    ('RbacAuthorizationV1', 'CoreV1')
    """
    parts = (group.removesuffix(".k8s.io") or "core").split(".")
    return "".join(part[:1].upper() + part[1:] for part in (*parts, version))


def tag(group: str, version: str) -> str:
    """A group and version as tags spell them.

    >>> tag("rbac.authorization.k8s.io", "v1")
    'rbacAuthorization_v1'
    """
    name = operation_group(group, "")
    return f"{name[:1].lower()}{name[1:]}_{version}"


def group_path(group: str, version: str) -> str:
    """Where a group and version live."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def endpoints(info: ResourceInfo, list_kind: str) -> Iterator[Endpoint]:
    """All that a resource and its subresources serve."""
    yield from _Rows(info, list_kind).all()


class _Rows:
    def __init__(self, info: ResourceInfo, list_kind: str) -> None:
        self.info = info
        self.own = definition_name(info)
        self.of_list = definition_name(info, list_kind)
        self.group = operation_group(info.group, info.version)
        self.scoped = ("Namespaced" if info.namespaced else "") + info.kind
        root = group_path(info.group, info.version)
        self.everywhere = f"{root}/{info.resource}"
        self.collection = f"{root}/namespaces/{{namespace}}/{info.resource}" if info.namespaced else self.everywhere

    def all(self) -> Iterator[Endpoint]:
        if self.info.namespaced and "list" in self.info.verbs:
            operation = f"list{self.group}{self.info.kind}ForAllNamespaces"
            yield self._list()._replace(path=self.everywhere, operation_id=operation)
        if "list" in self.info.verbs:
            yield self._list()
        if "create" in self.info.verbs:
            yield self._row(self.collection, "post", "post", "create", f"create {self._article()}", _WRITE, self.own)
        if "deletecollection" in self.info.verbs:
            row = self._row(self.collection, "delete", "deletecollection", "", "", _DELETE_COLLECTION, DELETE_OPTIONS)
            yield row._replace(
                operation_id=f"delete{self.group}Collection{self.scoped}",
                description=f"delete collection of {self.info.kind}",
                answer=STATUS,
            )
        yield from self._item()
        for sub in self.info.subresources.values():
            if sub.name not in _UPGRADING:
                yield from self._subresource(sub)

    def _returns_deleted(self) -> bool:
        kind = builtin_kind(*self.info.gvr) if self.info.definition else None
        return kind is not None and kind.returns_deleted

    def _article(self) -> str:
        kind = self.info.kind
        if kind.endswith("s") and not kind.endswith("ss"):  # Endpoints
            return kind
        return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"

    def _list(self) -> Endpoint:
        what = "list or watch" if "watch" in self.info.verbs else "list"
        row = self._row(self.collection, "get", "list", "list", f"{what} objects of kind {self.info.kind}", _LIST)
        return row._replace(answer=self.of_list)

    def _row(
        self,
        path: str,
        method: Method,
        action: str,
        verb: str,
        description: str,
        parameters: tuple[str, ...] = (),
        body: str = "",
    ) -> Endpoint:
        operation = f"{verb}{self.group}{self.scoped}"
        return Endpoint(path, method, action, operation, description, self.info.gvk, self.own, body, parameters)

    def _item(self) -> Iterator[Endpoint]:
        path, kind, verbs = f"{self.collection}/{{name}}", self.info.kind, self.info.verbs
        if "get" in verbs:
            yield self._row(path, "get", "get", "read", f"read the specified {kind}")
        if "update" in verbs:
            yield self._row(path, "put", "put", "replace", f"replace the specified {kind}", _WRITE, self.own)
        if "delete" in verbs:
            row = self._row(path, "delete", "delete", "delete", f"delete {self._article()}", _DELETE, DELETE_OPTIONS)
            yield row if self._returns_deleted() else row._replace(answer=STATUS)
        if "patch" in verbs:
            what = f"partially update the specified {kind}"
            yield self._row(path, "patch", "patch", "patch", what, (*_WRITE, "force"), PATCH)

    def _subresource(self, sub: SubresourceInfo) -> Iterator[Endpoint]:
        path = f"{self.collection}/{{name}}/{sub.name}"
        of_sub = self.own if sub.kind == self.info.kind else catalog.definition_of(sub.gvk) or self.own
        title, where = sub.name[:1].upper() + sub.name[1:], f"{sub.name} of the specified {self.info.kind}"
        rows = {
            "get": self._row(path, "get", "get", "read", f"read {where}"),
            "create": self._row(path, "post", "post", "create", f"create {where}", _WRITE, of_sub),
            "update": self._row(path, "put", "put", "replace", f"replace {where}", _WRITE, of_sub),
            "patch": self._row(path, "patch", "patch", "patch", f"partially update {where}", (*_WRITE, "force"), PATCH),
        }
        for verb in sub.verbs:
            row = rows.get(verb)
            if row is None:
                continue
            if sub.name == "log":
                yield row._replace(operation_id=row.operation_id + title, answer=TEXT, parameters=_LOG)
            else:
                yield row._replace(operation_id=row.operation_id + title, gvk=sub.gvk, answer=of_sub)
