"""Growth of a model: a part (a kind, a key, a bound) that turns out to be there only while the model is explored.

How many slots and steps a world has depends on the keys that are reconciled and the kinds that are written, which are
known for certain only when it was explored. So whoever meets an unknown part raises ``Grown``, and ``fitted``, the one
place that catches it, hands the part to the specification and begins the whole attempt again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from attractor.check.errors import Grown

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@runtime_checkable
class Growing(Protocol):
    """A specification that can take up a part."""

    def grow(self, grown: Grown) -> None:
        """Take up the part; the next ``compile`` has it."""
        ...


def fitted(spec: object, attempt: Callable[[], T]) -> T:
    """The result of ``attempt``, made again each time that it shows a part which the model of ``spec`` lacks.

    ``attempt`` compiles ``spec`` afresh. A specification that cannot grow lets the signal through.
    """
    while True:
        try:
            return attempt()
        except Grown as grown:
            if not isinstance(spec, Growing):
                raise
            spec.grow(grown)
