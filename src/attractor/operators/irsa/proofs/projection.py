"""A recorded run, seen through the operator's TLA+ specification (``check.specs.irsa``): the order of its milestones.

The specification and the operator differ, and the projection leaves out what they differ in:

- The specification blocks a worker where the operator ends its run; so queues and workers are not compared.
- It records the role's ARN and the policy's ARN one by one and before it attaches; the operator records both after it
  has attached, in one status. So of the role only its creation here, its creation on AWS and the attachment count.
- It has no deletion, no finalizers and no conditions; so only the making of a resource is compared.

What is left is an order of seven milestones, and the specification admits a run when one of its own has that order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.engine.execution import apply, padded, steps
from attractor.check.specs.irsa import Irsa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.check.engine.model import Model, State
    from attractor.testing.recording import Recording

MILESTONES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "policy created": ("policy", lambda policy: policy.st is not None),
    "policy on AWS": ("aws_policy", lambda policy: policy.arn is not None),
    "policy ARN recorded": ("policy", lambda policy: policy.aws_policy_arn is not None),
    "role created": ("role", lambda role: role.st is not None),
    "role on AWS": ("aws_role", lambda role: role.arn is not None),
    "policy attached": ("aws_role", lambda role: role.attached_policy is not None),
    "service account created": ("sa", lambda account: account.st is not None),
}
"""What is compared: a variable of the specification, and when it has got there."""

_ASKED = {
    ("Call", "create_policy"): "policy on AWS",
    ("Call", "create_role"): "role on AWS",
    ("Call", "attach_role_policy"): "policy attached",
    ("Create", "policies"): "policy created",
    ("Create", "roles"): "role created",
    ("Create", "serviceaccounts"): "service account created",
    ("Patch", "policies"): "policy ARN recorded",
}


def milestones(recording: Recording) -> list[str]:
    """The milestones of a recorded run, each where it was first answered without an error."""
    found: dict[str, None] = {}
    for happening in recording.happenings:
        if happening.what != "answer":
            continue
        question = recording.questions[happening.data["question"]]
        if question.error is None:
            for (effect, word), milestone in _ASKED.items():
                if question.effect == effect and word in _about(question):
                    found.setdefault(milestone)
    return list(found)


def _about(question: Any) -> str:
    return " ".join([question.text, *(str(request.get("target", request)) for request in question.requests)])


def admits(order: Iterable[str], workers: int = 2) -> bool:
    """Return whether the specification has a run with exactly these milestones in this order."""
    model = Irsa(workers=workers).compile()
    variables = {slot.variable: slot for slot in model.slots}

    def reached(state: State) -> frozenset[str]:
        return frozenset(
            name
            for name, (variable, is_reached) in MILESTONES.items()
            if is_reached(variables[variable].domain.values[state[variables[variable].index]])
        )

    passed: frozenset[str] = frozenset()
    states = _closed(model, [padded(model, state) for state in model.initial], lambda state: reached(state) == passed)
    for milestone in order:
        wanted = passed | {milestone}
        fresh = [after for state in states for after in _after(model, state) if reached(after) == wanted]
        states = _closed(model, fresh, lambda state, wanted=wanted: reached(state) == wanted)  # type: ignore[misc]
        passed = wanted
    return bool(states)


def _closed(model: Model, states: Iterable[State], fits: Callable[[State], bool]) -> set[State]:
    """The states, and all that steps lead to without another milestone."""
    found = set(states)
    waiting = list(found)
    while waiting:
        for after in _after(model, waiting.pop()):
            if after not in found and fits(after):
                found.add(after)
                waiting.append(after)
    return found


def _after(model: Model, state: State) -> Iterable[State]:
    for action in model.actions:
        for outcome in steps(model, action, state):
            if isinstance(outcome.leaf, tuple):
                yield padded(model, apply(model, outcome.leaf, action.binding, state))
