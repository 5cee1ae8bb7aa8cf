"""What may be claimed of a world. Each claim is a function of a ``Look`` and a word.

    eventually_stable(lambda world: pair_is_right(world))      once users and faults stop, it is reached and kept
    always(no_duplicates)    sometimes(both_exist)    always_step(lambda before, after: ...)

``library`` has ready-made ones.

Every world also claims ``goes quiet``: once users and faults stop, a time comes after which no stored object changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.check.world.looking import Look

Predicate: TypeAlias = "Callable[[Look], bool]"
StepPredicate: TypeAlias = "Callable[[Look, Look], bool]"
Word = Literal["eventually_always", "always", "sometimes", "always_eventually", "eventually", "settles"]


@dataclass(frozen=True)
class Claim:
    """A named claim: what must be true, and when."""

    name: str
    word: Word
    predicates: tuple[Predicate, ...]


@dataclass(frozen=True)
class StepClaim:
    """A named claim about every single step: the world before it and after it; some actions may be left out."""

    name: str
    holds: StepPredicate
    except_for: frozenset[str] = frozenset()


def always_step(holds: StepPredicate, *, name: str = "", except_for: Iterable[str] = ()) -> StepClaim:
    """True of every step between reachable states; ``except_for`` names actions that are not judged."""
    return StepClaim(name or _named(holds), holds, frozenset(except_for))


def eventually_stable(desired: Predicate, *, name: str = "eventually stable") -> Claim:
    """From every reachable state, once users and faults stop, ``desired`` becomes true and stays true.

    Users and faults may stop at any point, so the promise covers every state that they can leave behind.
    """
    return Claim(name, "eventually_always", (desired,))


def always(holds: Predicate, *, name: str = "") -> Claim:
    """True in every reachable state."""
    return Claim(name or _named(holds), "always", (holds,))


def sometimes(holds: Predicate, *, name: str = "") -> Claim:
    """True in some reachable state: shows that the interesting case was reached."""
    return Claim(name or _named(holds), "sometimes", (holds,))


BITS = 8


def goes_quiet() -> Claim:
    """Once users and faults stop, a time comes after which no stored object changes: no hot loop, no fight.

    A step changes one object, from one content to another, whose numbers differ in some bit. So a run on which objects
    keep changing has, for some bit, both values of the parity of that bit over all objects, again and again.
    """
    return Claim("goes quiet", "settles", tuple(_parity(bit) for bit in range(BITS)))


def _parity(bit: int) -> Predicate:
    def parity(look: Look) -> bool:
        total = 0
        for _, version in look.versions():
            total ^= version >> bit & 1
        return bool(total)

    return parity


def _named(function: Callable[..., bool]) -> str:
    name = getattr(function, "__name__", "property")
    return "property" if name == "<lambda>" else name.replace("_", " ")
