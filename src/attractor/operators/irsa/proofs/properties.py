"""Properties of the IRSA operator, and worlds around its three controllers.

    attractor check attractor.operators.irsa.proofs.properties:made

Each world has one resource, the API server with caches that lag, IAM as ``ModelIam``, and its own users and faults:

- ``made``: from the bare resource; the operator crashes, calls of IAM fail before or after they took effect.
- ``deleted``: the user deletes the resource at any moment of its making.
- ``edited``: the user changes the statement of what was made; a crash, a lost answer of IAM.
- ``ended``: what was made is deleted; a crash, a lost answer of IAM.
- ``torn_policy``, ``torn_role``, ``torn_account``: the user deletes a part, behind the operator's back.
- ``drifted``: somebody deletes or changes the policy or the role on AWS; resync is on.
- ``blocked``: a ServiceAccount of that name is in the way, and may go.
- ``lived``: the user creates and deletes the resource; recorded runs of the real operator are followed in it.

One worker for each controller, so that each world is also a proof that one worker cannot get stuck. The real operator
runs ten, which differ only in how many *resources* are reconciled at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attractor.check import (
    Bounds,
    Create,
    Delete,
    Edit,
    Faults,
    World,
    WorldState,
    always,
    eventually_stable,
    happens,
    sometimes,
)
from attractor.check.world.api.state import store_key
from attractor.check.world.simulation.server.storage import uid_of
from attractor.k8s.core_v1 import ServiceAccount
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource
from attractor.operators.irsa.api import (
    ROLE_ARN_ANNOTATION,
    IamRoleServiceAccount,
    IrsaSpec,
    IrsaStatus,
    Policy,
    PolicySpec,
    PolicyStatus,
    Role,
    RoleSpec,
    RoleStatus,
    Statement,
)
from attractor.operators.irsa.controllers.declarations import controllers
from attractor.operators.irsa.controllers.documents import policy_document, trust_document
from attractor.operators.irsa.controllers.names import aws_names
from attractor.operators.irsa.controllers.settings import Settings
from attractor.operators.irsa.drivers.iam import Iam, IamRole, Unavailable
from attractor.operators.irsa.proofs.model import IamState, ModelIam, PolicyState, RoleState
from attractor.runtime.toolkit.finalizers import finalizer_name
from attractor.runtime.toolkit.owners import set_controller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.check import WorldProperty
    from attractor.check.world.api.users import User

SETTINGS = Settings("prod", "arn:aws:iam::123456789012:oidc-provider/issuer", resync_s=0)
KEY = Key("default", "a")
NAMES = aws_names(SETTINGS, KEY)
READ = Statement(resource="*", action=["s3:GetObject"])
WRITE = Statement(resource="*", action=["s3:PutObject"])
LAG = 2
NO_FAULTS = Faults()
BAD_DAY = Faults(crash=1, external_failure=1, external_silence=1)


# What must hold


def no_second_policy_or_role(look: WorldState) -> bool:
    """IAM has at most one policy and one role, and they are the resource's own."""
    state: IamState = look.external(Iam).state
    policies, roles = [arn for arn, _ in state.policies], [role.role.arn for _, role in state.roles]
    return policies in ([], [NAMES.policy_arn]) and roles in ([], [NAMES.role_arn])


def never_attached_wrongly(look: WorldState) -> bool:
    """The role has no policy but its own, and no other role has it."""
    state: IamState = look.external(Iam).state
    return all(name == NAMES.name and set(role.attached) <= {NAMES.policy_arn} for name, role in state.roles)


def account_only_with_a_complete_role(look: WorldState) -> bool:
    """The role of a ServiceAccount of ours is on AWS, with the policy attached."""
    if _our_account(look) is None:
        return True
    state: IamState = look.external(Iam).state
    return [role.attached for _, role in state.roles] == [(NAMES.policy_arn,)]


def is_as_desired(look: WorldState) -> bool:
    """The resource is created and IAM says the same; or it says what is in its way; or nothing is left of it."""
    irsa = look.find(IamRoleServiceAccount, KEY)
    state: IamState = look.external(Iam).state
    if irsa is None:
        parts: tuple[type[Resource], ...] = (Policy, Role)
        left = [kind for kind in parts if look.find(kind, KEY) is not None]
        return state == IamState() and not left and _our_account(look) is None
    if look.find(ServiceAccount, KEY) is not None and _our_account(look) is None:
        return _is_blocked(look)
    return irsa.status.condition == "created" and is_complete(look, irsa)


def is_complete(look: WorldState, irsa: IamRoleServiceAccount) -> bool:
    """IAM and the ServiceAccount are as the resource's spec says."""
    state: IamState = look.external(Iam).state
    document = policy_document(irsa.spec.policy.statement)
    account = _our_account(look)
    return (
        [dict(policy.versions)[policy.default] for _, policy in state.policies] == [document]
        and [role for _, role in state.roles] == [RoleState(_role(), (NAMES.policy_arn,))]
        and account is not None
        and account.metadata.annotations.get(ROLE_ARN_ANNOTATION) == NAMES.role_arn
    )


