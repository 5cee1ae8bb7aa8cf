"""``ModelIam``: IAM as a pure model, for the checker and for fast tests.

Its whole state is one immutable value, ``state``; a call replaces it. No call waits for anything. What it answers and
refuses is compared with a simulated AWS, call by call, by the conformance test.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from attractor.operators.irsa.drivers.iam import (
    MAX_VERSIONS,
    DeleteConflict,
    EntityAlreadyExists,
    IamPolicy,
    IamRole,
    NoSuchEntity,
    PolicyVersion,
    Rejected,
)

ACCOUNT = "123456789012"
V = TypeVar("V")
Table = tuple[tuple[str, V], ...]
"""A mapping as an immutable, ordered value."""


@dataclass(frozen=True, slots=True)
class PolicyState:
    """A policy: its versions' documents by number, which one counts, and the next number."""

    name: str
    versions: tuple[tuple[int, str], ...]
    default: int = 1
    following: int = 2


@dataclass(frozen=True, slots=True)
class RoleState:
    """A role, and the ARNs of its policies."""

    role: IamRole
    attached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IamState:
    """Everything in IAM: policies by ARN, roles by name."""

    policies: Table[PolicyState] = ()
    roles: Table[RoleState] = ()


@dataclass
class ModelIam:
    """IAM in memory."""

    state: IamState = field(default_factory=IamState)
    account: str = ACCOUNT

    async def get_policy(self, arn: str) -> IamPolicy | None:
        """The policy."""
        found = _find(self.state.policies, arn)
        return None if found is None else IamPolicy(arn, f"v{found.default}")

    async def create_policy(self, name: str, path: str, document: str) -> str:
        """A policy's name is unique in the account, whatever its path."""
        if any(policy.name == name for _, policy in self.state.policies):
            raise EntityAlreadyExists("EntityAlreadyExists", f"a policy called {name} exists")
        arn = f"arn:aws:iam::{self.account}:policy{path}{name}"
        self._put_policy(arn, PolicyState(name, ((1, document),)))
        return arn

    async def delete_policy(self, arn: str) -> None:
        """Refused while it is attached or has more than its default version."""
        found = self._policy(arn)
        holders = [name for name, role in self.state.roles if arn in role.attached]
        limited = [name for name, role in self.state.roles if role.role.boundary_arn == arn]
        if holders or limited or len(found.versions) > 1:
            why = f"attached to {holders + limited}" if holders or limited else "it has more than one version"
            raise DeleteConflict("DeleteConflict", f"cannot delete {arn}: {why}")
        self.state = replace(self.state, policies=_without(self.state.policies, arn))

    async def get_policy_version(self, arn: str, version_id: str) -> str | None:
        """The document of a version."""
        found = _find(self.state.policies, arn)
        if found is None:
            return None
        return next((document for number, document in found.versions if f"v{number}" == version_id), None)

    async def list_policy_versions(self, arn: str) -> tuple[PolicyVersion, ...] | None:
        """All versions, the oldest first."""
        found = _find(self.state.policies, arn)
        if found is None:
            return None
        return tuple(PolicyVersion(f"v{number}", number == found.default) for number, _ in found.versions)

    async def create_policy_version(self, arn: str, document: str) -> str:
        """Add a version and make it the default; five is the limit."""
        found = self._policy(arn)
        if len(found.versions) >= MAX_VERSIONS:
            raise Rejected("LimitExceeded", f"{arn} has {MAX_VERSIONS} versions already")
        number = found.following
        versions = (*found.versions, (number, document))
        self._put_policy(arn, replace(found, versions=versions, default=number, following=number + 1))
        return f"v{number}"

    async def delete_policy_version(self, arn: str, version_id: str) -> None:
        """Delete a version that is not the default."""
        found = self._policy(arn)
        kept = tuple(version for version in found.versions if f"v{version[0]}" != version_id)
        if len(kept) == len(found.versions):
            raise NoSuchEntity("NoSuchEntity", f"{arn} has no version {version_id}")
        if version_id == f"v{found.default}":
            raise DeleteConflict("DeleteConflict", f"{version_id} of {arn} is the default")
        self._put_policy(arn, replace(found, versions=kept))

    async def get_role(self, name: str) -> IamRole | None:
        """The role."""
        found = _find(self.state.roles, name)
        return None if found is None else found.role

    async def create_role(self, name: str, path: str, trust: str, boundary_arn: str) -> str:
        """A role's name is unique in the account, whatever its path."""
        if _find(self.state.roles, name) is not None:
            raise EntityAlreadyExists("EntityAlreadyExists", f"a role called {name} exists")
        arn = f"arn:aws:iam::{self.account}:role{path}{name}"
        self._put_role(name, RoleState(IamRole(arn, trust, boundary_arn)))
        return arn

    async def delete_role(self, name: str) -> None:
        """Refused while policies are attached."""
        found = self._role(name)
        if found.attached:
            raise DeleteConflict("DeleteConflict", f"role {name} has policies")
        self.state = replace(self.state, roles=_without(self.state.roles, name))

    async def update_assume_role_policy(self, name: str, trust: str) -> None:
        """Change who may take a role."""
        found = self._role(name)
        self._put_role(name, replace(found, role=replace(found.role, trust=trust)))

    async def put_role_permissions_boundary(self, name: str, boundary_arn: str) -> None:
        """Limit a role."""
        found = self._role(name)
        self._put_role(name, replace(found, role=replace(found.role, boundary_arn=boundary_arn)))

    async def delete_role_permissions_boundary(self, name: str) -> None:
        """Take a role's limit away."""
        found = self._role(name)
        self._put_role(name, replace(found, role=replace(found.role, boundary_arn="")))

    async def list_attached_role_policies(self, name: str) -> tuple[str, ...] | None:
        """The ARNs of a role's policies."""
        found = _find(self.state.roles, name)
        return None if found is None else found.attached

    async def attach_role_policy(self, name: str, policy_arn: str) -> None:
        """Give a role a policy."""
        found = self._role(name)
        self._policy(policy_arn)
        self._put_role(name, replace(found, attached=tuple(sorted({*found.attached, policy_arn}))))

    async def detach_role_policy(self, name: str, policy_arn: str) -> None:
        """Take a policy from a role."""
        found = self._role(name)
        if policy_arn not in found.attached:
            raise NoSuchEntity("NoSuchEntity", f"{policy_arn} is not attached to {name}")
        self._put_role(name, replace(found, attached=tuple(arn for arn in found.attached if arn != policy_arn)))

    def _policy(self, arn: str) -> PolicyState:
        found = _find(self.state.policies, arn)
        if found is None:
            raise NoSuchEntity("NoSuchEntity", f"there is no policy {arn}")
        return found

    def _role(self, name: str) -> RoleState:
        found = _find(self.state.roles, name)
        if found is None:
            raise NoSuchEntity("NoSuchEntity", f"there is no role {name}")
        return found

    def _put_policy(self, arn: str, policy: PolicyState) -> None:
        self.state = replace(self.state, policies=_with(self.state.policies, arn, policy))

    def _put_role(self, name: str, role: RoleState) -> None:
        self.state = replace(self.state, roles=_with(self.state.roles, name, role))


def _find(table: Table[V], key: str) -> V | None:
    return next((value for name, value in table if name == key), None)


def _without(table: Table[V], key: str) -> Table[V]:
    return tuple(entry for entry in table if entry[0] != key)


def _with(table: Table[V], key: str, value: V) -> Table[V]:
    return tuple(sorted((*_without(table, key), (key, value)), key=lambda entry: entry[0]))
