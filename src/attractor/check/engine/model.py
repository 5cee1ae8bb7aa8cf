"""Models as the engines see them: slots, action instances and predicates, without the vocabulary above.

A state is a vector of small integers, one for each *slot*. A slot's *domain* gives each value that was ever seen there
a number. An *instance* is an action or predicate with its parameters filled in; it runs a *routine*, an ordinary
function of a view. Instances of one routine may share what is remembered of it: the routine then reads "my own slot"
through a *virtual* reference, which each instance binds to a real one.

A step writes a value, copies what another slot of the same domain holds (``COPY`` and the slot's index), or changes a
slot by a function of what it holds (``UPDATE`` and the number of an ``Update``): in both cases without looking.

References are integers: a slot's index, possibly with ``AFTER`` (the slot in the state after a step), or ``DERIVED``
and the index of a predicate whose value is read as if it were a slot; a negative reference ``-1 - i`` is the
instance's ``binding[i]``.

Programs that are not written in the vocabulary build a ``Model`` directly; ``add_slot`` may be called at any time, also
while the model is being explored: states found earlier hold the new slot's default.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.errors import Disabled, SpecError, ValueNotHashable, author_line
from attractor.check.spec.values import alike, is_itself

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from attractor.check.engine.record import Record
    from attractor.check.spec.properties import Property

AFTER = 1 << 24
DERIVED = 1 << 25
CHOICE = 1 << 26
UPDATE = 1 << 29
COPY = 1 << 30

State = tuple[int, ...]
Arguments = tuple[tuple[str, Any], ...]


class Domain:
    """The values seen in a slot (or in several slots of one kind), numbered in the order of their appearance."""

    __slots__ = ("ids", "name", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[Any] = []
        self.ids: dict[Hashable, int] = {}

    def intern(self, value: Any, at: str = "") -> int:
        """Return the number of ``value``; a new value gets the next one. ``at`` is the author's line, if known."""
        try:
            known = self.ids.get(value)
        except TypeError as problem:
            raise ValueNotHashable(
                f"{at or author_line()}: `{self.name}` was given {value!r}, which cannot be part of a state "
                f"({problem}); use a tuple for a list, a frozenset for a set, a FrozenMap for a dict, a Record for a "
                f"class"
            ) from None
        if known is None:
            known = self.ids[value] = len(self.values)
            self.values.append(value)
        return known


class WrittenDomain(Domain):
    """Of values that an author's code writes: two that are equal to Python must be alike in type, too, at any depth.

    Otherwise one state would stand for two that a step can tell apart: ``1`` and ``True``, ``0`` and ``0.0``, a text
    and the member of an enum that is that text, a tuple and a named one.
    """

    __slots__ = ()

    def intern(self, value: Any, at: str = "") -> int:
        """Return the number of ``value``; raises ``SpecError`` for one that is equal to a known one, and different."""
        size, number = len(self.values), super().intern(value, at)
        if number < size and not alike(self.values[number], value):
            raise SpecError(
                f"{at or author_line()}: `{self.name}` was given {_told(value)} and, in another state, "
                f"{_told(self.values[number])}; to Python the two are equal, so they would be one state; use one of "
                f"them throughout"
            )
        if number == size and not is_itself(value):
            raise SpecError(
                f"{at or author_line()}: `{self.name}` was given {value!r}, which is not equal to itself, so no two "
                f"states with it would be the same; use None for what is not known"
            )
        return number


