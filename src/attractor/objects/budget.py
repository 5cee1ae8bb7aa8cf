"""Budget for reading one input: steps, charged before they are done, in proportion to the bytes that were sent.

Every decoder whose work can outgrow its input (YAML aliases and merges, protobuf messages, JSON patches, rules of
roles taken apart) charges one ``Budget``, so that a few bytes never buy many steps:

>>> budget = Budget.for_bytes(100)
>>> budget.charge(20_000)
>>> budget.charge(20_000)
Traceback (most recent call last):
    ...
attractor.objects.budget.OverBudget: reading it takes more than 21600 steps
"""

from __future__ import annotations

from typing import Final

FREE_STEPS: Final = 20_000
"""What any input may cost, however short: a few milliseconds."""
STEPS_PER_BYTE: Final = 16
"""What each byte adds: several times what the costliest honest input needs."""


class OverBudget(ValueError):
    """The input is refused, for reading it would cost more than its size entitles it to."""


class Budget:
    """How many more steps one input may cost."""

    __slots__ = ("left", "limit")

    def __init__(self, steps: int) -> None:
        self.limit = steps
        self.left = steps

    @classmethod
    def for_bytes(cls, size: int, per_byte: int = STEPS_PER_BYTE) -> Budget:
        """The budget of an input of so many bytes."""
        return cls(FREE_STEPS + per_byte * size)

    def charge(self, steps: int = 1) -> None:
        """Pay for steps that are about to be done; raises ``OverBudget`` when they cannot be paid for."""
        self.left -= steps
        if self.left < 0:
            raise OverBudget(f"reading it takes more than {self.limit} steps")
