"""Manifests from declarations: CRDs, RBAC, ServiceAccount, Deployment, PodDisruptionBudget, Lease role.

RBAC follows from what controllers declare: the reconciled kind may be read, written, its status and finalizers set;
owned kinds may be read and written; watched and indexed kinds may be read; Events may be written; ``permissions`` add
the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from attractor.k8s import catalog
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.resource.kind import guess_plural
from attractor.runtime import webhook_manifests
from attractor.runtime.manifest_objects import labelled, role
from attractor.webhooks import WebhookSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.runtime.controller import Controller, Permission

READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete")
HEALTH_PORT = 8081


@dataclass(frozen=True)
class Operator:
    """An operator to deploy: its name and namespace, its image, its command."""

    name: str
    namespace: str = "default"
    image: str = ""
    module: str = ""
    watch_namespace: str = ""
    """The one namespace whose objects are reconciled; empty for all, which needs cluster-wide rights."""
    replicas: int = 2
    webhooks: WebhookSet = field(default_factory=WebhookSet)
    """Webhooks that it serves."""
    cert_manager: bool = False
    """Whether cert-manager makes their certificate; else the operator does."""


def custom_kinds(controllers: Iterable[Controller]) -> list[type[Resource]]:
    """The kinds that need a CustomResourceDefinition."""
    found = [kind for one in controllers for kind in one.kinds]
    return [kind for kind in dict.fromkeys(found) if not kind.resource_info.definition]


class Right(NamedTuple):
    """A right: verbs on a resource, or on a subresource of it."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    is_namespaced: bool = True


def rules(controllers: Iterable[Controller]) -> list[JsonObject]:
    """Return the RBAC rules of the controllers: one for each set of verbs and group, in a stable order."""
    return _joined(_rights(controllers))


def _rights(controllers: Iterable[Controller]) -> list[Right]:
    return [right for one in controllers for right in _rights_of(one)]


def _rights_of(one: Controller) -> Iterator[Right]:
    reconciled = one.for_.kind.resource_info
    group, resource, is_namespaced = reconciled.group, reconciled.resource, reconciled.namespaced
    yield Right(group, resource, (*READ, "update", "patch"), is_namespaced)
    yield Right(group, f"{resource}/finalizers", ("update",), is_namespaced)
    if "status" in reconciled.subresources:
        yield Right(group, f"{resource}/status", ("get", "update", "patch"), is_namespaced)
    yield Right("", "events", ("create", "patch"), is_namespaced)
    for owned in one.owns:
        info = owned.kind.resource_info
        yield Right(info.group, info.resource, (*READ, *WRITE), info.namespaced)
    for kind in one.kinds:  # what is watched or indexed
        info = kind.resource_info
        yield Right(info.group, info.resource, READ, info.namespaced)
    for extra in one.permissions:
        yield _permitted(extra)


def _permitted(extra: Permission) -> Right:
    kind = extra.kind
    info = catalog.find_kind(kind) if isinstance(kind, GroupVersionKind) else kind.resource_info
    group, resource, is_namespaced = (
        (kind.group, guess_plural(kind.kind), True)  # type: ignore[union-attr]  # every class has a resource
        if info is None
        else (info.group, info.resource, info.namespaced)
    )
    below = f"/{extra.subresource}" if extra.subresource else ""
    return Right(group, resource + below, tuple(extra.verbs), is_namespaced)


def _joined(rights: Iterable[Right]) -> list[JsonObject]:
    granted: dict[tuple[str, str], set[str]] = {}
    for right in rights:
        granted.setdefault((right.group, right.resource), set()).update(right.verbs)
    order = [*READ, *WRITE]
    by_verbs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in granted.items():
        key = (group, tuple(sorted(verbs, key=lambda verb: (order.index(verb) if verb in order else 99, verb))))
        by_verbs.setdefault(key, []).append(resource)
    return [
        {"apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
        for (group, verbs), resources in sorted(by_verbs.items())
    ]


def manifests(
    operator: Operator, controllers: Sequence[Controller], kinds: Iterable[type[Resource]] | None = None
) -> list[JsonObject]:
    """Everything that is needed to run the controllers in a cluster, in the order in which to apply it.

    ``kinds`` are those that need a definition, by default those that the controllers declare.
    """
    labels = _labels(operator)
    return [
        *webhook_manifests.definitions(operator, custom_kinds(controllers) if kinds is None else kinds),
        *access(operator, controllers),
        *webhook_manifests.manifests(operator, labels),
        webhook_manifests.with_webhooks(operator, _deployment(operator, labels)),
        {
            **labelled("policy/v1", "PodDisruptionBudget", operator.name, operator.namespace, labels),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}},
        },
    ]


def access(operator: Operator, controllers: Iterable[Controller]) -> list[JsonObject]:
    """Return the operator's ServiceAccount, roles and role bindings."""
    labels = _labels(operator)
    return [
        labelled("v1", "ServiceAccount", operator.name, operator.namespace, labels),
        *_roles(operator, _rights(controllers), labels),
        *role(operator, f"{operator.name}-leader", operator.namespace, _lease_rules(operator), labels),
        *webhook_manifests.access(operator, labels),
    ]


def _labels(operator: Operator) -> JsonObject:
    return {"app.kubernetes.io/name": operator.name}


def _roles(operator: Operator, rights: Sequence[Right], labels: JsonObject) -> Iterator[JsonObject]:
    """Rights in the whole cluster; or in one namespace, where what lives in no namespace needs a role of its own."""
    name, namespace = operator.name, operator.watch_namespace
    if not namespace:
        yield from role(operator, name, "", _joined(rights), labels)
        return
    inside = [right for right in rights if right.is_namespaced]
    if outside := [right for right in rights if not right.is_namespaced]:
        yield from role(operator, f"{name}-cluster", "", _joined(outside), labels)
    if inside:
        yield from role(operator, name, namespace, _joined(inside), labels)


def _lease_rules(operator: Operator) -> list[JsonObject]:
    """One Lease and no other; which one is created cannot be told from a request to create."""
    leases: JsonObject = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    own = {"resourceNames": [f"{operator.name}-leader"], "verbs": ["get", "watch", "update"]}
    return [{**leases, "verbs": ["create"]}, {**leases, **own}]


def _deployment(operator: Operator, labels: JsonObject) -> JsonObject:
    args = ["run", operator.module, "--in-cluster", "--leader-elect", f"--leader-elect-namespace={operator.namespace}"]
    args += [f"--leader-elect-name={operator.name}-leader", f"--health=0.0.0.0:{HEALTH_PORT}"]
    if operator.watch_namespace:
        args.append(f"--namespace={operator.watch_namespace}")
    container: JsonObject = {
        "name": "manager",
        "image": operator.image,
        "command": ["attractor"],
        "args": args,
        "ports": [{"name": "health", "containerPort": HEALTH_PORT}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "initialDelaySeconds": 15},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod: JsonObject = {
        "serviceAccountName": operator.name,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 40,
        "containers": [container],
    }
    return {
        **labelled("apps/v1", "Deployment", operator.name, operator.namespace, labels),
        "spec": {
            "replicas": operator.replicas,
            "selector": {"matchLabels": dict(labels)},
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }
