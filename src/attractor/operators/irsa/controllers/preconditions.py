"""What a resource must fulfil before anything is done for it.

The CustomResourceDefinition says the same to whoever applies a resource; this is for clusters whose definition is older
than the operator.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attractor.operators.irsa.api import ACTION_PATTERN, RESOURCE_PATTERN

if TYPE_CHECKING:
    from attractor.operators.irsa.api import IrsaSpec

_RESOURCE = re.compile(RESOURCE_PATTERN)
_ACTION = re.compile(ACTION_PATTERN)


def problem_of(spec: IrsaSpec) -> str:
    """What is wrong with a spec, for its author; empty when nothing is."""
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
