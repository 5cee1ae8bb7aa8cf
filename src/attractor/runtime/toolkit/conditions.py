"""Conditions: an object's state in the form that kubectl and other tools understand.

Contract: one condition of each type; ``lastTransitionTime`` moves only when ``status`` changes; ``observedGeneration``
says which spec the condition is about, so a reader can tell an old "True" from a current one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attractor.objects.resource import Condition

if TYPE_CHECKING:
    from datetime import datetime

Status = Literal["True", "False", "Unknown"]


def find_condition(conditions: list[Condition], type_: str) -> Condition | None:
    """The condition of a type; ``None`` when there is none."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: list[Condition], type_: str, *, generation: int = 0) -> bool:
    """Return whether a condition is ``"True"``; with ``generation``, only if it is about that generation."""
    found = find_condition(conditions, type_)
    return found is not None and found.status == "True" and (not generation or found.observed_generation == generation)


def set_condition(
    conditions: list[Condition],
    type_: str,
    status: Status | bool,
    *,
    reason: str,
    message: str = "",
    now: datetime,
    generation: int = 0,
) -> bool:
    """Set a condition in place; returns whether anything but its time changed.

    ``lastTransitionTime`` moves only when ``status`` changes, so setting the same condition again is no change.

    Args:
        conditions: The list in the object's status.
        type_: Such as ``Ready``.
        status: ``True``, ``False``, or Kubernetes' word, such as ``"Unknown"``.
        reason: A CamelCase word for programs.
        message: A sentence for people.
        now: The time, from ``ctx.now()``.
        generation: The generation of the spec that the condition is about.
    """
    wanted: Status = status if isinstance(status, str) else "True" if status else "False"
    made = Condition(
        type=type_,
        status=wanted,
        last_transition_time=now.replace(microsecond=0),
        reason=reason,
        message=message,
        observed_generation=generation,
    )
    for position, known in enumerate(conditions):
        if known.type == type_:
            if known.status == wanted:
                made.last_transition_time = known.last_transition_time
            conditions[position] = made
            return made != known
    conditions.append(made)
    return True


def remove_condition(conditions: list[Condition], type_: str) -> bool:
    """Remove the condition of a type in place; returns whether there was one."""
    before = len(conditions)
    conditions[:] = [condition for condition in conditions if condition.type != type_]
    return len(conditions) != before
