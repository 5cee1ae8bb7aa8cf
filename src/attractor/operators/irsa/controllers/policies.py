"""The policy controller: one IAM policy for each Policy, whose default version says what the spec says.

A changed statement becomes a new version, since versions never change. IAM keeps five: the oldest that is not the
default makes room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.operators.irsa.api import Policy, PolicyStatus
from attractor.operators.irsa.controllers.documents import policy_document
from attractor.operators.irsa.controllers.names import aws_names
from attractor.operators.irsa.controllers.parts import PartReconciler
from attractor.operators.irsa.drivers.iam import MAX_VERSIONS, Iam

if TYPE_CHECKING:
    from attractor.runtime import Context


class Policies(PartReconciler[Policy]):
    """Keeps policies in IAM."""

    kind = Policy

    async def sync(self, ctx: Context, part: Policy) -> PolicyStatus:
        """Create the policy, or give it a new default version."""
        iam, names = ctx.external(Iam), aws_names(self.settings, part.key)
        arn, wanted = names.policy_arn, policy_document(part.spec.statement)
        known = await iam.get_policy(arn)
        if known is None:
            await iam.create_policy(names.name, names.policy_path, wanted)
        elif await iam.get_policy_version(arn, known.default_version_id) != wanted:
            await self._make_room(ctx, arn)
            await iam.create_policy_version(arn, wanted)
        return PolicyStatus(
            condition="created",
            reason="the policy on AWS says what the spec says",
            arn=arn,
            observed_generation=part.metadata.generation,
        )

    async def _make_room(self, ctx: Context, arn: str) -> None:
        iam = ctx.external(Iam)
        versions = await iam.list_policy_versions(arn) or ()
        if len(versions) >= MAX_VERSIONS:
            oldest = next(version for version in versions if not version.is_default)
            await iam.delete_policy_version(arn, oldest.version_id)

    async def clean_up(self, ctx: Context, part: Policy) -> None:
        """Delete the policy with all its versions; IAM refuses while it is attached."""
        iam, arn = ctx.external(Iam), aws_names(self.settings, part.key).policy_arn
        versions = await iam.list_policy_versions(arn)
        if versions is None:
            return
        for version in versions:
            if not version.is_default:
                await iam.delete_policy_version(arn, version.version_id)
        await iam.delete_policy(arn)
