"""The words of a specification: constants, variables, actions, fairness. ``Spec`` in ``spec`` puts them together.

Variables are descriptors: inside an action ``self.x`` is the current value and ``self.x = v`` the value after the step.
A scalar variable is one slot; ``each`` (a map) and ``subset`` (a set of known elements) have a slot for each key, which
is what makes checking fast.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping, MutableSet
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, overload

from attractor.check.errors import Disabled, MutationError, SpecError, author_line, require_plain

if TYPE_CHECKING:
    from attractor.check.engine.execution import Execution
    from attractor.check.engine.model import Model
    from attractor.check.spec.spec import Spec

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Function = TypeVar("Function", bound=Callable[..., Any])
Fair = Literal["weak", "strong"]


def require(condition: object) -> None:
    """Let the action happen only where ``condition`` is true; write it before the first assignment, like a guard."""
    if not condition:
        raise Disabled


def elements(source: Any, spec: Spec) -> tuple[Any, ...]:
    """A finite set as authors write it: a constant (n means 0 to n-1), a function of the spec, or a collection."""
    if isinstance(source, Constant):
        source = source.__get__(spec)
    elif callable(source):
        source = source(spec)
    if isinstance(source, int):
        return tuple(range(source))
    if isinstance(source, set | frozenset):
        return tuple(sorted(source, key=repr))
    return tuple(source)


def same_source(one: Any, other: Any) -> bool:
    """Whether two finite sets are the same one, not merely as large: the same constant, function or collection."""
    if isinstance(one, Constant) and isinstance(other, Constant):
        return one.name == other.name
    return one is other or (not callable(one) and not isinstance(one, Constant) and bool(one == other))


class Named:
    """A declaration that knows the attribute it was assigned to."""

    name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name


class Constant(Named):
    """A parameter of the specification, fixed before checking."""

    def __init__(self, default: Any) -> None:
        self.default = default

    def __get__(self, spec: Any, owner: type | None = None) -> Any:
        return self if spec is None else spec.constants[self.name]

    def __set__(self, spec: Any, value: object) -> NoReturn:
        raise MutationError(f"{author_line()}: `{self.name}` is a constant; declare it with `var` if it changes")


class Variable(Named):
    """A variable that is one slot; ``line`` is the author's line that declares it."""

    def __init__(self, initial: Any) -> None:
        self.initial = initial
        self.line = author_line()

    def declare(self, spec: Spec, model: Model) -> Any:
        """Add this variable's slots to ``model`` and return what ``spec.layout`` keeps for it."""
        value = self.initial(spec) if callable(self.initial) else self.initial
        return model.add_slot(self.name, value, at=self.line)

    def __get__(self, spec: Any, owner: type | None = None) -> Any:
        return self if spec is None else spec.view.read(spec.layout[self.name])

    def __set__(self, spec: Any, value: Any) -> None:
        spec.view.write(spec.layout[self.name], value)


class FieldsVariable(Variable):
    """A record with a slot for each field, for records whose fields change on their own."""

    def declare(self, spec: Spec, model: Model) -> Any:
        """Add a slot for each field."""
        record: Any = self.initial(spec) if callable(self.initial) else self.initial
        refs = {
            each.name: model.add_slot(f"{self.name}.{each.name}", getattr(record, each.name), at=self.line)
            for each in dataclasses.fields(record)
        }
        return type(record), refs

    def __get__(self, spec: Any, owner: type | None = None) -> Any:
        return self if spec is None else Fields(spec.view, *spec.layout[self.name])

    def __set__(self, spec: Any, value: Any) -> None:
        refs = spec.layout[self.name][1]
        changes = value.over(refs) if isinstance(value, Changed) else {name: getattr(value, name) for name in refs}
        for name, each in changes.items():
            spec.view.write(refs[name], each)


class MapVariable(Variable):
    """A map with known keys: a slot for each key, one domain for all."""

    def __init__(self, keys: Any, initial: Any) -> None:
        super().__init__(initial)
        self.keys = keys

    def declare(self, spec: Spec, model: Model) -> Any:
        """Add a slot for each key and the family that holds them."""
        domain = None
        refs = {}
        for key in elements(self.keys, spec):
            value = self.initial(key) if callable(self.initial) else self.initial
            refs[key] = model.add_slot(self.name, value, key=key, keyed=True, domain=domain, at=self.line)
            domain = model.slots[refs[key]].domain
        return model.add_family(self.name, refs), tuple(refs)

    def __get__(self, spec: Any, owner: type | None = None) -> Any:
        return self if spec is None else Map(spec.view, *spec.layout[self.name])

    def __set__(self, spec: Any, value: Mapping[Any, Any]) -> None:
        whole = self.__get__(spec)
        for key in whole:
            whole[key] = value[key]


