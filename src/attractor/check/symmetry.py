"""Interchangeable keys: one representative for all states that differ only in which key is which.

The representative has the columns of each symmetric set (what belongs to one key) in ascending order. That is right
only if no value names a key and no step looks at which key it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.check.model import Model, State


def canonical_form(model: Model) -> Callable[[State], State] | None:
    """The function that maps a state to its representative; None if nothing is interchangeable."""
    symmetries = [symmetry for symmetry in model.symmetries if len(symmetry.columns) > 1 and symmetry.columns[0]]
    if not symmetries:
        return None

    def canonical(state: State) -> State:
        result = list(state)
        for symmetry in symmetries:
            columns = sorted(tuple(state[slot] for slot in column) for column in symmetry.columns)
            for column, values in zip(symmetry.columns, columns, strict=True):
                for slot, value in zip(column, values, strict=True):
                    result[slot] = value
        return tuple(result)

    return canonical
