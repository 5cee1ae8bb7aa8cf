"""The operator on the embedded server, with IAM as a model: everything that it promises, one sentence each."""

from attractor.k8s.core_v1 import ServiceAccount
from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.irsa.api import (
    ROLE_ARN_ANNOTATION,
    IamRoleServiceAccount,
    Policy,
    PolicySpec,
    Role,
    Statement,
)
from attractor.operators.irsa.controllers.documents import policy_document, trust_document
from attractor.operators.irsa.controllers.names import aws_names
from attractor.operators.irsa.controllers.settings import Settings
from attractor.operators.irsa.proofs.model import IamState, ModelIam
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.operators.irsa.things import NAMES, PROVIDER, READ, SETTINGS, WRITE, A, gone, irsa, operating, settled

BOUNDARY = "arn:aws:iam::123456789012:policy/limit"


def document_in(iam: ModelIam) -> str:
    ((_, policy),) = iam.state.policies
    return dict(policy.versions)[policy.default]


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
        await settled(cluster, "created")
        await cluster.client.delete(IamRoleServiceAccount, A)
        await gone(cluster)
        assert iam.state == IamState()
        for kind in (Policy, Role, ServiceAccount):
            assert [one for one in await cluster.client.list(kind, "default") if one.metadata.name == A.name] == []


async def test_each_changed_statement_is_a_new_version_and_the_oldest_makes_room_at_five(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        for number in range(2, 9):
            statement = Statement(resource="*", action=[f"s3:Action{number}"])
            spec = {"spec": {"policy": {"statement": [{"resource": "*", "action": statement.action}]}}}
            await cluster.client.patch(IamRoleServiceAccount, A, spec)
            await settled(cluster, "created")
            assert document_in(iam) == policy_document([statement])
        ((_, policy),) = iam.state.policies
        assert [number for number, _ in policy.versions] == [4, 5, 6, 7, 8]


async def test_the_order_of_statements_and_actions_makes_no_new_version(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa(A.name, READ, WRITE))
        await settled(cluster, "created")
        turned = [{"resource": "*", "action": WRITE.action}, {"resource": READ.resource, "action": READ.action[::-1]}]
        await cluster.client.patch(IamRoleServiceAccount, A, {"spec": {"policy": {"statement": turned}}})
        await settled(cluster, "created")
        ((_, policy),) = iam.state.policies
        assert [number for number, _ in policy.versions] == [1]


async def test_a_service_account_of_that_name_is_left_alone_until_it_goes(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    theirs = ServiceAccount(metadata=ObjectMeta(name=A.name, namespace=A.namespace))
    await cluster.client.create(theirs)
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        blocked = await settled(cluster, "saNameConflict")
        assert (
            blocked.status.reason == "serviceAccountName conflict: ServiceAccount default/reader exists and is not ours"
        )
        assert iam.state == IamState()
        await cluster.client.delete(ServiceAccount, A)
        await settled(cluster, "created")


async def test_a_conflicting_resource_can_be_deleted_and_the_other_account_stays(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.client.create(ServiceAccount(metadata=ObjectMeta(name=A.name, namespace=A.namespace)))
    async with operating(cluster):
        await cluster.client.create(irsa())
        await settled(cluster, "saNameConflict")
        await cluster.client.delete(IamRoleServiceAccount, A)
        await gone(cluster)
        await cluster.client.get(ServiceAccount, A)


async def test_a_part_that_is_not_ours_is_left_alone_and_named(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    async with operating(cluster):
        meta = ObjectMeta(name=A.name, namespace=A.namespace)
        await cluster.client.create(Policy(metadata=meta, spec=PolicySpec(statement=[WRITE])))
        await cluster.client.create(irsa())
        blocked = await settled(cluster, "failed")
        assert blocked.status.reason == "Policy default/reader exists and is not ours; delete it, or use another name"
        assert (await cluster.client.get(Policy, A)).spec.statement == [WRITE]


async def test_what_an_interrupted_run_had_created_is_adopted(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    await iam.create_policy(NAMES.name, NAMES.policy_path, policy_document([WRITE]))
    await iam.create_role(NAMES.name, NAMES.role_path, "{}", BOUNDARY)
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        assert document_in(iam) == policy_document([READ])
        ((_, role),) = iam.state.roles
        assert role.role.trust == trust_document(SETTINGS, "default", "reader")
        assert (role.role.boundary_arn, role.attached) == ("", (NAMES.policy_arn,))


async def test_somebody_elses_role_is_neither_changed_nor_deleted(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    await iam.create_role(NAMES.name, "/theirs/", "{}", "")
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        blocked = await settled(cluster, "failed")
        assert "NameTaken: AWS has arn:aws:iam::123456789012:role/theirs/" in blocked.status.reason
        await cluster.client.delete(IamRoleServiceAccount, A)
        await gone(cluster)
        ((_, role),) = iam.state.roles
        assert (role.role.trust, role.attached) == ("{}", ())


async def test_two_resources_with_one_name_on_aws_do_not_disturb_each_other(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    first, second = Key("default", "b-c"), Key("default-b", "c")
    assert aws_names(SETTINGS, first).name == aws_names(SETTINGS, second).name
    from attractor.k8s.core_v1 import Namespace

    await cluster.client.create(Namespace(metadata=ObjectMeta(name="default-b")))
    async with operating(cluster):
        await cluster.client.create(irsa("b-c"))
        await settled(cluster, "created", first)
        await cluster.client.create(irsa("c", namespace="default-b"))
        await eventually(lambda: has_reason(cluster, second, "NameTaken"))
        assert (await cluster.client.get(IamRoleServiceAccount, first)).status.condition == "created"


async def has_reason(cluster: ClusterUnderTest, key: Key, word: str) -> bool:
    return word in (await cluster.client.get(Role, key)).status.reason


async def test_drift_on_aws_is_put_right_with_the_next_resync(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        right = iam.state
        await iam.attach_role_policy(NAMES.name, await iam.create_policy("extra", "/", "{}"))
        await iam.update_assume_role_policy(NAMES.name, "{}")
        await iam.put_role_permissions_boundary(NAMES.name, BOUNDARY)
        await eventually(lambda: iam.state.roles == right.roles, within_s=1000, interval_s=10)
        await iam.delete_policy("arn:aws:iam::123456789012:policy/extra")
        assert iam.state == right
        for everything in (right.roles, ()):
            await iam.detach_role_policy(NAMES.name, NAMES.policy_arn)
            await iam.delete_policy(NAMES.policy_arn)
            if not everything:
                await iam.delete_role(NAMES.name)
            await eventually(lambda: iam.state == right, within_s=2000, interval_s=10)


async def test_a_changed_document_on_aws_is_replaced(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        await iam.create_policy_version(NAMES.policy_arn, policy_document([WRITE]))
        await eventually(lambda: document_in(iam) == policy_document([READ]), within_s=1000, interval_s=10)


async def test_deleted_and_changed_children_come_back(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        before = await cluster.client.get(Policy, A), await cluster.client.get(Role, A)
        for kind in (Policy, Role, ServiceAccount):
            await cluster.client.delete(kind, A)

        async def are_back() -> bool:
            now = await cluster.client.get(Policy, A), await cluster.client.get(Role, A)
            account = await cluster.client.get(ServiceAccount, A)
            is_new = all(one.metadata.uid != old.metadata.uid for one, old in zip(now, before, strict=True))
            return is_new and account.metadata.annotations[ROLE_ARN_ANNOTATION] == NAMES.role_arn

        await eventually(are_back, within_s=60)
        await settled(cluster, "created")
        ((_, role),) = iam.state.roles
        assert role.attached == (NAMES.policy_arn,)
        await cluster.client.patch(ServiceAccount, A, {"metadata": {"annotations": {ROLE_ARN_ANNOTATION: "x"}}})
        await eventually(are_back)


async def test_the_permission_boundary_of_the_settings_is_on_the_role(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    async with operating(cluster, iam, Settings("prod", PROVIDER, BOUNDARY)):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        ((_, role),) = iam.state.roles
        assert role.role.boundary_arn == BOUNDARY


async def test_a_resource_that_is_made_again_waits_until_its_predecessor_is_gone(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        await cluster.client.delete(IamRoleServiceAccount, A)
        await gone(cluster)
        await cluster.client.create(irsa(A.name, WRITE))
        await settled(cluster, "created")
        assert document_in(iam) == policy_document([WRITE])


async def test_an_attached_policy_holds_its_deletion_up_and_says_so(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        await cluster.client.create(irsa())
        await settled(cluster, "created")
        await iam.create_role("theirs", "/", "{}", "")
        await iam.attach_role_policy("theirs", NAMES.policy_arn)
        await cluster.client.delete(IamRoleServiceAccount, A)

        async def is_held_up() -> bool:
            policy = await cluster.client.get(Policy, A)
            return policy.status.condition == "deleting" and "attached to ['theirs']" in policy.status.reason

        await eventually(is_held_up, within_s=60)
        await iam.detach_role_policy("theirs", NAMES.policy_arn)
        await gone(cluster)


async def test_one_worker_is_enough(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with operating(cluster, workers=1):
        for name in ("one", "two", "three"):
            await cluster.client.create(irsa(name))
        for name in ("one", "two", "three"):
            await settled(cluster, "created", Key("default", name))
        for name in ("one", "two", "three"):
            await cluster.client.delete(IamRoleServiceAccount, Key("default", name))
            await gone(cluster, Key("default", name))


async def test_a_policy_of_its_own_needs_no_resource_around_it(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    iam = ModelIam()
    async with operating(cluster, iam):
        meta = ObjectMeta(name=A.name, namespace=A.namespace)
        await cluster.client.create(Policy(metadata=meta, spec=PolicySpec(statement=[READ])))
        await eventually(lambda: is_created(cluster))
        await cluster.client.delete(Policy, A)

        async def is_gone() -> bool:
            try:
                await cluster.client.get(Policy, A)
            except NotFound:
                return True
            return False

        await eventually(is_gone)
        assert iam.state == IamState()


async def is_created(cluster: ClusterUnderTest) -> bool:
    return (await cluster.client.get(Policy, A)).status.condition == "created"
