"""``Iam``: the part of AWS IAM that the operator uses.

One method is one call of AWS, so a crash may come between any two.

    IamError                 what AWS answered instead; ``code`` is AWS's own word
    ├── NoSuchEntity         it is not there
    ├── EntityAlreadyExists  the name is taken
    ├── DeleteConflict       something still hangs on it
    ├── Unavailable          throttled, overloaded or not reached: the call may or may not have taken effect
    └── Refused              asking again is of no use until somebody changes something
        ├── Forbidden        a permission is missing, or the credentials are no good
        └── Rejected         AWS does not accept what was asked: malformed, over a limit

Documents go in and come out in canonical form (``documents``). Errors never carry credentials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MAX_VERSIONS = 5
"""IAM keeps at most so many versions of a policy."""


class IamError(Exception):
    """AWS answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class NoSuchEntity(IamError):
    """It is not there."""


class EntityAlreadyExists(IamError):
    """The name is taken."""


class DeleteConflict(IamError):
    """It cannot be deleted while something hangs on it."""


class Unavailable(IamError):
    """AWS could not be asked or would not answer now; the call may or may not have taken effect."""


class Refused(IamError):
    """AWS will not do this, however often it is asked."""


class Forbidden(Refused):
    """The operator lacks a permission, or its credentials are no good."""


class Rejected(Refused):
    """AWS does not accept what was asked."""


@dataclass(frozen=True, slots=True)
class IamPolicy:
    """A managed policy; its documents are in its versions."""

    arn: str
    default_version_id: str


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """One version of a policy. A version never changes; the default one counts."""

    version_id: str
    is_default: bool


@dataclass(frozen=True, slots=True)
class IamRole:
    """A role."""

    arn: str
    trust: str
    """Who may take it: its trust policy."""
    boundary_arn: str = ""
    """The policy that limits it; empty for none."""


class Iam(Protocol):
    """IAM. Reads answer None where there is nothing; every call may raise ``Unavailable`` or ``Refused``."""

    async def get_policy(self, arn: str) -> IamPolicy | None:
        """The policy."""
        ...

    async def create_policy(self, name: str, path: str, document: str) -> str:
        """Make a policy with one version; answers its ARN. Raises ``EntityAlreadyExists``."""
        ...

    async def delete_policy(self, arn: str) -> None:
        """Delete a policy that is attached nowhere and has one version. Raises ``NoSuchEntity``, ``DeleteConflict``."""
        ...

    async def get_policy_version(self, arn: str, version_id: str) -> str | None:
        """The document of a version."""
        ...

    async def list_policy_versions(self, arn: str) -> tuple[PolicyVersion, ...] | None:
        """All versions, the oldest first; None where there is no policy."""
        ...

    async def create_policy_version(self, arn: str, document: str) -> str:
        """Add a version, make it the default, answer its id. Raises ``NoSuchEntity``; ``Rejected`` at five versions."""
        ...

    async def delete_policy_version(self, arn: str, version_id: str) -> None:
        """Delete a version that is not the default. Raises ``NoSuchEntity``, ``DeleteConflict``."""
        ...

    async def get_role(self, name: str) -> IamRole | None:
        """The role."""
        ...

    async def create_role(self, name: str, path: str, trust: str, boundary_arn: str) -> str:
        """Make a role; answers its ARN. Raises ``EntityAlreadyExists``."""
        ...

    async def delete_role(self, name: str) -> None:
        """Delete a role that has no policies. Raises ``NoSuchEntity``, ``DeleteConflict``."""
        ...

    async def update_assume_role_policy(self, name: str, trust: str) -> None:
        """Change who may take a role. Raises ``NoSuchEntity``."""
        ...

    async def put_role_permissions_boundary(self, name: str, boundary_arn: str) -> None:
        """Limit a role. Raises ``NoSuchEntity``."""
        ...

    async def delete_role_permissions_boundary(self, name: str) -> None:
        """Take a role's limit away. Raises ``NoSuchEntity``."""
        ...

    async def list_attached_role_policies(self, name: str) -> tuple[str, ...] | None:
        """The ARNs of a role's policies, sorted; None where there is no role."""
        ...

    async def attach_role_policy(self, name: str, policy_arn: str) -> None:
        """Give a role a policy; nothing happens when it has it. Raises ``NoSuchEntity``."""
        ...

    async def detach_role_policy(self, name: str, policy_arn: str) -> None:
        """Take a policy from a role. Raises ``NoSuchEntity``, also when it was not attached."""
        ...