def _our_account(look: WorldState) -> ServiceAccount | None:
    account = look.find(ServiceAccount, KEY)
    return account if account is not None and account.metadata.controller is not None else None


def _is_made(look: WorldState) -> bool:
    irsa = look.find(IamRoleServiceAccount, KEY)
    return irsa is not None and irsa.status.condition == "created" and is_complete(look, irsa)


def _is_blocked(look: WorldState) -> bool:
    irsa = look.find(IamRoleServiceAccount, KEY)
    state: IamState = look.external(Iam).state
    return irsa is not None and irsa.status.condition == "saNameConflict" and state == IamState()


def _is_gone(look: WorldState) -> bool:
    return look.find(IamRoleServiceAccount, KEY) is None


def _is_rewritten(look: WorldState) -> bool:
    irsa = look.find(IamRoleServiceAccount, KEY)
    return irsa is not None and irsa.spec.policy.statement == [WRITE] and is_as_desired(look)


SAFE = (
    always(no_second_policy_or_role),
    always(never_attached_wrongly),
    eventually_stable(is_as_desired, name="eventually as desired, or gone without a trace"),
)
"""What every world claims."""


# What there is at the start


def _bare() -> IamRoleServiceAccount:
    spec = IrsaSpec(policy=PolicySpec(statement=[READ]))
    return IamRoleServiceAccount(metadata=ObjectMeta(namespace=KEY.namespace, name=KEY.name), spec=spec)


def _role() -> IamRole:
    return IamRole(NAMES.role_arn, trust_document(SETTINGS, KEY.namespace, KEY.name))


def _made() -> tuple[Resource, ...]:
    """Everything that belongs to a resource that was made."""
    irsa = _bare()
    irsa.metadata.finalizers = [finalizer_name(IamRoleServiceAccount)]
    reason = "all resources successfully created"
    irsa.status = IrsaStatus(
        condition="created",
        reason=reason,
        role_arn=NAMES.role_arn,
        policy_arn=NAMES.policy_arn,
        observed_generation=1,
    )
    policy = Policy(metadata=_child_meta(), spec=irsa.spec.policy)
    policy.metadata.finalizers = [finalizer_name(Policy)]
    policy.status = PolicyStatus(
        condition="created",
        reason="the policy on AWS says what the spec says",
        arn=NAMES.policy_arn,
        observed_generation=1,
    )
    role = Role(metadata=_child_meta(), spec=RoleSpec(service_account_name=KEY.name))
    role.metadata.finalizers = [finalizer_name(Role)]
    role.status = RoleStatus(
        condition="created",
        reason="the role on AWS has its policy",
        arn=NAMES.role_arn,
        policy_arn=NAMES.policy_arn,
        observed_generation=1,
    )
    account = ServiceAccount(metadata=_child_meta())
    account.metadata.annotations = {ROLE_ARN_ANNOTATION: NAMES.role_arn}
    return irsa, policy, role, account


def _child_meta() -> ObjectMeta:
    """The metadata of a child of the first incarnation of the resource."""
    owner, child = _bare(), ServiceAccount(metadata=ObjectMeta(namespace=KEY.namespace, name=KEY.name))
    owner.metadata.uid = uid_of(store_key(IamRoleServiceAccount, KEY), 1)
    set_controller(owner, child)
    return child.metadata


def _iam() -> ModelIam:
    """IAM with what belongs to a resource that was made."""
    return ModelIam(_iam_state())


def _iam_state() -> IamState:
    policy = PolicyState(NAMES.name, ((1, policy_document([READ])),))
    return IamState(((NAMES.policy_arn, policy),), ((NAMES.name, RoleState(_role(), (NAMES.policy_arn,))),))


class DriftingIam(ModelIam):
    """IAM in which somebody else is at work too."""

    @happens(times=1)
    def somebody_deletes_the_policy(self) -> None:
        """By force: it is detached first."""
        self._detach_all()
        self.state = replace(self.state, policies=())

    @happens(times=1)
    def somebody_deletes_the_role(self) -> None:
        """With its attachments."""
        self.state = replace(self.state, roles=())

    @happens(times=1)
    def somebody_rewrites_the_policy(self) -> None:
        """With a new default version."""
        for arn, policy in self.state.policies:
            number = policy.following
            versions = (*policy.versions, (number, policy_document([WRITE])))
            self._put_policy(arn, replace(policy, versions=versions, default=number, following=number + 1))

    def _detach_all(self) -> None:
        for name, role in self.state.roles:
            self._put_role(name, replace(role, attached=()))


# The worlds


def _world(
    name: str,
    objects: Sequence[Resource],
    iam: ModelIam,
    claims: Sequence[WorldProperty],
    *,
    users: Sequence[User] = (),
    faults: Faults,
    settings: Settings = SETTINGS,
) -> World:
    return World(
        controllers=controllers(settings),
        objects=objects,
        users=users,
        faults=_without_timeouts(faults),
        properties=[*SAFE, *claims],
        externals={Iam: iam},
        name=f"irsa {name}",
        workers=1,
        bounds=Bounds(lag=LAG),
        external_failure=no_answer,
    )


