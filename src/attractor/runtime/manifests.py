"""Manifests from declarations: CRDs, RBAC, ServiceAccount, Deployment, PodDisruptionBudget, Lease role.

RBAC follows from what controllers declare: the reconciled kind may be read, written, its status and finalizers set;
owned kinds may be read and written; watched kinds may be read; Events may be written; ``permissions`` add the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.objects.gvk import GroupVersionKind
from attractor.objects.resource import crd_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.resource import Resource
    from attractor.runtime.controller import Controller

READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete")
HEALTH_PORT = 8081
RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Operator:
    """What to deploy: a name, where, which image, how it is started."""

    name: str
    namespace: str = "default"
    image: str = ""
    module: str = ""
    watch_namespace: str = ""
    """The one namespace whose objects are reconciled; empty for all, which needs cluster-wide rights."""
    replicas: int = 2


def custom_kinds(controllers: Iterable[Controller]) -> list[type[Resource]]:
    """The kinds that need a CustomResourceDefinition."""
    found = [kind for one in controllers for kind in one.kinds]
    return [kind for kind in dict.fromkeys(found) if not kind.resource_info.definition]


def crds(kinds: Iterable[type[Resource]]) -> list[JsonObject]:
    """One CustomResourceDefinition for each kind; classes that are versions of one kind share it."""
    by_kind: dict[tuple[str, str], list[type[Resource]]] = {}
    for kind in kinds:
        by_kind.setdefault((kind.gvk.group, kind.gvk.kind), []).append(kind)
    return [crd_for(*versions) for versions in by_kind.values()]


def rules(controllers: Iterable[Controller]) -> list[JsonObject]:
    """What the controllers may do, as RBAC rules: one for each set of verbs and group, in a stable order."""
    granted: dict[tuple[str, str], set[str]] = {}

    def grant(group: str, resource: str, verbs: Iterable[str]) -> None:
        granted.setdefault((group, resource), set()).update(verbs)

    for one in controllers:
        reconciled = one.for_.kind.resource_info
        grant(reconciled.group, reconciled.resource, (*READ, "update", "patch"))
        grant(reconciled.group, f"{reconciled.resource}/finalizers", ("update",))
        if "status" in reconciled.subresources:
            grant(reconciled.group, f"{reconciled.resource}/status", ("get", "update", "patch"))
        for owned in one.owns:
            info = owned.kind.resource_info
            grant(info.group, info.resource, (*READ, *WRITE))
        for watched in one.watches:
            info = watched.kind.resource_info
            grant(info.group, info.resource, READ)
        for extra in one.permissions:
            grant(*_resource(extra.kind), extra.verbs)
        grant("", "events", ("create", "patch"))
    return _joined(granted)


def _resource(kind: type[Resource] | GroupVersionKind) -> tuple[str, str]:
    if isinstance(kind, GroupVersionKind):
        from attractor.objects.resource.kind import guess_plural

        return kind.group, guess_plural(kind.kind)
    return kind.resource_info.group, kind.resource_info.resource


def _joined(granted: dict[tuple[str, str], set[str]]) -> list[JsonObject]:
    order = [*READ, *WRITE]
    by_verbs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in granted.items():
        key = (group, tuple(sorted(verbs, key=lambda verb: (order.index(verb) if verb in order else 99, verb))))
        by_verbs.setdefault(key, []).append(resource)
    return [
        {"apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
        for (group, verbs), resources in sorted(by_verbs.items())
    ]


def manifests(operator: Operator, controllers: Sequence[Controller]) -> list[JsonObject]:
    """Everything that is needed to run the controllers in a cluster, in the order in which to apply it."""
    account = {"kind": "ServiceAccount", "name": operator.name, "namespace": operator.namespace}
    scoped = bool(operator.watch_namespace)
    role_kind = "Role" if scoped else "ClusterRole"
    where = {"namespace": operator.watch_namespace} if scoped else {}
    lease = f"{operator.name}-leader"
    lease_rules = [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": [*READ, "create", "update"]}
    ]
    labels = {"app.kubernetes.io/name": operator.name}
    return [
        *crds(custom_kinds(controllers)),
        _object("v1", "ServiceAccount", operator.name, operator.namespace, labels),
        {
            **_object(f"{RBAC}/v1", role_kind, operator.name, where.get("namespace", ""), labels),
            "rules": rules(controllers),
        },
        _binding(role_kind, operator.name, operator.name, where.get("namespace", ""), account, labels),
        {**_object(f"{RBAC}/v1", "Role", lease, operator.namespace, labels), "rules": lease_rules},
        _binding("Role", lease, lease, operator.namespace, account, labels),
        _deployment(operator, labels),
        {
            **_object("policy/v1", "PodDisruptionBudget", operator.name, operator.namespace, labels),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}},
        },
    ]


def _object(api_version: str, kind: str, name: str, namespace: str, labels: JsonObject) -> JsonObject:
    metadata: JsonObject = {"name": name, "labels": dict(labels)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _binding(
    role_kind: str, name: str, role: str, namespace: str, account: JsonObject, labels: JsonObject
) -> JsonObject:
    kind = "RoleBinding" if role_kind == "Role" else "ClusterRoleBinding"
    reference = {"apiGroup": RBAC, "kind": role_kind, "name": role}
    return {**_object(f"{RBAC}/v1", kind, name, namespace, labels), "roleRef": reference, "subjects": [dict(account)]}


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
        **_object("apps/v1", "Deployment", operator.name, operator.namespace, labels),
        "spec": {
            "replicas": operator.replicas,
            "selector": {"matchLabels": dict(labels)},
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }
