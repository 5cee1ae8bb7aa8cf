"""The irsa controller: from one resource to its Policy, its Role and, last, its ServiceAccount.

Deletion goes the other way: the ServiceAccount, then the Role (whose controller detaches), then the Policy, then the
resource itself. A child that belongs to somebody else is never touched; the condition says what is in the way.

What a resource must fulfil before anything is done for it is said by the CustomResourceDefinition too; that it is
looked at here is for clusters whose definition is older than the operator.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.k8s.core_v1 import ServiceAccount
from attractor.objects.resource import ObjectMeta
from attractor.operators.irsa.api import (
    ACTION_PATTERN,
    RESOURCE_PATTERN,
    ROLE_ARN_ANNOTATION,
    IamRoleServiceAccount,
    IrsaStatus,
    Policy,
    Role,
    RoleSpec,
    is_complete,
)
from attractor.operators.irsa.controllers.writes import STALE, hold, is_held, release, report
from attractor.runtime import Result
from attractor.runtime.toolkit.finalizers import add_finalizer, finalizer_name
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.objects.resource import Resource
    from attractor.operators.irsa.api import IrsaCondition, IrsaSpec
    from attractor.operators.irsa.controllers.settings import Settings
    from attractor.runtime import Context

P = TypeVar("P", Policy, Role)

RECHECK = Result(requeue_after_s=5.0)
"""While something must go first. The watch tells when it is gone, unless it came and went while the watch was down."""


class Irsas:
    """Keeps the parts of each resource."""

    kind = IamRoleServiceAccount

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    async def reconcile(self, ctx: Context, key: Key) -> Result | None:
        """One run for one resource."""
        irsa = await ctx.find(IamRoleServiceAccount, key)
        if irsa is None:
            return None
        try:
            if irsa.metadata.is_deleting:
                return await self._delete(ctx, irsa) if is_held(irsa) else None
            irsa = await hold(ctx, irsa)
            status = await self._sync(ctx, irsa)
            await report(ctx, irsa, status)
        except STALE:
            return Result(requeue=True)
        return RECHECK if status.condition == "pending" else None

    async def _delete(self, ctx: Context, irsa: IamRoleServiceAccount) -> Result | None:
        if not await self._is_cleaned_up(ctx, irsa):
            return RECHECK
        await release(ctx, irsa)
        return None

    async def _sync(self, ctx: Context, irsa: IamRoleServiceAccount) -> IrsaStatus:
        problem = problem_of(irsa.spec)
        if problem:
            return _status(irsa, "failed", problem)
        account = await ctx.find(ServiceAccount, irsa.key)
        if account is not None and not is_controlled_by(account, irsa):
            return _in_the_way(irsa, account)
        policy = await self._part(ctx, irsa, Policy(metadata=_meta(irsa), spec=irsa.spec.policy))
        role = await self._part(ctx, irsa, Role(metadata=_meta(irsa), spec=self._role_spec(irsa)))
        for part in (policy, role):
            if not is_controlled_by(part, irsa):
                return _in_the_way(irsa, part)
            if part.metadata.is_deleting:
                return _status(irsa, "pending", f"waits until the deleted {part.kind} is gone")
        if not (is_complete(policy) and is_complete(role)):
            return _unfinished(irsa, policy, role)
        await self._account(ctx, irsa, account, role.status.arn)
        status = _status(irsa, "created", "all resources successfully created")
        status.policy_arn, status.role_arn = policy.status.arn, role.status.arn
        return status

    async def _part(self, ctx: Context, irsa: IamRoleServiceAccount, wanted: P) -> P:
        """The part as wanted, or whoever's part has the name."""
        known = await ctx.find(type(wanted), irsa.key)
        if known is None:
            set_controller(irsa, wanted)
            add_finalizer(wanted, finalizer_name(type(wanted)))  # from the start, which saves its controller a write
            created: P = await ctx.create(wanted)
            return created
        if not is_controlled_by(known, irsa) or known.spec == wanted.spec:
            return known
        changed: Any = known.deep_copy()
        changed.spec = wanted.spec
        stored: P = await ctx.patch_from(known, changed)
        return stored

    def _role_spec(self, irsa: IamRoleServiceAccount) -> RoleSpec:
        boundary_arn = self.settings.permissions_boundary_arn
        return RoleSpec(service_account_name=irsa.metadata.name, permissions_boundary_arn=boundary_arn)

    async def _account(
        self, ctx: Context, irsa: IamRoleServiceAccount, known: ServiceAccount | None, role_arn: str
    ) -> None:
        """The ServiceAccount, annotated with its role."""
        if known is None:
            made = ServiceAccount(metadata=_meta(irsa))
            made.metadata.annotations = {ROLE_ARN_ANNOTATION: role_arn}
            set_controller(irsa, made)
            await ctx.create(made)
        elif known.metadata.annotations.get(ROLE_ARN_ANNOTATION) != role_arn:
            changed = known.deep_copy()
            changed.metadata.annotations = {**known.metadata.annotations, ROLE_ARN_ANNOTATION: role_arn}
            await ctx.patch_from(known, changed)

    async def _is_cleaned_up(self, ctx: Context, irsa: IamRoleServiceAccount) -> bool:
        """Ask for the deletion of what is left, one after the other; True when nothing of ours is."""
        kinds: tuple[type[Resource], ...] = (ServiceAccount, Role, Policy)
        for kind in kinds:
            found = await ctx.find(kind, irsa.key)
            if found is not None and is_controlled_by(found, irsa):
                if not found.metadata.is_deleting:
                    await ctx.delete(found)
                return False
        return True


def _meta(irsa: IamRoleServiceAccount) -> ObjectMeta:
    return ObjectMeta(namespace=irsa.metadata.namespace, name=irsa.metadata.name)


def _status(irsa: IamRoleServiceAccount, condition: IrsaCondition, reason: str) -> IrsaStatus:
    """A new status; what is known of AWS stays."""
    status = irsa.deep_copy().status
    status.condition, status.reason = condition, reason
    status.observed_generation = irsa.metadata.generation
    return status


def _in_the_way(irsa: IamRoleServiceAccount, other: Resource) -> IrsaStatus:
    """The status while a child's name is taken."""
    named = f"{other.kind} {other.key}"
    owner = other.metadata.controller
    if owner is not None and (owner.kind, owner.name) == (irsa.kind, irsa.metadata.name):
        return _status(irsa, "pending", f"waits until {named} of the deleted resource is gone")
    if isinstance(other, ServiceAccount):
        return _status(irsa, "saNameConflict", f"serviceAccountName conflict: {named} exists and is not ours")
    return _status(irsa, "failed", f"{named} exists and is not ours; delete it, or use another name")


def _unfinished(irsa: IamRoleServiceAccount, policy: Policy, role: Role) -> IrsaStatus:
    """The status while a part is not as wanted on AWS."""
    parts = (policy, role)
    for word, condition in _TROUBLES:
        for part in parts:
            if part.status.condition == word:
                return _status(irsa, condition, f"{part.kind}: {part.status.reason}")
    waiting = " and ".join(part.kind for part in parts if not is_complete(part))
    return _status(irsa, "progressing", f"waits for {waiting}")


_TROUBLES: tuple[tuple[str, IrsaCondition], ...] = (("forbidden", "forbidden"), ("error", "failed"))


_RESOURCE = re.compile(RESOURCE_PATTERN)
_ACTION = re.compile(ACTION_PATTERN)


def problem_of(spec: IrsaSpec) -> str:
    """Return the mistake in a spec, for its author; empty when there is none."""
    if not spec.policy.statement:
        return "spec.policy.statement: at least one statement must be provided"
    for number, statement in enumerate(spec.policy.statement):
        where = f"spec.policy.statement[{number}]"
        if not _RESOURCE.match(statement.resource):
            return f"{where}.resource: {statement.resource!r}: resource must be a valid ARN or *"
        if not statement.action:
            return f"{where}.action: action must not be empty"
        for action in statement.action:
            if not _ACTION.match(action):
                return f"{where}.action: {action!r}: an action is service:Name, as in s3:GetObject"
    return ""
