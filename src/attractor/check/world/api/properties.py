"""What may be claimed of a world: each claim is a word and a function of a ``WorldState``.

    eventually_stable(lambda world: pair_is_right(world))      once users and faults stop, it is reached and kept
    always(no_duplicates)    sometimes(both_exist)    always_step(lambda before, after: ...)
    always_step_by(lambda before, after, actor: ...)           the same, for claims about who may do what

The words that specifications have, too, are in ``spec.property_declarations``; ``library`` has ready-made claims.

Every world also claims ``quiesces``: once users and faults stop, a time comes after which no stored object changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from attractor.check.errors import SpecError, require_plain
from attractor.check.spec.declarations import LivenessProperty, SafetyProperty, WorldProperty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from attractor.check.world.api.state import WorldState

Predicate: TypeAlias = "Callable[[WorldState], bool]"
StepPredicate: TypeAlias = "Callable[[WorldState, WorldState], bool]"
ActorPredicate: TypeAlias = "Callable[[WorldState, WorldState, str], bool]"
Word = Literal["eventually_always", "always", "sometimes", "always_eventually", "eventually", "settles"]


@dataclass(frozen=True)
class Claim(WorldProperty):
    """A named claim: what must be true, and when."""

    name: str
    word: Word
    predicates: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        for predicate in self.predicates:
            require_plain(predicate, "a claim")


@dataclass(frozen=True)
class StepClaim(WorldProperty):
    """A named claim about every single step: the world before it and after it; some actions may be left out."""

    name: str
    holds: Callable[..., bool]
    except_for: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    """The only actions whose steps are judged; all of them where it is empty."""
    tells_actor: bool = False
    """Whether ``holds`` is also told who takes the step."""

    def __post_init__(self) -> None:
        require_plain(self.holds, "a claim")

    def judges(self, action: str) -> bool:
        """Whether steps of an action are judged."""
        return action not in self.except_for and (not self.actions or action in self.actions)

    def judge(self, before: WorldState, after: WorldState, actor: str) -> bool:
        """Whether the claim is true of a step."""
        return bool(self.holds(before, after, actor) if self.tells_actor else self.holds(before, after))


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


WORDS: dict[str, Word] = {
    "always": "always",
    "sometimes": "sometimes",
    "eventually": "eventually",
    "eventually_always": "eventually_always",
    "always_eventually": "always_eventually",
}
"""The words of specifications that are decided of worlds, beside ``always_step``."""


def claim_of(given: object) -> Claim | StepClaim:
    """What a property claims of a world; raises ``SpecError`` for what is none."""
    if isinstance(given, Claim | StepClaim):
        return given
    if not isinstance(given, SafetyProperty | LivenessProperty):
        called = getattr(given, "__name__", repr(given))
        raise SpecError(f"{called} is no property; say what it claims, as in eventually_stable({called})")
    operand = given.function if isinstance(given, SafetyProperty) else given.operands[0]
    name = given.title or _named(operand)
    if given.over or getattr(given, "when", True) is not True:
        raise SpecError(f"the property {name!r} of a world has parameters or a switch, which specifications have")
    if isinstance(given, SafetyProperty) and given.kind == "always_step":
        return StepClaim(name, operand, frozenset(given.except_for), actions=frozenset(given.actions))
    if given.kind not in WORDS:
        known = ", ".join(["always_step", *WORDS])
        raise SpecError(f"{given.kind} is decided of specifications only; a property of a world is {known}")
    return Claim(name, WORDS[given.kind], (operand,))


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
