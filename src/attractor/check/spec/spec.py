"""``Spec``: a specification is a class; its instances have values for the constants and compile to a ``Model``.

    class Counter(Spec):
        limit = constant(3)
        n: int = var(0)

        @action(fair="weak")
        def up(self) -> None:
            require(self.n < self.limit)
            self.n += 1

        @always
        def bounded(self) -> bool:
            return self.n <= self.limit

        full = eventually(lambda self: self.n == self.limit)

    check(Counter(limit=5)).assert_holds()

A subclass inherits everything; overriding an action with a plain method keeps its declaration. ``A() | B()`` puts two
specifications side by side: variables of the same name are shared, the steps of both interleave.
"""

from __future__ import annotations

import copy
import itertools
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from attractor.check.engine.execution import Execution, Token, apply, steps
from attractor.check.engine.model import AFTER, DERIVED, Arguments, Fairness, Instance, Model, Routine, Symmetry
from attractor.check.errors import Disabled, MutationError, SpecError, author_line
from attractor.check.spec import declarations as words
from attractor.check.spec.conjunctions import conjuncts
from attractor.check.spec.properties import Case, Property, require_judged
from attractor.check.spec.refinement import Abstraction, FairAbstraction
from attractor.check.spec.signatures import require_answer, require_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")
COPYING = frozenset({"add", "remove", "with_", "without", "but"})
"""Methods of values that return a changed copy, which is easily forgotten to be assigned."""


class AfterView:
    """The state after a step, read through the view of the step's judge."""

    __slots__ = ("_view",)

    def __init__(self, view: Execution) -> None:
        self._view = view

    def read(self, ref: int) -> Any:
        """The value of ``ref`` after the step."""
        return self._view.read(ref | AFTER)

    before = read

    def is_written(self, _: int) -> bool:
        """Never: nothing is written to the state after a step."""
        return False

    def key_ref(self, family: int, key: Any) -> int:
        """The reference of a map's key."""
        return self._view.key_ref(family, key)

    def write(self, ref: int, value: Any) -> None:
        """Refuse: a judge only looks."""
        self._view.write(ref | AFTER, value)

    def has_written(self) -> bool:
        """Always true, so that remembered predicates are evaluated in place, on the state after."""
        return True