def _told(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"


class Update:
    """A pure function from the values of a domain to values of it, by their numbers; each is computed once."""

    __slots__ = ("_domain", "_how", "_known")

    def __init__(self, domain: Domain, how: Callable[[Any], Any]) -> None:
        self._domain = domain
        self._how = how
        self._known: dict[int, int] = {}

    def of(self, number: int) -> int:
        """The number of what becomes of the value with that number."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._domain.intern(self._how(self._domain.values[number]))
        return known


@dataclass(frozen=True)
class Slot:
    """One variable of the state vector; ``variable`` and ``key`` say how to print it (``variable[key]``)."""

    index: int
    variable: str
    key: Any
    keyed: bool
    domain: Domain
    default: int

    @property
    def name(self) -> str:
        """The slot as an author would write it."""
        return f"{self.variable}[{self.key!r}]" if self.keyed else self.variable


@dataclass(eq=False)
class Family:
    """The slots of one map: which reference each key has."""

    name: str
    refs: dict[Any, int]


@dataclass(eq=False)
class Routine:
    """A function of a view, and whether its instances share what is remembered of it.

    ``virtual`` names the virtual references: (family, number of the parameter) -> i. ``bound`` holds every reference
    that some instance binds; a shared routine must not reach those under their real names.
    """

    name: str
    function: Callable[..., Any]
    shared: bool = False
    virtual: dict[tuple[int, int], int] = field(default_factory=dict)
    bound: frozenset[int] = frozenset()


@dataclass(eq=False)
class Instance:
    """A routine with its parameters: an action instance or a predicate instance."""

    name: str
    arguments: Arguments
    routine: Routine
    binding: tuple[int, ...] = ()
    index: int = -1

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The values of its parameters."""
        return tuple(value for _, value in self.arguments)

    @property
    def label(self) -> str:
        """``name(value, ...)`` as it is printed in traces and tables."""
        return f"{self.name}({', '.join(str(value) for _, value in self.arguments)})" if self.arguments else self.name


class Fairness(NamedTuple):
    """One condition: if the group stays (weak) or keeps being (strong) enabled, one of its instances is taken."""

    name: str
    instances: tuple[int, ...]
    strong: bool = False


class Symmetry(NamedTuple):
    """Interchangeable keys: ``columns[k]`` lists the slots that belong to key ``k``, in the same order for each key."""

    name: str
    columns: tuple[tuple[int, ...], ...]


class Bound(NamedTuple):
    """A bound that cut off a step or a distinction while the model was explored: without it there is more to see.

    ``name`` is what whoever builds the model calls it (for a world, its parameter); ``text`` follows *holds within*;
    ``raise_hint`` says how to raise it.
    """

    name: str
    text: str
    raise_hint: str


@dataclass(eq=False)
class Expected:
    """Steps of which at least one should be taken somewhere; ``why`` is the reason why none could be, the last time."""

    what: str
    instances: list[int] = field(default_factory=list)
    why: str = ""


class Model:
    """Slots, initial states, action instances, predicates, fairness: one explorable system."""

    def __init__(self, name: str, *, is_composed: bool = False) -> None:
        self.name = name
        self.slots: list[Slot] = []
        self.families: list[Family] = []
        self.initial: list[State] = []
        self.actions: list[Instance] = []
        self.predicates: list[Instance] = []
        self.constraints: list[int] = []
        self.terminal: list[int] = []
        self.fairness: list[Fairness] = []
        self.symmetries: list[Symmetry] = []
        self.properties: list[Property] = []
        self.updates: list[Update] = []
        self._updates: dict[tuple[Domain, Callable[[Any], Any]], int] = {}
        self.applied: set[str] = set()
        self.is_composed = is_composed
        """Whether a program put it together: it may come to rest anywhere, and steps never taken are no slip."""
        self.expected: list[Expected] = []
        """What whoever composed it expects to happen at least once."""
        self.budgets: dict[int, list[int]] = {}
        """For each slot that holds how often a fault may still strike, the actions by which it does."""
        self.copying: set[str] = set()
        """Actions whose code makes changed copies of values; one that then writes nothing has lost them."""
        self.remarks: dict[str, None] = {}
        """What the author should know, whatever the verdict, in words."""
        self.afterwards: list[Callable[[], Iterable[str]]] = []
        """What whoever composed it warns of when all was explored."""
        self.within: dict[str, None] = {}
        """What else a verdict is relative to, in words, whether or not it mattered."""
        self.binding: dict[str, Bound] = {}
        """The bounds that were binding so far, by name."""
        self.record: Record | None = None
        """Where everything that is executed is noted, if somebody wants to compare it."""
        self.before_audit: list[Callable[[], None]] = []
        """Called before the audit runs steps again, by which steps forget what they know from earlier runs."""

    def add_slot(
        self,
        variable: str,
        default: Any,
        *,
        key: Any = None,
        keyed: bool = False,
        domain: Domain | None = None,
        at: str = "",
    ) -> int:
        """Add a slot and return its reference; every state known so far holds ``default`` there.

        ``at`` is the author's line that declares it, if there is one.
        """
        domain = domain or (Domain if self.is_composed else WrittenDomain)(variable)
        slot = Slot(len(self.slots), variable, key, keyed, domain, domain.intern(default, at))
        if slot.index >= AFTER:
            raise SpecError(f"{self.name}: more than {AFTER} slots")
        self.slots.append(slot)
        self.initial = [(*state, slot.default) for state in self.initial]
        return slot.index

    def bind(self, name: str, text: str, raise_hint: str) -> None:
        """Say, from inside a step, that a bound cuts something off there.

        Called when the step is executed, which is once for each combination of values that it reads: the verdict then
        says *holds within* ``text``. A step must not call it for a state that it would refuse for another reason.
        """
        self.binding.setdefault(name, Bound(name, text, raise_hint))

    def with_faults(self, most: int) -> Model:
        """The same model where at most so many faults strike; every other step is as it is here."""
        budgets, made = list(self.budgets), copy.copy(self)

        def limited(function: Callable[..., Any]) -> Callable[..., Any]:
            def step(view: Any, *arguments: Any) -> Any:
                struck = 0 if most == 0 else sum(self.value_at_first(ref) - view.read(ref) for ref in budgets)
                if struck >= most:
                    raise Disabled
                return function(view, *arguments)

            return step

        made.actions = list(self.actions)
        for index in {each for instances in self.budgets.values() for each in instances}:
            known = self.actions[index]
            made.actions[index] = replace(known, routine=Routine(known.name, limited(known.routine.function)))
        return made

    def value_at_first(self, ref: int) -> Any:
        """The value that a slot begins with, unless an initial state says otherwise."""
        slot = self.slots[ref]
        return slot.domain.values[slot.default]

    def add_family(self, name: str, refs: Mapping[Any, int]) -> int:
        """Declare that ``refs`` are the slots of one map, so that instances can share by key; return its number."""
        self.families.append(Family(name, dict(refs)))
        return len(self.families) - 1

    def add_initial(self, values: Mapping[int, Any]) -> None:
        """Add an initial state: the given slots, and the default elsewhere."""
        state = [slot.default for slot in self.slots]
        for index, value in values.items():
            state[index] = self.slots[index].domain.intern(value)
        if tuple(state) not in self.initial:
            self.initial.append(tuple(state))

    def add_actions(self, name: str, function: Callable[..., Any], arguments: Iterable[Arguments] = ((),)) -> list[int]:
        """Add one action instance for each tuple of arguments; ``function(view, *values)`` is one step."""
        return self._add(self.actions, name, function, arguments)

    def add_predicates(
        self, name: str, function: Callable[..., Any], arguments: Iterable[Arguments] = ((),)
    ) -> list[int]:
        """Add one predicate instance for each tuple of arguments; ``function(view, *values)`` is true or false."""
        return self._add(self.predicates, name, function, arguments)

    def _add(
        self, table: list[Instance], name: str, function: Callable[..., Any], arguments: Iterable[Arguments]
    ) -> list[int]:
        """Group instances by which of their arguments are equal; each group may share one memory."""
        patterns: dict[tuple[int, ...], list[Instance]] = {}
        added = []
        for each in arguments:
            values = [value for _, value in each]
            instance = Instance(name, each, Routine(name, function), index=len(table))
            patterns.setdefault(tuple(values.index(value) for value in values), []).append(instance)
            table.append(instance)
            added.append(instance.index)
        for group in patterns.values():
            self._share(group)
        return added

    def _share(self, group: Sequence[Instance]) -> None:
        """Give the instances one routine, and a virtual reference for each map that a parameter is a key of."""
        if len(group) < 2:
            return
        virtual: dict[tuple[int, int], int] = {}
        bindings: list[list[int]] = [[] for _ in group]
        for number in range(len(group[0].arguments)):
            for family, known in enumerate(self.families):
                keys = [instance.arguments[number][1] for instance in group]
                if all(key in known.refs for key in keys):
                    virtual[family, number] = len(virtual)
                    for binding, key in zip(bindings, keys, strict=True):
                        binding.append(known.refs[key])
        routine = group[0].routine
        routine.shared = True
        routine.virtual = virtual
        routine.bound = frozenset(ref for binding in bindings for ref in binding)
        for instance, binding in zip(group, bindings, strict=True):
            instance.routine = routine
            instance.binding = tuple(binding)

    def update(self, domain: Domain, how: Callable[[Any], Any]) -> int:
        """The number of an update; ``how`` is known by equality, so two that are equal must do the same."""
        number = self._updates.setdefault((domain, how), len(self.updates))
        if number == len(self.updates):
            self.updates.append(Update(domain, how))
        return number

    def name_of(self, ref: int) -> str:
        """What a reference is called by the author."""
        if ref & DERIVED:
            return self.predicates[ref ^ DERIVED].label
        return f"{self.slots[ref ^ AFTER].name} after" if ref & AFTER else self.slots[ref].name

    def value(self, state: State, ref: int) -> Any:
        """The value that ``state`` holds in slot ``ref``."""
        return self.slots[ref].domain.values[state[ref]]

    def show(self, state: State) -> dict[str, Any]:
        """The state as an author would print it: variables, maps as dictionaries."""
        shown: dict[str, Any] = {}
        for slot, number in zip(self.slots, state, strict=True):
            value = slot.domain.values[number]
            if slot.keyed:
                shown.setdefault(slot.variable, {})[slot.key] = value
            else:
                shown[slot.variable] = value
        return shown
