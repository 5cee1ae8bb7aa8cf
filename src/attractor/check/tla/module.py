"""The whole module and its configurations, from a specification."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attractor.check.spec import declarations as words
from attractor.check.spec.spec import Composition, Spec
from attractor.check.tla.calls import comment_of
from attractor.check.tla.context import Context, camel
from attractor.check.tla.expressions import Expressions
from attractor.check.tla.formula import AND, OR, SOME, Node, Text, behind, conjunction, definition
from attractor.check.tla.shapes import literal, of_parameter
from attractor.check.tla.source import OutsideSubset, Source
from attractor.check.tla.steps import Steps
from attractor.check.tla.terms import Myself, Scope, Term, ThisStep

if TYPE_CHECKING:
    from collections.abc import Callable

_EVER = {"eventually": "<>", "always_eventually": "[]<>", "eventually_always": "<>[]"}


@dataclass(frozen=True)
class Export:
    """A module and what TLC needs beside it: ``files`` by name. ``left_out`` says which properties, and why."""

    name: str
    module: str
    safety: str
    liveness: str | None
    left_out: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, str]:
        """What to write: the module, a configuration for safety, one for liveness if there is any."""
        written = {f"{self.name}.tla": self.module, f"{self.name}.cfg": self.safety}
        if self.liveness:
            written[f"{self.name}Liveness.cfg"] = self.liveness
        return written


@dataclass
class Parts:
    """The translated parts of a specification, in the order of the TLA+ module."""

    actions: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)
    invariants: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)
    promises: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    fairness: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def export(spec: Spec | Composition) -> Export:
    """Translate ``spec``; OutsideSubset names every line of its actions that has no translation."""
    if isinstance(spec, Composition):
        raise OutsideSubset(f"{spec.name}: a composition has no translation; export its parts")
    return Exporter(spec).export()


class Exporter:
    """One export."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.context = Context(spec)
        self.parts = Parts()
        self._problems: list[str] = []

    def export(self) -> Export:
        """Translate everything; actions first, because properties may speak of them."""
        init = self._attempt(self._initial)
        for name, declared in self.spec.of(words.Action):
            self.context.operators["action", name] = self.context.claim(camel(name))
            self._attempt(lambda name=name, declared=declared: self._action(name, declared))  # type: ignore[misc]
        for name, declared in self.spec.of(words.Constraint):
            self._attempt(lambda name=name, declared=declared: self._constraint(name, declared))  # type: ignore[misc]
        self._attempt(self._terminal)
        if self._problems:
            listed = "".join(f"\n  {each}" for each in dict.fromkeys(self._problems))
            raise OutsideSubset(f"{self.spec.name} uses what has no translation to TLA+:{listed}")
        self._freeze_switches()
        self._next()
        self._fairness()
        self._properties()
        return self._assembled(init or [])

    def _attempt(self, part: Callable[[], Any]) -> Any:
        try:
            return part()
        except OutsideSubset as problem:
            self._problems.append(str(problem))

    def _freeze_switches(self) -> None:
        for each in type(self.spec).declared.values():
            when = getattr(each, "when", True)
            if isinstance(when, words.Constant):
                self.context.frozen.add(when.name)
            elif callable(when):
                self.context.frozen.update(self.context.constants)

    # The system

    def _parameters(self, declared: Any, source: Source, scope: Scope) -> tuple[Scope, tuple[tuple[str, str], ...]]:
        """Bind a declaration's parameters: the scope inside, and (identifier, set) for each."""
        bound = []
        myself, *names = source.parameters
        scope = scope.with_name(myself, Term("", value=Myself()))
        for name in names:
            if name not in declared.over:
                raise source.outside(source.node, f"the parameter `{name}` ranges over no declared set")
            options, shape = self.context.finite_set(declared.over[name])
            annotated = of_parameter(source.function, name)
            identifier = self.context.fresh(name, scope.bound)
            term = Term(identifier, annotated if annotated.kind != "any" else shape)
            scope = scope.binding(identifier).with_name(name, term)
            bound.append((identifier, options))
        return scope, tuple(bound)

    def _initial(self) -> list[str]:
        state = {name: self.context.initial_term(name) for name in self.context.variables}

        def finished(scope: Scope, _: Term | None = None) -> list[Node]:
            return [Text(f"{name} = {term.text}") for name, term in scope.state.items()]

        rest = [declared.function for _, declared in self.spec.of(words.Initial)]

        def go_on(scope: Scope, _: Term | None = None) -> list[Node]:
            if not rest:
                return finished(scope)
            source = Source(rest.pop(0))
            names = {source.parameters[0]: Term("", value=Myself())}
            return Steps(self.context, source).block(source.body, Scope(names, scope.state, scope.bound), go_on, go_on)

        return definition("Init", (), conjunction(go_on(Scope({}, state))))

    def _action(self, name: str, declared: Any) -> None:
        source = Source(declared.function)
        scope, bound = self._parameters(declared, source, self.context.here())
        steps = Steps(self.context, source)
        body = steps.block(source.body, scope, self._finished, self._finished)
        operator = self.context.operators["action", name]
        identifiers = [identifier for identifier, _ in bound]
        lines = definition(operator, identifiers, conjunction(body), comment_of(declared.function))
        self.context.definitions.append(lines)
        self.parts.actions.append((operator, bound))

    def _finished(self, scope: Scope, result: Term | None = None) -> list[Node]:
        guard: list[Node] = []
        if result is not None and result.is_known and result.value is False:
            return [Text("FALSE")]
        if result is not None and not result.is_known and result.shape.kind == "any":
            raise OutsideSubset(
                f"{self.spec.name}: an action returns `{result.text}`, which may be False; return nothing"
            )
        if result is not None and not result.is_known and result.shape.kind == "bool":
            guard = [Text(result.text)]
        changes = {name: term for name, term in scope.state.items() if term.text != name}
        same = [name for name in scope.state if name not in changes]
        items: list[Node] = [*guard, *(Text(f"{name}' = {term.text}") for name, term in changes.items())]
        if not changes:
            items.append(Text("UNCHANGED vars"))
        elif same:
            items.append(Text(f"UNCHANGED <<{', '.join(same)}>>" if len(same) > 1 else f"UNCHANGED {same[0]}"))
        return items

    def _constraint(self, name: str, declared: Any) -> None:
        operator = self._state_formula(name, declared, guard="/\\")
        self.parts.constraints.append(operator)

    def _terminal(self) -> None:
        for name, declared in self.spec.of(words.Terminal):
            operator = self._state_formula(name, declared, guard="/\\")
            step = self.context.claim(f"StopAt{operator}")
            self.context.definitions.append(
                definition(step, (), conjunction([Text(operator), Text("UNCHANGED vars")]), "It is right to stop here.")
            )
            self.parts.actions.append((step, ()))

    def _next(self) -> None:
        groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for operator, bound in self.parts.actions:
            called = f"{operator}({', '.join(identifier for identifier, _ in bound)})" if bound else operator
            groups.setdefault(bound, []).append(called)
        lines = []
        for bound, calls in groups.items():
            if not bound:
                lines += [f"\\/ {each}" for each in calls]
                continue
            ranges = ", ".join(f"{identifier} \\in {options}" for identifier, options in bound)
            lines += behind("\\/ ", [f"\\E {ranges} :", *(f"  \\/ {each}" for each in calls)])
        self.context.definitions.append(["Next ==", *("  " + line for line in lines)])

    # Fairness

    def _fairness(self) -> None:
        for name, declared in self.spec.of(words.Action):
            if declared.fair:
                self._fair(declared.fair == "strong", [(name, declared)], tuple(declared.over))
        for _, declared in self.spec.of(words.FairnessDeclaration):
            actions = []
            for each in declared.actions:
                name = each if isinstance(each, str) else each.name
                found = dict(self.spec.of(words.Action)).get(name)
                if found is not None:
                    actions.append((name, found))
            if actions:
                self._fair(declared.strong, actions, declared.per)

    def _fair(self, strong: bool, actions: list[tuple[str, Any]], per: tuple[str, ...]) -> None:
        first = actions[0][1]
        outer = {name: self.context.fresh(name) for name in per}
        calls = []
        for name, declared in actions:
            operator = self.context.operators["action", name]
            inner = {
                each: self.context.fresh(each, frozenset(outer.values())) for each in declared.over if each not in per
            }
            source = Source(declared.function)
            given = ", ".join({**outer, **inner}[each] for each in source.parameters[1:])
            call = f"{operator}({given})" if given else operator
            if inner:
                ranges = ", ".join(f"{i} \\in {self.context.finite_set(declared.over[n])[0]}" for n, i in inner.items())
                call = f"(\\E {ranges} : {call})"
            calls.append(call)
        formula = f"{'SF' if strong else 'WF'}_vars({OR.join(calls)})"
        if outer:
            ranges = ", ".join(f"{i} \\in {self.context.finite_set(first.over[n])[0]}" for n, i in outer.items())
            formula = f"\\A {ranges} : {formula}"
        self.parts.fairness.append(formula)

    # Properties

    def _properties(self) -> None:
        for name, declared in self.spec.of(words.Named):
            if isinstance(declared, words.SafetyProperty | words.LivenessProperty | words.Refinement):
                try:
                    with self.context.undone_on_refusal():
                        self._property(name, declared)
                except OutsideSubset as problem:
                    self.parts.left_out.append(f"{name}: {problem}")

    def _property(self, name: str, declared: Any) -> None:
        if isinstance(declared, words.Refinement):
            raise OutsideSubset("a refinement has no translation; export the abstract specification and use INSTANCE")
        if isinstance(declared, words.LivenessProperty):
            self._promise(name, declared)
        elif declared.kind == "always":
            self.parts.invariants.append(self._state_formula(name, declared, guard="=>"))
        elif declared.kind == "sometimes":
            operator = self._state_formula(name, declared, guard="/\\", quantifier="\\E")
            self.context.definitions[-1].insert(0, f"\\* TLC shows a run to it if INVARIANT Never{operator} is added.")
            self.context.definitions.append([f"{self.context.claim(f'Never{operator}')} == ~{operator}"])
        else:
            self._step_formula(name, declared)

    def _state_formula(self, name: str, declared: Any, *, guard: str, quantifier: str = "\\A") -> str:
        source = Source(declared.function)
        scope, bound = self._parameters(declared, source, self.context.here())
        body = Expressions(self.context, source).result(source.body, scope, guard=guard)
        operator = self.context.claim(camel(name))
        parts = body.parts if body.operator == "/\\" and not bound else ()
        node = conjunction([Text(each) for each in parts]) if parts else Text(_ranged(quantifier, bound, body.text))
        self.context.definitions.append(definition(operator, (), node, comment_of(declared.function)))
        return operator

    def _step_formula(self, name: str, declared: Any) -> None:
        source = Source(declared.function)
        myself, step = source.parameters
        scope = (
            self.context.here().with_name(myself, Term("", value=Myself())).with_name(step, Term("", value=ThisStep()))
        )
        body = Expressions(self.context, source).result(source.body, scope, guard="=>")
        text = body.inner
        if declared.actions:
            steps = []
            for operator, bound in self.parts.actions:
                if operator in {self.context.operators.get(("action", each)) for each in declared.actions}:
                    given = f"({', '.join(i for i, _ in bound)})" if bound else ""
                    steps.append(f"({_ranged(SOME, bound, operator + given)})")
            text = f"({OR.join(steps)}) => {text}"
        operator = self.context.claim(camel(name))
        lines = definition(operator, (), Text(f"[][{text}]_vars"), comment_of(declared.function))
        self.context.definitions.append(lines)
        self.parts.properties.append(operator)

    def _promise(self, name: str, declared: words.LivenessProperty) -> None:
        if declared.kind == "until":
            raise OutsideSubset("TLA+ has no `until`")
        scope = self.context.here()
        bound = []
        terms: dict[str, Term] = {}
        for parameter, over in declared.over.items():
            options, shape = self.context.finite_set(over)
            identifier = self.context.fresh(parameter, scope.bound)
            scope = scope.binding(identifier)
            terms[parameter] = Term(identifier, shape)
            bound.append((identifier, options))
        operands = [self._operand(each, scope, terms) for each in declared.operands]
        if declared.kind == "leads_to":
            text = f"{operands[0]} ~> {operands[1]}"
        else:
            text = f"{_EVER[declared.kind]}{operands[0]}"
        operator = self.context.claim(camel(name))
        self.context.definitions.append(definition(operator, (), Text(_ranged("\\A", tuple(bound), text))))
        self.parts.promises.append(operator)

    def _operand(self, operand: Any, scope: Scope, terms: dict[str, Term]) -> str:
        if isinstance(operand, words.Henceforth):
            return f"([]{self._operand(operand.predicate, scope, terms)})"
        source = Source(operand.function if isinstance(operand, words.Declared) else operand)
        myself, *names = source.parameters
        inner = scope.with_name(myself, Term("", value=Myself()))
        for name in names:
            if name not in terms:
                raise source.outside(source.node, f"the parameter `{name}` ranges over no declared set")
            inner = inner.with_name(name, terms[name])
        translator = Expressions(self.context, source)
        if isinstance(operand, words.Predicate):
            call = ast.parse(f"{myself}.{operand.name}({', '.join(names)})", mode="eval").body
            return f"({translator.truth(call, inner).text})" if names else translator.truth(call, inner).inner
        result = translator.result(source.body, inner, guard="/\\")
        return f"({result.text})"

    # The files

    def _assembled(self, init: list[str]) -> Export:
        context, parts, name = self.context, self.parts, self.spec.name
        sets = [f"{operator} == 0 .. ({each} - 1)" for each, operator in context.sets.items()]
        body = "\n\n".join("\n".join(each) for each in [sets, init, *context.definitions] if each)
        uses_null = "NULL" in body
        symbolic = [
            each
            for each in context.constants
            if each in context.used - context.frozen and isinstance(self.spec.constants[each], int | str)
        ]
        fixed = [each for each in context.constants if each in context.used and each not in symbolic]
        title = f" MODULE {name} "
        lines = [
            title.center(78, "-"),
            f"(* {comment_of(type(self.spec)).replace('``', '`').replace('*)', '* )')}".rstrip(),
            f"   Exported from {type(self.spec).__module__}:{name} by `attractor tla export`. *)",
            "EXTENDS Integers, Sequences, FiniteSets, TLC",
            "",
        ]
        declared = [*(["NULL"] if uses_null else []), *symbolic]
        if declared:
            lines += [f"CONSTANT{'S' if len(declared) > 1 else ''} {', '.join(declared)}"]
        lines += [f"VARIABLES {', '.join(context.variables)}", f"vars == <<{', '.join(context.variables)}>>", ""]
        lines += [f"{each} == {literal(self.spec.constants[each])}" for each in fixed]
        lines += [*([""] if fixed else []), body, "", "Safe == Init /\\ [][Next]_vars"]
        if parts.fairness:
            lines += ["", "Fairness ==", *(f"  /\\ {each}" for each in parts.fairness), ""]
        fair = f"{AND}Fairness" if parts.fairness else ""
        lines += [f"Spec == Safe{fair}"]
        lines += [f"\\* Left out: {each}" for each in parts.left_out]
        lines += ["=" * 78, ""]
        values = [f"  {each} = {literal(self.spec.constants[each])}" for each in symbolic]
        constants = [*(["  NULL = NULL"] if uses_null else []), *values]
        return Export(
            name,
            "\n".join(lines),
            _configuration("Safe", constants, parts, parts.properties),
            _configuration("Spec", constants, parts, parts.promises) if parts.promises else None,
            tuple(parts.left_out),
        )


def _ranged(quantifier: str, bound: tuple[tuple[str, str], ...], text: str) -> str:
    if not bound:
        return text
    ranges = ", ".join(f"{identifier} \\in {options}" for identifier, options in bound)
    return f"{quantifier} {ranges} : {text}"


def _configuration(specification: str, constants: list[str], parts: Parts, properties: list[str]) -> str:
    lines = [f"SPECIFICATION {specification}"]
    sections = {
        "CONSTANTS": constants,
        "CONSTRAINTS": [f"  {each}" for each in parts.constraints],
        "INVARIANTS": [f"  {each}" for each in parts.invariants] if specification == "Safe" else [],
        "PROPERTIES": [f"  {each}" for each in properties],
    }
    for title, entries in sections.items():
        if entries:
            lines += [title, *entries]
    return "\n".join([*lines, "CHECK_DEADLOCK TRUE" if specification == "Safe" else "CHECK_DEADLOCK FALSE", ""])
