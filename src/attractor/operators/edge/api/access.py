"""Access of agents: a service account for each version, with rights in its cloudlet's namespace only.

An agent reads the kinds of its namespace and writes nothing but their status, the Lease that is its sign of life, and
its own next token. The account of the old version is
deleted once the new one serves, which ends its credentials: an old agent that was cut off cannot come back and write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.k8s.coordination_v1 import Lease
from attractor.k8s.core_v1 import ServiceAccount
from attractor.k8s.rbac_v1 import Role, RoleBinding
from attractor.objects.errors import AlreadyExists, Conflict, NotFound
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge.api.types import GROUP, Cloudlet
from attractor.operators.edge.controllers.upgrades import cloudlet_status
from attractor.runtime import Owns, Permission, controller
from attractor.runtime.predicates import Predicate

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.objects.resource import Resource
    from attractor.runtime import Context, Controller, Result
    from attractor.runtime.predicates import Change

PREFIX = "agent-"
LABEL = f"{GROUP}/agent"
_RBAC = "rbac.authorization.k8s.io"
_RESOURCES = ["cloudlets", "clusterinsts", "appinsts"]
_SIGN = ["get", "patch"]


def account_of(version: str) -> str:
    """The service account of a version's agent."""
    return f"{PREFIX}{version}"


def versions_of(cloudlet: Cloudlet) -> list[str]:
    """The versions whose agents may connect: the one that serves, and the one that an upgrade leads to."""
    status = cloudlet_status(cloudlet)
    return [status.version or cloudlet.spec.version, *([status.upgrading_to] if status.upgrading_to else [])]


def _meta(cloudlet: Cloudlet, version: str) -> ObjectMeta:
    return ObjectMeta(
        name=account_of(version),
        namespace=cloudlet.metadata.namespace,
        labels={LABEL: version},
        owner_references=[cloudlet.owner_reference()],
    )


def _rules(version: str, upgrading_to: str) -> list[dict[str, list[str]]]:
    rules = [
        {"apiGroups": [GROUP], "resources": _RESOURCES, "verbs": ["get", "list", "watch"]},
        {"apiGroups": [GROUP], "resources": [f"{name}/status" for name in _RESOURCES], "verbs": ["patch"]},
        {"apiGroups": [GROUP], "resources": ["progresses"], "verbs": ["get", "create", "patch"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    own = account_of(version)
    accounts = [own, account_of(upgrading_to)] if upgrading_to and upgrading_to != version else [own]
    rules += [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [own], "verbs": _SIGN},
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": accounts, "verbs": ["create"]},
    ]
    return rules


def manifests(cloudlet: Cloudlet, version: str) -> list[Resource]:
    """The objects that let the agent of one version in."""
    name = account_of(version)
    upgrading_to = cloudlet_status(cloudlet).upgrading_to
    subject = {"kind": "ServiceAccount", "name": name, "namespace": cloudlet.metadata.namespace}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    documents: list[tuple[Any, Any]] = [
        (ServiceAccount, {"apiVersion": "v1", "kind": "ServiceAccount"}),
        (Role, {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "rules": _rules(version, upgrading_to)}),
        (RoleBinding, {"apiVersion": f"{_RBAC}/v1", "kind": "RoleBinding", "subjects": [subject], "roleRef": role}),
        (Lease, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}),
    ]
    made: list[Resource] = []
    for kind, document in documents:
        obj = kind.from_dict(document)
        obj.metadata = _meta(cloudlet, version)
        made.append(obj)
    return made


async def reconcile(ctx: Context, key: Key) -> Result | None:
    """Let in the agents of the versions that may connect, and nobody else."""
    cloudlet = await ctx.find(Cloudlet, key)
    if cloudlet is None or cloudlet.metadata.is_deleting or key.name != key.namespace:
        return None
    versions = versions_of(cloudlet)
    for version in versions:
        for wanted in manifests(cloudlet, version):
            await _ensure(ctx, wanted)
    for account in await ctx.list(ServiceAccount, namespace=key.namespace, labels=LABEL):
        if account.metadata.labels[LABEL] not in versions:
            await _remove(ctx, account.key)
    return None


async def _ensure(ctx: Context, wanted: Resource) -> None:
    found = await ctx.find(type(wanted), wanted.key)
    if found is None:
        try:
            await ctx.create(wanted)
        except AlreadyExists:
            return  # another coordinator was faster, or the cache is behind
    elif isinstance(wanted, Role) and wanted.to_dict().get("rules") != found.to_dict().get("rules"):
        changed = found.deep_copy()
        changed.rules = wanted.rules  # type: ignore[attr-defined]  # typed built-in kinds are made at run time
        await ctx.patch_from(found, changed)


async def _remove(ctx: Context, key: Key) -> None:
    for kind in (ServiceAccount, RoleBinding, Role, Lease):
        try:
            await ctx.delete_key(kind, key)
        except (NotFound, Conflict):
            continue


def _comes_or_goes(change: Change) -> bool:
    """A sign of life is no reason to look at an agent's rights again."""
    return change.old is None or change.new is None


def _labelled(kind: type[Resource]) -> Permission:
    return Permission(kind, ("get", "list", "watch", "create", "patch", "delete"))


ACCESS: Controller = controller(
    reconcile,
    name="cloudlet-access",
    for_=Cloudlet,
    owns=[ServiceAccount, Role, RoleBinding, Owns(Lease, when=Predicate(_comes_or_goes))],
    permissions=[_labelled(kind) for kind in (ServiceAccount, Role, RoleBinding, Lease)],
)
"""The controller that lets agents in."""
