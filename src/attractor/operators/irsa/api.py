"""The kinds: what the user writes, and the two parts that the operator makes of it.

``status.condition`` is one word, ``status.reason`` the sentence to it. An ARN is a fact about AWS, so it lives in the
status. ``observedGeneration`` tells which spec the condition is about.
"""

from __future__ import annotations

from typing import Annotated, Literal

from attractor.objects.resource import Checked, Doc, ListAtomic, Meta, PrinterColumn, Resource, Rule, Struct

GROUP = "irsa.attractor.dev"
VERSION = "v1alpha1"
ROLE_ARN_ANNOTATION = "eks.amazonaws.com/role-arn"

IrsaCondition = Literal["", "pending", "saNameConflict", "forbidden", "failed", "progressing", "created"]
PartCondition = Literal["", "pending", "progressing", "created", "deleting", "forbidden", "error"]

RESOURCE_PATTERN = r"^(\*|arn:[^:\s]+:[^:\s]+:[^:\s]*:[^:\s]*:\S+)$"
ACTION_PATTERN = r"^(\*|[A-Za-z0-9-]+:[A-Za-z0-9*?]+)$"
MAX_STATEMENTS = 50
MAX_ACTIONS = 200


class Statement(Struct):
    """Allows some actions on one resource."""

    resource: Annotated[
        str,
        Meta(min_length=1, max_length=2048),
        Checked(Rule(f"self.matches(r'{RESOURCE_PATTERN}')", "resource must be a valid ARN or *")),
    ]
    """An ARN, wildcards allowed, or ``*``."""
    action: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=128)]],
        Meta(max_length=MAX_ACTIONS),
        ListAtomic,
        Checked(
            Rule("self.size() > 0", "action must not be empty"),
            Rule(f"self.all(a, a.matches(r'{ACTION_PATTERN}'))", "an action is service:Name, as in s3:GetObject"),
        ),
    ]
    """What is allowed, such as ``s3:GetObject``."""


Statements = Annotated[
    list[Statement],
    Meta(max_length=MAX_STATEMENTS),
    ListAtomic,
    Checked(Rule("self.size() > 0", "at least one statement must be provided")),
    Doc("What the role may do. Its order does not matter."),
]


class PolicySpec(Struct):
    """Statements of an IAM policy."""

    statement: Statements


class IrsaSpec(Struct):
    """Rights on AWS of the ServiceAccount of this resource's name."""

    policy: PolicySpec


class IrsaStatus(Struct):
    """Observed state of the resource."""

    condition: IrsaCondition = ""
    reason: str = ""
    role_arn: str = ""
    policy_arn: str = ""
    observed_generation: int = 0


_CONDITION = PrinterColumn("Condition", ".status.condition")
_REASON = PrinterColumn("Reason", ".status.reason", priority=1)
_AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")


class IamRoleServiceAccount(
    Resource,
    group=GROUP,
    version=VERSION,
    short_names=["irsa"],
    categories=["irsas"],
    printer_columns=(_CONDITION, PrinterColumn("Role", ".status.roleArn"), _AGE, _REASON),
):
    """A ServiceAccount with a role on AWS; the ServiceAccount has this resource's name."""

    spec: IrsaSpec
    status: IrsaStatus = IrsaStatus()


class PolicyStatus(Struct):
    """Observed state of the policy on AWS."""

    condition: PartCondition = ""
    reason: str = ""
    arn: str = ""
    observed_generation: int = 0


class Policy(
    Resource,
    group=GROUP,
    version=VERSION,
    categories=["irsas"],
    printer_columns=(_CONDITION, PrinterColumn("ARN", ".status.arn"), _AGE, _REASON),
):
    """One policy in IAM."""

    spec: PolicySpec
    status: PolicyStatus = PolicyStatus()


class RoleSpec(Struct):
    """Trust of the role, and the policy that limits it."""

    service_account_name: Annotated[str, Meta(min_length=1, max_length=253)]
    """The ServiceAccount, in the Role's namespace, that may take the role."""
    permissions_boundary_arn: str = ""
    """A policy that limits whatever the role is granted; empty for none."""


class RoleStatus(Struct):
    """Observed state of the role on AWS."""

    condition: PartCondition = ""
    reason: str = ""
    arn: str = ""
    policy_arn: str = ""
    """The policy that is attached."""
    observed_generation: int = 0


class Role(
    Resource,
    group=GROUP,
    version=VERSION,
    categories=["irsas"],
    printer_columns=(_CONDITION, PrinterColumn("ARN", ".status.arn"), _AGE, _REASON),
):
    """One role in IAM, with the policy of the Policy of its name attached."""

    spec: RoleSpec
    status: RoleStatus = RoleStatus()


def is_complete(part: Policy | Role) -> bool:
    """Return whether AWS is as the part's present spec says, and nobody has asked for its deletion."""
    status, metadata = part.status, part.metadata
    is_current = status.observed_generation == metadata.generation
    return status.condition == "created" and is_current and not metadata.is_deleting
