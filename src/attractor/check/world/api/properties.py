"""What may be claimed of a world. Each claim is a function of a ``WorldState`` and a word.

    eventually_stable(lambda world: pair_is_right(world))      once users and faults stop, it is reached and kept
    always(no_duplicates)    sometimes(both_exist)    always_step(lambda before, after: ...)
    always_step_by(lambda before, after, actor: ...)           the same, for claims about who may do what

``library`` has ready-made ones.

Every world also claims ``quiesces``: once users and faults stop, a time comes after which no stored object changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from attractor.check.errors import require_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from attractor.check.world.api.state import WorldState

Predicate: TypeAlias = "Callable[[WorldState], bool]"
StepPredicate: TypeAlias = "Callable[[WorldState, WorldState], bool]"
ActorPredicate: TypeAlias = "Callable[[WorldState, WorldState, str], bool]"
Word = Literal["eventually_always", "always", "sometimes", "always_eventually", "eventually", "settles"]


@dataclass(frozen=True)
class Claim:
    """A named claim: what must be true, and when."""

    name: str
    word: Word
    predicates: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        for predicate in self.predicates:
            require_plain(predicate, "a claim")


@dataclass(frozen=True)
class StepClaim:
    """A named claim about every single step: the world before it and after it; some actions may be left out."""

    name: str
    holds: Callable[..., bool]
    except_for: frozenset[str] = frozenset()
    tells_actor: bool = False
    """Whether ``holds`` is also told who takes the step."""

    def __post_init__(self) -> None:
        require_plain(self.holds, "a claim")

    def judge(self, before: WorldState, after: WorldState, actor: str) -> bool:
        """Whether the claim is true of a step."""
        return bool(self.holds(before, after, actor) if self.tells_actor else self.holds(before, after))


def always_step(holds: StepPredicate, *, name: str = "", except_for: Iterable[str] = ()) -> StepClaim:
    """True of every step between reachable states; ``except_for`` names actions that are not judged."""
    return StepClaim(name or _named(holds), holds, frozenset(except_for))


def always_step_by(holds: ActorPredicate, *, name: str = "", except_for: Iterable[str] = ()) -> StepClaim:
    """True of every step, with who takes it: a host by its name, ``user``, ``rival``, ``outside`` or ``server``.

    A request that arrives late is a step of the host that sent it.
    """
    return StepClaim(name or _named(holds), holds, frozenset(except_for), tells_actor=True)


def actor_of(action: str, arguments: Mapping[str, Any]) -> str:
    """Who takes a step, as ``always_step_by`` says it."""
    if "host" in arguments:
        return str(arguments["host"])
    if action in {"create", "edit", "delete"}:
        return "user"
    return action if action in {"rival", "outside"} else "server"


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


BITS = 32
"""Enough to tell apart as many contents of the store as there can be states."""


def quiesces() -> Claim:
    """Once users and faults stop, a time comes after which no stored object changes: no hot loop, no fight.

    Every content of the whole store that is met has a number of its own. A run on which anything keeps changing meets
    two contents again and again, whose numbers differ in some bit; one that quiesces meets one content in the end.
    """
    numbers: dict[object, int] = {}
    return Claim("quiesces", "settles", tuple(_bit_of_content(numbers, bit) for bit in range(BITS)))


def _bit_of_content(numbers: dict[object, int], bit: int) -> Predicate:
    def has_bit(look: WorldState) -> bool:
        return bool(numbers.setdefault(look.versions(), len(numbers)) >> bit & 1)

    return has_bit


def _named(function: Callable[..., bool]) -> str:
    name = getattr(function, "__name__", "property")
    return "property" if name == "<lambda>" else name.replace("_", " ")
