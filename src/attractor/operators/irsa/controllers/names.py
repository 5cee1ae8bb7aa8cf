"""Names on AWS. All of them follow from the cluster and the resource's key, so none has to be remembered.

A role's name must be unique in the account and has at most 64 characters. ``irsa-op-<cluster>-<namespace>-<name>`` can
be the same for two resources (``a-b/c`` and ``a/b-c``); the path, which is part of the ARN, cannot. So an ARN that is
as expected is ours, and any other belongs to somebody else.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.operators.irsa.controllers.settings import Settings

MAX_NAME = 64
_DIGEST = 10
_ARN = re.compile(r"arn:[^:\s]+:[^:\s]+:[^:\s]*:[^:\s]*:\S+")


def is_arn(text: str) -> bool:
    """Return whether a text has the form of an ARN."""
    return _ARN.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class AwsNames:
    """Names on AWS that belong to one resource."""

    name: str
    """Of the policy and of the role."""
    policy_path: str
    role_path: str
    policy_arn: str
    role_arn: str


def aws_names(settings: Settings, key: Key) -> AwsNames:
    """The names for a resource, its Policy and its Role, which all have the same key."""
    name = short_name(f"irsa-op-{settings.cluster}-{key.namespace}-{key.name}")
    base = f"/irsa-operator/{settings.cluster}/{key.namespace}/{key.name}"
    policy_path, role_path = f"{base}/policy/", f"{base}/role/"
    account = f"arn:{settings.partition}:iam::{settings.account}"
    return AwsNames(
        name, policy_path, role_path, f"{account}:policy{policy_path}{name}", f"{account}:role{role_path}{name}"
    )


def short_name(name: str) -> str:
    """A name of at most 64 characters: itself, or its beginning and a digest of the whole."""
    if len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{name[: MAX_NAME - _DIGEST - 1].rstrip('-.')}-{digest}"
