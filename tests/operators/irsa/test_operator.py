"""The operator on the embedded server, with IAM as a model: everything that it promises, one sentence each."""

from attractor.objects.builtin.core_v1 import ServiceAccount
from attractor.operators.irsa.documents import policy_document, trust_document
from attractor.operators.irsa.model import IamState, ModelIam
from attractor.operators.irsa.types import ROLE_ARN_ANNOTATION, Policy, Role
from attractor.testing import ClusterUnderTest, VirtualTime
from tests.operators.irsa.things import NAMES, READ, SETTINGS, A, gone, irsa, operating, settled


async def test_a_resource_becomes_a_policy_a_role_and_an_annotated_service_account(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        made = await settled(cluster, "created")
        assert (made.status.role_arn, made.status.policy_arn) == (NAMES.role_arn, NAMES.policy_arn)
        account = await cluster.client.get(ServiceAccount, A)
        assert account.metadata.annotations == {ROLE_ARN_ANNOTATION: NAMES.role_arn}
        ((arn, policy),), ((name, role),) = iam.state.policies, iam.state.roles
        assert (arn, policy.versions) == (NAMES.policy_arn, ((1, policy_document([READ])),))
        assert (name, role.attached) == (NAMES.name, (NAMES.policy_arn,))
        assert role.role.trust == trust_document(SETTINGS, "default", "reader")
        assert (await cluster.client.get(Role, A)).status.policy_arn == NAMES.policy_arn
        assert (await cluster.client.get(Policy, A)).status.arn == NAMES.policy_arn


async def test_a_deleted_resource_leaves_nothing_behind(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        made = await settled(cluster, "created")
        await cluster.client.delete(type(made), A)
        await gone(cluster)
        assert iam.state == IamState()
        for kind in (Policy, Role, ServiceAccount):
            assert [one for one in await cluster.client.list(kind, "default") if one.metadata.name == A.name] == []
