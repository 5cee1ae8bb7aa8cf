"""The role controller: one IAM role for each Role, taken by one ServiceAccount only, with exactly one policy attached.

Which policy follows from the Role's own name; that it exists on AWS is read from the status of the Policy of that name.
While the Policy is being deleted its policy is detached, since IAM would not let it go otherwise. While there is no
Policy, attachments are left alone: a cache that lags must not take permissions away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.operators.irsa.api import Policy, Role, RoleStatus
from attractor.operators.irsa.controllers.documents import trust_document
from attractor.operators.irsa.controllers.names import aws_names
from attractor.operators.irsa.controllers.parts import PartReconciler
from attractor.operators.irsa.drivers.iam import Iam, Rejected

if TYPE_CHECKING:
    from attractor.operators.irsa.controllers.names import AwsNames
    from attractor.operators.irsa.drivers.iam import IamRole
    from attractor.runtime import Context


class Roles(PartReconciler[Role]):
    """Keeps roles in IAM."""

    kind = Role

    async def sync(self, ctx: Context, part: Role) -> RoleStatus:
        """Create the role or put it right, then attach its policy once there is one."""
        iam, names = ctx.external(Iam), aws_names(self.settings, part.key)
        trust = trust_document(self.settings, part.key.namespace, part.spec.service_account_name)
        known = await iam.get_role(names.name)
        if known is None:
            await iam.create_role(names.name, names.role_path, trust, part.spec.permissions_boundary_arn)
            attached: tuple[str, ...] = ()
        else:
            _check_ours(known, names)
            await self._put_right(ctx, names.name, known, trust, part.spec.permissions_boundary_arn)
            attached = await iam.list_attached_role_policies(names.name) or ()
        policy = await ctx.find(Policy, part.key)
        status = RoleStatus(arn=names.role_arn, observed_generation=part.metadata.generation)
        if policy is None or not policy.status.arn:
            status.condition, status.reason = "pending", "waits until the policy is on AWS"
            return status
        wanted = () if policy.metadata.is_deleting else (names.policy_arn,)
        await self._attach_exactly(ctx, names.name, attached, wanted)
        if not wanted:
            status.condition, status.reason = "pending", "waits until the deleted policy is replaced"
            return status
        status.condition, status.reason = "created", "the role on AWS has its policy"
        status.policy_arn = names.policy_arn
        return status

    async def _put_right(self, ctx: Context, name: str, known: IamRole, trust: str, boundary_arn: str) -> None:
        iam = ctx.external(Iam)
        if known.trust != trust:
            await iam.update_assume_role_policy(name, trust)
        if known.boundary_arn != boundary_arn:
            if boundary_arn:
                await iam.put_role_permissions_boundary(name, boundary_arn)
            else:
                await iam.delete_role_permissions_boundary(name)

    async def _attach_exactly(
        self, ctx: Context, name: str, attached: tuple[str, ...], wanted: tuple[str, ...]
    ) -> None:
        iam = ctx.external(Iam)
        for arn in wanted:
            if arn not in attached:
                await iam.attach_role_policy(name, arn)
        for arn in attached:
            if arn not in wanted:
                await iam.detach_role_policy(name, arn)

    async def clean_up(self, ctx: Context, part: Role) -> None:
        """Detach everything, then delete the role; somebody else's role of that name is left alone."""
        iam, names = ctx.external(Iam), aws_names(self.settings, part.key)
        known = await iam.get_role(names.name)
        if known is None or known.arn != names.role_arn:
            return
        for arn in await iam.list_attached_role_policies(names.name) or ():
            await iam.detach_role_policy(names.name, arn)
        await iam.delete_role(names.name)


def _check_ours(known: IamRole, names: AwsNames) -> None:
    if known.arn != names.role_arn:
        raise Rejected(
            "NameTaken", f"AWS has {known.arn}, which is not ours; delete it, or give this resource another name"
        )