class SetVariable(MapVariable):
    """A set of elements out of a known universe: a yes-or-no slot for each element."""

    def __init__(self, universe: Any, initial: Iterable[Any]) -> None:
        within = frozenset(initial)
        super().__init__(universe, lambda element: element in within)

    def __get__(self, spec: Any, owner: type | None = None) -> Any:
        return self if spec is None else Subset(spec.view, *spec.layout[self.name])

    def __set__(self, spec: Any, value: Iterable[Any]) -> None:
        if not isinstance(value, Subset):
            within = frozenset(value)
            whole = self.__get__(spec)
            for element in whole.universe:
                whole.put(element, element in within)


class Map(MutableMapping[K, V]):
    """A map variable during a step: reading and writing touch the slot of that key only. Its keys are fixed."""

    __slots__ = ("_family", "_keys", "_view")

    def __init__(self, view: Execution, family: int, keys: tuple[K, ...]) -> None:
        self._view = view
        self._family = family
        self._keys = keys

    def __getitem__(self, key: K) -> V:
        value: V = self._view.read(self._view.key_ref(self._family, key))
        return value

    def __setitem__(self, key: K, value: V) -> None:
        self._view.write(self._view.key_ref(self._family, key), value)

    def __delitem__(self, key: K) -> NoReturn:
        raise MutationError(f"{author_line()}: the keys of a map variable are fixed; write None for `{key!r}` instead")

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Fields:
    """A ``fields`` variable as it was when it was asked for: reading an attribute reads that field's slot only.

    It is a value, as every record is: what the step writes later does not show in it. Methods and properties of the
    record's class work on it, and read what they read.
    """

    __slots__ = ("_held", "_kind", "_refs", "_view")

    def __init__(self, view: Execution, kind: type, refs: dict[str, int]) -> None:
        held = {name: view.read(ref) for name, ref in refs.items() if view.is_written(ref)}
        for name, value in (("_view", view), ("_kind", kind), ("_refs", refs), ("_held", held)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in self._held:
            return self._held[name]
        if name in self._refs:
            return self._view.before(self._refs[name])
        return self.bound(name, self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise MutationError(
            f"{author_line()}: `.{name} = {value!r}` would change a record in place; assign a changed copy to the "
            f"variable: `... = record.but({name}={value!r})`"
        )

    def but(self, **changes: Any) -> Changed:
        """The same record except for ``changes``; assigning it to its variable writes these fields only."""
        unknown = [name for name in changes if name not in self._refs]
        if unknown:
            raise AttributeError(f"{self._kind.__name__} has no field {', '.join(unknown)}")
        return Changed(self, changes)

    def has(self, name: str) -> bool:
        """Whether ``name`` is a field."""
        return name in self._refs

    def bound(self, name: str, record: Any) -> Any:
        """A method, property or plain attribute of the record's class, working on ``record``."""
        if name.startswith("__") or not hasattr(self._kind, name):
            raise AttributeError(f"{self._kind.__name__} has no field {name!r}")
        found = inspect.getattr_static(self._kind, name)
        return found.__get__(record, self._kind) if hasattr(found, "__get__") else found

    def is_at(self, refs: dict[str, int]) -> bool:
        """Whether the slots ``refs`` hold this very record still."""
        if refs is not self._refs:
            return False
        written = [name for name, ref in refs.items() if self._view.is_written(ref)]
        return all(name in self._held and self._held[name] is self._view.read(refs[name]) for name in written)

    def whole(self, **changes: Any) -> Any:
        """The record as one value, except for ``changes``: reads every other field."""
        return self._kind(**{name: getattr(self, name) for name in self._refs if name not in changes}, **changes)

    def __eq__(self, other: object) -> bool:
        return bool(self.whole() == (other.whole() if isinstance(other, Fields | Changed) else other))

    def __hash__(self) -> int:
        return hash(self.whole())

    def __repr__(self) -> str:
        return repr(self.whole())


class Changed:
    """A ``fields`` record with changes, on its way to its variable."""

    __slots__ = ("changes", "record")

    def __init__(self, record: Fields, changes: dict[str, Any]) -> None:
        self.record = record
        self.changes = changes

    def but(self, **changes: Any) -> Changed:
        """Change further fields."""
        return Changed(self.record, {**self.changes, **self.record.but(**changes).changes})

    def over(self, refs: dict[str, int]) -> dict[str, Any]:
        """What must be written so that the variable with the slots ``refs`` becomes this record."""
        if self.record.is_at(refs):
            return self.changes
        return {name: getattr(self, name) for name in refs}

    def __getattr__(self, name: str) -> Any:
        if name in self.changes:
            return self.changes[name]
        return getattr(self.record, name) if self.record.has(name) else self.record.bound(name, self)

    def whole(self) -> Any:
        """The record as one value: reads every field that is not changed."""
        return self.record.whole(**self.changes)

    def __eq__(self, other: object) -> bool:
        return bool(self.whole() == (other.whole() if isinstance(other, Fields | Changed) else other))

    def __hash__(self) -> int:
        return hash(self.whole())

    def __repr__(self) -> str:
        return repr(self.whole())


class Subset(MutableSet[K]):
    """A set variable during a step: ``in``, ``add`` and ``discard`` touch the slot of that element only."""

    __slots__ = ("_family", "_view", "universe")

    def __init__(self, view: Execution, family: int, universe: tuple[K, ...]) -> None:
        self._view = view
        self._family = family
        self.universe = universe

    def __contains__(self, element: object) -> bool:
        return bool(self._view.read(self._view.key_ref(self._family, element)))

    def put(self, element: K, present: bool) -> None:
        """Set whether ``element`` is in the set."""
        self._view.write(self._view.key_ref(self._family, element), present)

    def add(self, value: K) -> None:
        """Put ``value`` in."""
        self.put(value, present=True)

    def discard(self, value: K) -> None:
        """Take ``value`` out, if it is in."""
        self.put(value, present=False)

    def __iter__(self) -> Iterator[K]:
        return (element for element in self.universe if element in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return frozenset(it)


class Declared(Named, Generic[Function]):
    """A decorated function of the specification, with the finite sets that its parameters range over.

    ``when`` is a switch: a constant, or a function of the spec; where it is false, the declaration does not exist.
    """

    when: Any = True

    def __init__(self, function: Function, over: Mapping[str, Any]) -> None:
        require_plain(function, "part of a specification")
        self.function = function
        self.over = dict(over)
        self.__doc__ = function.__doc__
        self.name = getattr(function, "__name__", "")
        if self.name == "<lambda>":
            self.name = ""

    def remade(self, function: Any) -> Declared[Any]:
        """The same declaration around another function: what a subclass's plain override means."""
        require_plain(function, "part of a specification")
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, function=function)
        return other

    def applies(self, spec: Spec) -> bool:
        """Whether the switch is on."""
        when = self.when
        return bool(when.__get__(spec) if isinstance(when, Constant) else when(spec) if callable(when) else when)

    def __get__(self, spec: Any, owner: type | None = None) -> Any:
        return self if spec is None else self.function.__get__(spec)


class Action(Declared[Function]):
    """A step that the system can take."""

    fair: Fair | None = None


class Predicate(Declared[Function]):
    """A remembered truth about a state: calling it inside a step reads one yes or no, not everything behind it."""

    def __get__(self, spec: Any, owner: type | None = None) -> Any:
        return self if spec is None else lambda *arguments: spec.recall(self, arguments)


class Initial(Declared[Function]):
    """A function that sets the variables of an initial state, with choices if there are several."""


class Constraint(Declared[Function]):
    """A bound: states where it is false are not part of the model."""


class Terminal(Declared[Function]):
    """States where it is true may have no further step without being a deadlock."""


class WorldProperty:
    """What stands in ``World(properties=[...])``: what ``always``, ``eventually_stable`` and the like make."""


class SafetyProperty(Declared[Function], WorldProperty):
    """``always``, ``sometimes`` or ``always_step``."""

    kind: str = "always"
    title: str = ""
    """The name that the author gave it, if it is not called as its function."""
    actions: tuple[str, ...] = ()
    except_for: tuple[str, ...] = ()


class Refinement(Declared[Function]):
    """An abstraction function into another specification."""

    abstract: Any = None


class Henceforth:
    """``henceforth(p)`` as the premise of ``leads_to``: from here on always p (TLA+'s ``[]p``)."""

    def __init__(self, predicate: Any) -> None:
        self.predicate = predicate


def function_of(operand: Any) -> Any:
    """The author's function behind an operand of a promise."""
    if isinstance(operand, Henceforth):
        operand = operand.predicate
    return operand.function if isinstance(operand, Declared) else operand


class LivenessProperty(Named, WorldProperty):
    """A promise about whole runs, built from state predicates."""

    def __init__(self, kind: str, operands: tuple[Any, ...], over: Mapping[str, Any], title: str = "") -> None:
        for operand in operands:
            require_plain(operand, "part of a specification")
        self.kind, self.title = kind, title
        self.operands = operands
        self.over = dict(over)


class SymmetryDeclaration(Named):
    """The elements of a finite set are interchangeable."""

    def __init__(self, over: Any) -> None:
        self.over = over


class FairnessDeclaration(Named):
    """Fairness of a group of actions, one condition for each value of the parameters in ``per``."""

    def __init__(self, actions: tuple[Any, ...], per: tuple[str, ...], *, strong: bool) -> None:
        self.actions = actions
        self.per = per
        self.strong = strong
        self.line = author_line()


def decorator(declaration: type[Any], over: Mapping[str, Any], **settings: Any) -> Callable[[Any], Any]:
    """What makes a declaration of a function."""

    def decorate(function: Any) -> Any:
        declared = declaration(function, over)
        declared.__dict__.update(settings)
        return declared

    return decorate


def constant(default: Any) -> Any:
    """Declare a constant; ``Spec(name=value)`` and ``--const name=value`` set it."""
    return Constant(default)


def var(initial: Any) -> Any:
    """Declare a variable and its initial value (or a function of the spec that gives it)."""
    return Variable(initial)


def fields(record: Any) -> Any:
    """Declare a record whose fields are remembered one by one: for large records of which steps read a part."""
    return FieldsVariable(record)


def each(keys: Any, initial: Any) -> Any:
    """Declare a map: ``keys`` is a finite set, ``initial`` a value or a function of the key."""
    return MapVariable(keys, initial)


def subset(universe: Any, initial: Iterable[Any] = ()) -> Any:
    """Declare a set of elements out of ``universe``."""
    return SetVariable(universe, initial)


@overload
def action(function: Function, /) -> Function: ...
@overload
def action(*, fair: Fair | None = None, when: Any = True, **over: Any) -> Callable[[Function], Function]: ...
def action(function: Any = None, /, *, fair: Fair | None = None, when: Any = True, **over: Any) -> Any:
    """Declare an action; each keyword names a parameter and the finite set it ranges over.

    ``fair="weak"``: an instance that stays enabled is taken at last; ``fair="strong"``: one that is enabled again and
    again is. Without it the system may leave the action out for ever, which is right for users and faults.
    ``when`` is a constant (or a function of the spec) that switches the action on; where it is false there is none.
    """
    if fair not in {None, "weak", "strong"}:
        raise SpecError(
            f'{author_line()}: fair={fair!r} is unknown; an action is fair="weak", fair="strong" or neither'
        )
    return Action(function, {}) if function else decorator(Action, over, fair=fair, when=when)


@overload
def predicate(function: Function, /) -> Function: ...
@overload
def predicate(**over: Any) -> Callable[[Function], Function]: ...
def predicate(function: Any = None, /, **over: Any) -> Any:
    """Declare a truth about a state that is remembered on its own."""
    return Predicate(function, {}) if function else decorator(Predicate, over)


def initial(function: Function) -> Function:
    """Declare how the initial states are made: assign variables, use ``self.choose`` for several."""
    return Initial(function, {})  # type: ignore[return-value]


def constraint(function: Function) -> Function:
    """Declare a bound: states where it is false are left out, and the verdict says so."""
    return Constraint(function, {})  # type: ignore[return-value]


def terminal(function: Function) -> Function:
    """Declare where it is right to stop: such a state is not a deadlock."""
    return Terminal(function, {})  # type: ignore[return-value]


def weak(*actions: Any, per: Iterable[str] = ()) -> FairnessDeclaration:
    """Weak fairness of a group of actions: if one or other of them stays enabled, one of them is taken at last."""
    return FairnessDeclaration(actions, tuple(per), strong=False)


def strong(*actions: Any, per: Iterable[str] = ()) -> FairnessDeclaration:
    """Strong fairness of a group of actions: if they are enabled again and again, one of them is taken at last."""
    return FairnessDeclaration(actions, tuple(per), strong=True)


def interchangeable(over: Any) -> SymmetryDeclaration:
    """Declare that the elements of a finite set differ in name only; safety may then be decided on fewer states."""
    return SymmetryDeclaration(over)
