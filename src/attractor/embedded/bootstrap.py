"""The roles and bindings that every cluster starts with, as Kubernetes names them.

``cluster-admin``, ``admin``, ``edit`` and ``view`` are for people to bind; discovery, health and self-reviews are bound
already. What is there is left as it is, so that an administrator's change survives a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.authorization import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from attractor.apiserver.operation import Operation, WriteOptions
from attractor.apiserver.rbac import GROUP
from attractor.apiserver.registry import served_builtin
from attractor.objects.errors import AlreadyExists

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.server import Server

_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_NOT_FOR_VIEW = {"secrets", "roles", "rolebindings"}
_NOT_FOR_EDIT = {"roles", "rolebindings", "resourcequotas", "limitranges", "events"}
_HEALTH = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_ISSUER = [
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/",
    "/openid/v1/jwks",
    "/openid/v1/jwks/",
]
_DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *_HEALTH]

Rules = list[dict[str, Any]]


def _namespaced() -> dict[str, list[str]]:
    """The namespaced built-in resources, by group."""
    found: dict[str, list[str]] = {}
    for info in served_builtin():
        if info.namespaced and "list" in info.verbs:
            resources = found.setdefault(info.gvk.group, [])
            resources.extend(
                name
                for name in (info.resource, *(f"{info.resource}/{sub}" for sub in info.subresources))
                if name not in resources
            )
    return found


def _rules(verbs: list[str], without: set[str]) -> Rules:
    return [
        {"verbs": verbs, "apiGroups": [group], "resources": sorted(names)}
        for group, listed in _namespaced().items()
        if (names := [name for name in listed if name.split("/", 1)[0] not in without])
    ]


def roles() -> dict[str, Rules]:
    """The ClusterRoles by name."""
    everything: Rules = [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]
    reviews: Rules = [
        {
            "verbs": ["create"],
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    ]
    view = [*_rules(_READ, _NOT_FOR_VIEW), {"verbs": _READ, "apiGroups": [""], "resources": ["namespaces"]}]
    return {
        "cluster-admin": everything,
        "admin": [*view, *_rules(_READ + _WRITE, {"resourcequotas", "limitranges", "events"})],
        "edit": [*view, *_rules(_READ + _WRITE, _NOT_FOR_EDIT)],
        "view": view,
        "system:basic-user": reviews,
        "system:discovery": [{"verbs": ["get"], "nonResourceURLs": _DISCOVERY}],
        "system:service-account-issuer-discovery": [{"verbs": ["get"], "nonResourceURLs": _ISSUER}],
        "system:public-info-viewer": [{"verbs": ["get"], "nonResourceURLs": _HEALTH}],
    }


BINDINGS = {
    "cluster-admin": (MASTERS,),
    "system:basic-user": (AUTHENTICATED,),
    "system:discovery": (AUTHENTICATED,),
    "system:service-account-issuer-discovery": ("system:serviceaccounts",),
    "system:public-info-viewer": (AUTHENTICATED, UNAUTHENTICATED),
}
"""Which groups have which ClusterRole from the start; the binding has the role's name."""


def _objects() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Resource, name and body (without metadata)."""
    for name, rules in roles().items():
        yield "clusterroles", name, {"rules": rules}
    for role, groups in BINDINGS.items():
        yield (
            "clusterrolebindings",
            role,
            {
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups],
            },
        )


PRIORITY_CLASSES = {
    "system-node-critical": (
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
}
"""Value and description of the classes that are reserved for the system."""


async def create_priority_classes(server: Server) -> None:
    """Create the system's priority classes where they are missing."""
    snapshot = await server.store.snapshot()
    for name, (value, description) in PRIORITY_CLASSES.items():
        if snapshot.get(f"scheduling.k8s.io/priorityclasses/{name}") is not None:
            continue
        op = Operation(
            verb="create",
            group="scheduling.k8s.io",
            version="v1",
            resource="priorityclasses",
            body={"metadata": {"name": name}, "value": value, "description": description},
            write=WriteOptions(field_manager="kube-apiserver"),
        )
        try:
            await server.perform(op)
        except AlreadyExists:
            continue


async def create_default_roles(server: Server) -> None:
    """Create what is missing; several servers on one store may do it at once."""
    snapshot = await server.store.snapshot()
    if snapshot.get(f"{GROUP}/clusterrolebindings/system:public-info-viewer") is not None:
        return
    for resource, name, body in _objects():
        if snapshot.get(f"{GROUP}/{resource}/{name}") is not None:
            continue
        metadata = {"name": name, "labels": dict(_LABELS)}
        op = Operation(
            verb="create",
            group=GROUP,
            version="v1",
            resource=resource,
            body={"metadata": metadata, **body},
            write=WriteOptions(field_manager="attractor"),
        )
        try:
            await server.perform(op)
        except AlreadyExists:
            continue