class Outside:
    """The view of a specification that is not being checked: variables have no values then."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise SpecError(
            f"{author_line()}: variables have values only while a specification is checked; say what they begin with "
            f"by `var(...)` or in an `@initial` method, and look at them in steps and properties"
        )


class Step:
    """The step that an ``always_step`` property judges: ``before`` and ``after``, ``action`` and ``arguments``."""

    __slots__ = ("action", "after", "arguments", "before")

    def __init__(self, before: Any, after: Any, action: str, arguments: Arguments) -> None:
        self.before = before
        self.after = after
        self.action = action
        self.arguments = dict(arguments)


class Spec:
    """Base class of specifications: a state machine in Python. Inside actions ``self`` is the state.

        class Lock(Spec):
            inside: frozenset[str] = var(frozenset())

            @action(thread=("a", "b"))
            def enter(self, thread: str) -> None:
                require(not self.inside)
                self.inside |= {thread}

            @always
            def never_both(self) -> bool:
                return len(self.inside) < 2

        check(Lock()).assert_holds()

    ``Spec(name=value)`` sets constants; ``a | b`` composes two specifications.
    """

    view: Any = Outside()
    constants: dict[str, Any]
    layout: dict[Any, Any]
    model: Model
    declared: ClassVar[dict[str, words.Named]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the declarations of the class and of its bases."""
        merged: dict[str, words.Named] = dict(cls.declared)
        for name, value in list(vars(cls).items()):
            inherited = merged.get(name)
            if isinstance(value, FunctionType) and isinstance(inherited, words.Declared):
                merged[name] = inherited.remade(value)
                setattr(cls, name, merged[name])
            elif isinstance(value, words.Named):
                if name in RESERVED:
                    raise SpecError(
                        f"{cls.__name__} declares `{name}`, which every specification has as {RESERVED[name]}; "
                        "choose another name"
                    )
                merged[name] = value
        cls.declared = merged

    def __init__(self, **constants: Any) -> None:
        known = {name: each.default for name, each in self._of(words.Constant)}
        unknown = sorted(set(constants) - set(known))
        if unknown:
            raise SpecError(
                f"{type(self).__name__} has no constant {', '.join(unknown)}; it has: {', '.join(known) or 'none'}"
            )
        self.__dict__["constants"] = {**known, **constants}
        self.__dict__["layout"] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.declared and not isinstance(self.declared[name], words.Declared):
            object.__setattr__(self, name, value)
            return
        raise MutationError(
            f"{author_line()}: `self.{name}` is not a variable of {type(self).__name__}; hidden state would make the "
            f"verdict wrong, so declare it: `{name} = var(...)`"
        )

    def __or__(self, other: Spec) -> Composition:
        return Composition(self, other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.constants.items())})"

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self).__name__

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of all actions."""
        return tuple(name for name, _ in self._of(words.Action))

    def choose(self, options: Iterable[T]) -> T:
        """Pick one of ``options``: every pick is explored, and with none the action is disabled."""
        picked: T = self.view.choose(options)
        return picked

    def enabled(self, action: Any, *arguments: Any) -> bool:
        """Whether an action, by name or declaration, can be taken; without arguments, whether any instance can."""
        name = action if isinstance(action, str) else getattr(action, "name", None) or action.__name__
        if not isinstance(self.declared.get(name), words.Action):
            raise SpecError(f"{author_line()}: {type(self).__name__} has no action {name!r}")
        return any(
            self.view.read(ref)
            for values, ref in self.layout.get(("enabled", name), {}).items()
            if not arguments or values == arguments
        )

    def recall(self, predicate: words.Predicate[Any], arguments: tuple[Any, ...]) -> bool:
        """Read a ``predicate`` as one remembered value; evaluated directly once the step has written something."""
        remembered = self.layout.get(("predicate", predicate.name))
        if remembered is None or self.view.has_written():
            return bool(predicate.function(self, *arguments))
        family, refs = remembered
        if len(arguments) == 1 and type(arguments[0]) is Token:
            return bool(self.view.read(self.view.key_ref(family, arguments[0])))
        return bool(self.view.read(refs[arguments]))

    @cached_property
    def _compiled(self) -> Model:
        model = Model(self.name)
        Compiler(model, [self]).compile()
        return model

    def compile(self) -> Model:
        """The model that engines explore; made once."""
        return self._compiled

    @classmethod
    def _of(cls, kind: type[Any]) -> list[tuple[str, Any]]:
        return [(name, each) for name, each in cls.declared.items() if isinstance(each, kind)]

    def of(self, kind: type[Any]) -> list[tuple[str, Any]]:
        """The declarations of one kind that are switched on, those of base classes first."""
        return [
            (name, each) for name, each in self._of(kind) if not isinstance(each, words.Declared) or each.applies(self)
        ]


RESERVED = {
    name: "a method" if callable(value) else "an attribute"
    for name, value in {**dict.fromkeys(Spec.__annotations__), **vars(Spec)}.items()
    if not name.startswith("__")
}
"""Names that a declaration would hide."""


class Composition:
    """Several specifications side by side: same-named variables are shared, everything else is separate. Made by ``a |
    b``.
    """

    def __init__(self, *parts: Spec | Composition) -> None:
        self.parts: list[Spec] = [
            spec for part in parts for spec in (part.parts if isinstance(part, Composition) else [part])
        ]
        self.name = " | ".join(part.name for part in self.parts)

    def __or__(self, other: Spec | Composition) -> Composition:
        return Composition(self, other)

    def __repr__(self) -> str:
        return " | ".join(repr(part) for part in self.parts)

    @cached_property
    def _compiled(self) -> Model:
        model = Model(self.name)
        Compiler(model, [copy.copy(part) for part in self.parts]).compile()
        return model

    def compile(self) -> Model:
        """The joint model that engines explore; made once."""
        return self._compiled


class Compiler:
    """Turns declarations into slots, instances and properties."""

    def __init__(self, model: Model, parts: list[Spec]) -> None:
        self.model = model
        self.parts = parts

    def compile(self) -> None:
        """Fill the model: every part's variables first, so that each part can see the shared ones."""
        variables: dict[str, Any] = {}
        for part in self.parts:
            self._require_sense(part)
            part.__dict__["layout"] = {}
            for name, variable in part.of(words.Variable):
                if name not in variables:
                    variables[name] = variable.declare(part, self.model)
                part.layout[name] = variables[name]
        self._initial_states()
        for part in self.parts:
            self._predicates(part)
            self._actions(part)
        for part in self.parts:
            self._enabledness(part)
            self._bounds(part)
            self._safety(part)
            self._refinements(part)
            self._liveness(part)
            self._fairness(part)
            self._symmetry(part)

    def _require_sense(self, part: Spec) -> None:
        """Raise ``SpecError`` for functions that cannot be what they are declared as."""
        for name, declared in part.of(words.Declared):
            if getattr(declared, "kind", "") != "always_step":
                require_parameters(name, declared.function, declared.over)
            if not isinstance(declared, words.Action | words.Initial):
                require_answer(name, declared.function)
        for name, promise in part.of(words.LivenessProperty):
            for operand in map(words.function_of, promise.operands):
                require_parameters(name, operand, promise.over)
                require_answer(name, operand)

    def bind(self, part: Spec, function: Callable[..., Any]) -> Callable[..., Any]:
        """The author's method as a function of a view."""

        def run(view: Any, *arguments: Any) -> Any:
            outer = part.__dict__.get("view")
            part.__dict__["view"] = view
            try:
                return function(part, *arguments)
            finally:
                part.__dict__["view"] = outer

        run.__dict__["__wrapped__"] = function  # whoever names it wants the author's
        return run

    def product(self, part: Spec, over: Mapping[str, Any]) -> list[Arguments]:
        """Every combination of values of the parameters."""
        sets = [[(name, value) for value in words.elements(source, part)] for name, source in over.items()]
        return list(itertools.product(*sets))

    def _initial_states(self) -> None:
        states = [tuple(slot.default for slot in self.model.slots)]
        for part in self.parts:
            for name, declared in part.of(words.Initial):
                start = Instance(name, (), Routine(name, self.bind(part, declared.function)))
                states = [
                    apply(self.model, outcome.leaf, (), state)
                    for state in states
                    for outcome in steps(self.model, start, state)
                    if isinstance(outcome.leaf, tuple)
                ]
        if not states:
            raise SpecError(f"{self.model.name} has no initial state: its `initial` function requires the impossible")
        self.model.initial = list(dict.fromkeys(states))

    def _predicates(self, part: Spec) -> None:
        for name, declared in part.of(words.Predicate):
            arguments = self.product(part, declared.over)
            indices = self.model.add_predicates(name, self.bind(part, declared.function), arguments)
            refs = {
                tuple(value for _, value in each): DERIVED | index
                for each, index in zip(arguments, indices, strict=True)
            }
            single = {values[0]: ref for values, ref in refs.items() if len(values) == 1}
            part.layout["predicate", name] = self.model.add_family(name, single), refs

    def _actions(self, part: Spec) -> None:
        for name, declared in part.of(words.Action):
            arguments = self.product(part, declared.over)
            indices = self.model.add_actions(name, self.bind(part, declared.function), arguments)
            if not COPYING.isdisjoint(declared.function.__code__.co_names):
                self.model.copying.add(name)
            part.layout["action", name] = dict(
                zip([tuple(v for _, v in each) for each in arguments], indices, strict=True)
            )
            if declared.fair:
                for index in indices:
                    label = self.model.actions[index].label
                    self.model.fairness.append(Fairness(label, (index,), declared.fair == "strong"))

    def _enabledness(self, part: Spec) -> None:
        for name, declared in part.of(words.Action):
            arguments = self.product(part, declared.over)
            function = _can_be_taken(self.bind(part, declared.function))
            indices = self.model.add_predicates(f"enabled {name}", function, arguments)
            part.layout["enabled", name] = {
                tuple(v for _, v in each): DERIVED | index for each, index in zip(arguments, indices, strict=True)
            }

    def _bounds(self, part: Spec) -> None:
        for name, declared in part.of(words.Constraint):
            indices = self.model.add_predicates(name, self.bind(part, declared.function))
            self.model.constraints += indices
        for name, declared in part.of(words.Terminal):
            self.model.terminal += self.model.add_predicates(name, self.bind(part, declared.function))

    def _safety(self, part: Spec) -> None:
        for called, declared in part.of(words.SafetyProperty):
            name = declared.title or called
            if declared.kind == "always_step":
                cases: tuple[Case, ...] = (Case(steps=self._judges(part, name, declared)),)
            else:
                arguments = self.product(part, declared.over)
                parts = conjuncts(declared.function) if declared.kind == "always" else [declared.function]
                cases = tuple(case for each in parts for case in self._cases(part, declared, each, arguments))
            self.model.properties.append(Property(name, declared.kind, cases))

    def _cases(
        self, part: Spec, declared: words.SafetyProperty[Any], function: Callable[..., Any], arguments: list[Arguments]
    ) -> Iterator[Case]:
        judge = self.bind(part, function)
        if declared.kind == "always":
            judge = _where_it_applies(judge, self.model.applied, declared.title or declared.name)
        indices = self.model.add_predicates(declared.title or declared.name, judge, arguments)
        return (Case(each, (index,)) for each, index in zip(arguments, indices, strict=True))

    def _judges(self, part: Spec, name: str, declared: words.SafetyProperty[Any]) -> dict[int, int]:
        judges = {}
        for action in self.model.actions:
            is_named = not declared.actions or action.name in declared.actions
            if is_named and action.name not in declared.except_for:
                judge = self.bind(part, _judge(part, declared.function, action))
                function = _where_it_applies(judge, self.model.applied, name)
                (judges[action.index],) = self.model.add_predicates(f"{name} of {action.label}", function)
        require_judged(name, self.model.actions, judges)
        return judges

    def _refinements(self, part: Spec) -> None:
        for name, declared in part.of(words.Refinement):
            abstract = declared.abstract
            abstraction = Abstraction(abstract if isinstance(abstract, Spec) else abstract(part), declared.function)
            starts = self.model.add_predicates(f"{name} initially", self.bind(part, abstraction.starts))
            judges = {}
            for action in self.model.actions:
                function = self.bind(part, _judge(part, abstraction.permits, action))
                (judges[action.index],) = self.model.add_predicates(f"{name} of {action.label}", function)
            case = Case(operands=tuple(starts), steps=judges)
            abstract = None
            if abstraction.fairness:
                (shows,) = self.model.add_predicates(f"{name} as seen", self.bind(part, abstraction.show))
                abstract = FairAbstraction(abstraction, shows)
            self.model.properties.append(Property(name, "refines", (case,), abstract))

    def _liveness(self, part: Spec) -> None:
        for name, declared in part.of(words.LivenessProperty):
            arguments = self.product(part, declared.over)
            operands = [self._operand(part, f"{name} {n}", each, arguments) for n, each in enumerate(declared.operands)]
            henceforth = isinstance(declared.operands[0], words.Henceforth)
            cases = tuple(
                Case(each, tuple(operand[n] for operand in operands), henceforth) for n, each in enumerate(arguments)
            )
            self.model.properties.append(Property(declared.title or name, declared.kind, cases))

    def _operand(self, part: Spec, name: str, operand: Any, arguments: list[Arguments]) -> list[int]:
        if isinstance(operand, words.Declared):
            name = operand.name
        return self.model.add_predicates(name, self.bind(part, words.function_of(operand)), arguments)

    def _fairness(self, part: Spec) -> None:
        for name, declared in part.of(words.FairnessDeclaration):
            groups: dict[tuple[Any, ...], list[int]] = {}
            for each in declared.actions:
                action = each if isinstance(each, str) else each.name
                if not isinstance(part.declared.get(action), words.Action):
                    known = ", ".join(each for each, _ in part.of(words.Action))
                    raise SpecError(
                        f"{declared.line}: fairness {name}: {part.name} has no action {action!r}; it has: {known}"
                    )
                for index in part.layout.get(("action", action), {}).values():
                    arguments = dict(self.model.actions[index].arguments)
                    missing = [parameter for parameter in declared.per if parameter not in arguments]
                    if missing:
                        raise SpecError(
                            f"{declared.line}: fairness {name}: action {action} has no parameter {', '.join(missing)}, "
                            f"which `per` names; write another condition for it, as in `weak({action!r})`"
                        )
                    groups.setdefault(tuple(arguments[parameter] for parameter in declared.per), []).append(index)
            for values, indices in groups.items():
                label = f"{name}({', '.join(map(str, values))})" if values else name
                self.model.fairness.append(Fairness(label, tuple(indices), declared.strong))

    def _symmetry(self, part: Spec) -> None:
        for name, declared in part.of(words.SymmetryDeclaration):
            keys = words.elements(declared.over, part)
            slots = [
                self.model.families[part.layout[each][0]]
                for each, variable in part.of(words.MapVariable)
                if words.same_source(variable.keys, declared.over)
            ]
            columns = tuple(tuple(family.refs[key] for family in slots) for key in keys)
            self.model.symmetries.append(Symmetry(name, columns))


def _where_it_applies(function: Callable[..., Any], applied: set[str], name: str) -> Callable[..., bool]:
    """An invariant says nothing where its ``require`` fails; note that it said something where it did not fail."""

    def judge(view: Execution, *arguments: Any) -> bool:
        try:
            answer = bool(function(view, *arguments))
        except Disabled:
            return True
        applied.add(name)
        return answer

    judge.__dict__["__wrapped__"] = function
    return judge


def _can_be_taken(step: Callable[..., Any]) -> Callable[..., bool]:
    def enabled(view: Execution, *arguments: Any) -> bool:
        try:
            taken = step(view, *arguments) is not False
        except Disabled:
            return False
        view.writes.clear()
        return taken

    return enabled


def _judge(part: Spec, function: Callable[..., Any], action: Instance) -> Callable[..., Any]:
    def judge(before: Spec) -> Any:
        after = copy.copy(part)
        after.__dict__["view"] = AfterView(before.view)
        return function(before, Step(before, after, action.name, action.arguments))

    judge.__dict__["__wrapped__"] = function
    return judge