def _without_timeouts(faults: Faults) -> Faults:
    """The controllers' time limits strike in a world of their own (``timed_out``), unless the faults say otherwise."""
    return replace(faults, timeout=0) if faults.timeout is None else faults


def timed_out(faults: Faults = Faults(timeout=1)) -> World:  # noqa: B008 - a value that nothing changes
    """From the bare resource, with a reconcile that takes too long and is cancelled where it waits."""
    return made(faults)


def no_answer() -> Exception:
    """Return the error of a call of IAM that fails, before or after it took effect."""
    return Unavailable("ServiceFailure", "no answer")


_EDIT = Edit(IamRoleServiceAccount, KEY, spec=[IrsaSpec(policy=PolicySpec(statement=[WRITE]))])
_COMPLETE = always(account_only_with_a_complete_role)


def made(faults: Faults = BAD_DAY) -> World:
    """From the bare resource, on a bad day."""
    return _world("made", [_bare()], ModelIam(), [_COMPLETE, sometimes(_is_made)], faults=faults)


def deleted(faults: Faults = NO_FAULTS) -> World:
    """The resource is deleted at any moment of its making."""
    claims = [_COMPLETE, sometimes(_is_made), sometimes(_is_gone)]
    users = [Delete(IamRoleServiceAccount, KEY)]
    return _world("deleted", [_bare()], ModelIam(), claims, users=users, faults=faults)


def edited(faults: Faults = BAD_DAY) -> World:
    """The statement of what was made is changed."""
    claims = [_COMPLETE, sometimes(_is_rewritten)]
    return _world("edited", _made(), _iam(), claims, users=[_EDIT], faults=faults)


def ended(faults: Faults = BAD_DAY) -> World:
    """Everything that was made is deleted."""
    claims = [_COMPLETE, sometimes(_is_gone)]
    return _world("ended", _made(), _iam(), claims, users=[Delete(IamRoleServiceAccount, KEY)], faults=faults)


def torn_policy(faults: Faults = BAD_DAY) -> World:
    """A Policy is deleted although a Role uses it: first it is detached. Without the irsa controller."""
    _, policies, roles = controllers(SETTINGS)
    parts = _made()[1:3]
    for part in parts:
        part.metadata.owner_references = []
    return World(
        controllers=[policies, roles],
        objects=parts,
        users=[Delete(Policy, KEY)],
        faults=_without_timeouts(faults),
        properties=[*SAFE[:2], eventually_stable(_is_detached_or_kept), sometimes(_is_detached)],
        externals={Iam: _iam()},
        name="irsa torn Policy",
        workers=1,
        bounds=Bounds(lag=LAG),
        external_failure=no_answer,
    )


def _is_detached(look: WorldState) -> bool:
    state: IamState = look.external(Iam).state
    role = look.find(Role, KEY)
    is_empty = not state.policies and [role.attached for _, role in state.roles] == [()]
    return is_empty and role is not None and (role.status.condition, role.status.policy_arn) == ("pending", "")


def _is_detached_or_kept(look: WorldState) -> bool:
    if look.find(Policy, KEY) is None:
        return _is_detached(look)
    state: IamState = look.external(Iam).state
    return state == _iam_state()


def torn_role(faults: Faults = BAD_DAY) -> World:
    """The Role of what was made is deleted."""
    return _torn(Role, faults)


def torn_account(faults: Faults = BAD_DAY) -> World:
    """The ServiceAccount of what was made is deleted."""
    return _torn(ServiceAccount, faults)


def _torn(kind: type[Resource], faults: Faults) -> World:
    name = f"torn {kind.__name__}"
    return _world(name, _made(), _iam(), [sometimes(_is_made)], users=[Delete(kind, KEY)], faults=faults)


def drifted(faults: Faults = NO_FAULTS) -> World:
    """Policy and role are deleted and changed on AWS, behind the operator's back."""
    settings = replace(SETTINGS, resync_s=600)
    iam = DriftingIam(_iam_state())
    claims = [sometimes(_is_made)]
    return _world("drifted", _made(), iam, claims, faults=faults, settings=settings)


def blocked(faults: Faults = NO_FAULTS) -> World:
    """Somebody else's ServiceAccount has the name; it may go."""
    theirs = ServiceAccount(metadata=ObjectMeta(namespace=KEY.namespace, name=KEY.name))
    claims = [_COMPLETE, sometimes(_is_made), sometimes(_is_blocked)]
    objects, users = [_bare(), theirs], [Delete(ServiceAccount, KEY)]
    return _world("blocked", objects, ModelIam(), claims, users=users, faults=faults)


def lived() -> World:
    """The user creates the resource and deletes it: what a recorded run is compared with."""
    users: list[User] = [Create(_bare()), Delete(IamRoleServiceAccount, KEY)]
    return _world("lived", [], ModelIam(), [], users=users, faults=NO_FAULTS)


WORLDS: dict[str, Callable[..., World]] = {
    one.__name__: one
    for one in (made, timed_out, deleted, edited, ended, torn_policy, torn_role, torn_account, drifted, blocked)
}
