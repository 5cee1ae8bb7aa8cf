"""The ``x-kubernetes-validations`` of a schema, compiled into a tree beside it, and run over objects.

A rule sees its node as ``self`` and, on an update, the old value as ``oldSelf``; a rule that uses ``oldSelf`` runs
only where an old value corresponds (unless ``optionalOldSelf``). A broken rule of an unchanged value is forgiven on
updates, a broken transition rule never. All rules of one object share one budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.cel.checker import CelCheckError
from attractor.cel.declaration import Declaration, declare
from attractor.cel.program import PER_CALL_LIMIT, CelProgram
from attractor.cel.types import BOOL, STRING, optional_of
from attractor.cel.values import NONE, CelError, CostExceeded, Optional
from attractor.objects.field import OMITTED, FieldError
from attractor.schema.correlation import Correlation, list_map_key
from attractor.schema.error_messages import NO_PATH

if TYPE_CHECKING:
    from attractor.schema.node import Schema

RUNTIME_BUDGET = 10_000_000
"""The units that all rules of one object may cost together, as in Kubernetes."""

MAX_MESSAGE_BYTES = 5 * 1024


@dataclass(slots=True)
class CompiledRule:
    """One rule: its program, or why there is none."""

    doc: dict[str, Any]
    program: CelProgram | None = None
    error: str | None = None
    message: CelProgram | None = None
    message_error: str | None = None
    is_transition: bool = False
    """Whether the rule compares with the old value."""

    @property
    def has_optional_old(self) -> bool:
        """Whether the rule also runs without an old value."""
        return bool(self.doc.get("optionalOldSelf"))

    @property
    def name(self) -> str:
        """How errors call the rule: by its message, or by its text."""
        return str(self.doc.get("message") or "").strip() or str(self.doc.get("rule") or "").strip()


def compile_rule(doc: dict[str, Any], declared: Declaration) -> CompiledRule:
    """A rule over a declared ``self``; what is wrong with it is kept, not raised."""
    compiled = CompiledRule(doc)
    text = str(doc.get("rule") or "")
    if not text.strip():
        return compiled
    old: Any = optional_of(declared.type) if compiled.has_optional_old else declared
    variables = {"self": declared, "oldSelf": old}
    try:
        program = CelProgram.compile(text, variables)
    except CelCheckError as error:
        compiled.error = f"compilation failed: {error}"
        return compiled
    if program.result != BOOL:
        compiled.error = "cel expression must evaluate to a bool"
        return compiled
    compiled.program, compiled.is_transition = program, program.uses("oldSelf")
    if wording := str(doc.get("messageExpression") or ""):
        try:
            compiled.message = CelProgram.compile(wording, variables)
        except CelCheckError as error:
            compiled.message_error = f"messageExpression compilation failed: {error}"
            return compiled
        if compiled.message.result != STRING:
            compiled.message, compiled.message_error = None, "messageExpression must evaluate to a string"
    return compiled


class Ratchet(NamedTuple):
    """Where an update stands: the correlation of this value, or of the nearest one above that has any."""

    current: Correlation | None = None
    nearest: Correlation | None = None

    @property
    def forgives(self) -> bool:
        """Whether errors of this value are forgiven because it did not change."""
        correlated = self.current if self.current is not None else self.nearest
        return correlated is not None and correlated.is_unchanged

    def key(self, name: str) -> Ratchet:
        """At a field."""
        if self.current is None:
            return self
        if self.nearest is None and name in {"apiVersion", "kind"}:
            return Ratchet()
        return Ratchet(self.current.key(name), self.current)

    def item(self, position: int) -> Ratchet:
        """At an item."""
        return self if self.current is None else Ratchet(self.current.index(position), self.current)


class _OutOfBudget(Exception):
    """No further rules run for this object."""


@dataclass(slots=True)
class _Run:
    """One validation: errors found, and budget left."""

    budget: float
    errors: list[FieldError] = field(default_factory=list)


class RuleTree:
    """The rules of a node and of what is below it."""

    def __init__(self, schema: Schema, declared: Declaration) -> None:
        self.schema = schema
        self.declared = declared
        self.rules = [compile_rule(doc, declared) for doc in schema.doc.get("x-kubernetes-validations") or ()]
        self.fields = {
            name: tree
            for name, child in schema.properties.items()
            if (tree := rule_tree(child, is_root=child.is_embedded_resource)) is not None
        }
        self.members = rule_tree(schema.additional, is_root=_embedded(schema.additional))
        self.items = rule_tree(schema.items, is_root=_embedded(schema.items))

    def validate(
        self, obj: Any, old: Any = None, correlation: Correlation | None = None, budget: float = RUNTIME_BUDGET
    ) -> list[FieldError]:
        """The broken rules of an object."""
        run = _Run(budget)
        try:
            self.visit(run, "", obj, old, Ratchet(correlation))
        except _OutOfBudget:
            return run.errors
        return run.errors

    def visit(self, run: _Run, path: str, obj: Any, old: Any, ratchet: Ratchet) -> None:
        """Run the rules of a value and of what is in it; stops the whole run when the budget is used up."""
        if obj is None:
            return
        if self.rules:
            self._evaluate(run, path, obj, old, ratchet)
        if type(obj) is dict:
            self._visit_map(run, path, obj, old, ratchet)
        elif type(obj) is list and self.items is not None:
            by_key = _by_key(self.schema, old)
            for index, item in enumerate(obj):
                before = by_key.get(list_map_key(self.schema, item)) if by_key else None
                self.items.visit(run, f"{path}[{index}]", item, before, ratchet.item(index))

    def _visit_map(self, run: _Run, path: str, obj: dict[str, Any], old: Any, ratchet: Ratchet) -> None:
        before = old if type(old) is dict and self.schema.map_type != "atomic" else {}
        for name, value in obj.items():
            if (tree := self.fields.get(name)) is not None:
                tree.visit(run, f"{path}.{name}" if path else name, value, before.get(name), ratchet.key(name))
            elif self.members is not None:
                self.members.visit(run, f"{path}[{name}]", value, before.get(name), ratchet.key(name))

    def _evaluate(self, run: _Run, path: str, obj: Any, old: Any, ratchet: Ratchet) -> None:
        shown = OMITTED if isinstance(obj, dict | list) else obj
        at, typed = path or NO_PATH, self.schema.type or ""  # a rule that could not be run is told with the type
        if run.budget <= 0:
            _stop(run, at, typed, "validation failed due to running out of cost budget")
        this, before = self.declared.value(obj), self.declared.value(old)
        for rule in self.rules:
            if rule.error is not None:
                run.errors.append(FieldError.invalid(at, typed, f"rule compile error: {rule.error}"))
                continue
            if rule.program is None or (rule.is_transition and old is None and not rule.has_optional_old):
                continue
            bindings = {"self": this, "oldSelf": before}
            if rule.has_optional_old:
                bindings["oldSelf"] = NONE if old is None else Optional(True, before)
            if self._holds(run, rule, bindings, at, typed):
                continue
            detail = _message(run, rule, bindings, at, typed)
            if rule.is_transition or not ratchet.forgives:
                run.errors.append(_error(rule, path, shown, detail))

    def _holds(self, run: _Run, rule: CompiledRule, bindings: dict[str, Any], at: str, shown: Any) -> bool:
        """Whether a rule holds; a rule without a value is an error of its own, and counts as told."""
        assert rule.program is not None, "only compiled rules run"
        try:
            value, cost = rule.program.evaluate_counting(bindings, PER_CALL_LIMIT)
        except CostExceeded as error:
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            detail = f"'{error}': {why}: {rule.name}"
            run.errors.append(FieldError.invalid(at, shown, detail))
            raise _OutOfBudget from None
        except CelError as error:
            _spend(run, error.cost, at, shown)
            detail = f"{error} evaluating rule: {rule.name}"
            if str(error).startswith("no such overload"):
                detail = (
                    f"'{error}': call arguments did not match a supported operator, function or macro signature "
                    f"for rule: {rule.name}"
                )
            run.errors.append(FieldError.invalid(at, shown, detail))
            return True
        _spend(run, cost, at, shown)
        return value is True


def rule_tree(schema: Schema | None, *, is_root: bool = False) -> RuleTree | None:
    """The tree of a node; None when no rule is in it, or rules cannot see it."""
    if schema is None or not has_rules(schema):
        return None
    declared = declare(schema, is_root=is_root)
    return RuleTree(schema, declared) if declared is not None else None


def has_rules(schema: Schema | None) -> bool:
    """Whether a node or anything below it has rules."""
    if schema is None:
        return False
    inner = (*schema.properties.values(), schema.additional, schema.items)
    return bool(schema.doc.get("x-kubernetes-validations")) or any(has_rules(child) for child in inner)


def _embedded(schema: Schema | None) -> bool:
    return schema is not None and schema.is_embedded_resource


def _by_key(schema: Schema, old: Any) -> dict[bytes | None, Any]:
    """Old items of a map list by key; items of other lists do not correspond."""
    if schema.list_type != "map" or type(old) is not list:
        return {}
    found = {list_map_key(schema, item): item for item in reversed(old)}
    found.pop(None, None)
    return found


def _stop(run: _Run, at: str, shown: Any, why: str) -> None:
    run.errors.append(FieldError.invalid(at, shown, f"{why}, no further validation rules will be run"))
    raise _OutOfBudget


def _spend(run: _Run, cost: float, at: str, shown: Any) -> None:
    if cost > run.budget:
        _stop(run, at, shown, "validation failed due to running out of cost budget")
    run.budget -= cost


def _message(run: _Run, rule: CompiledRule, bindings: dict[str, Any], at: str, shown: Any) -> str:
    """What a broken rule says: its messageExpression when that has a usable value, or else its message."""
    if rule.message is not None:
        try:
            text, cost = rule.message.evaluate_counting(bindings, PER_CALL_LIMIT)
            if cost > run.budget:
                _stop(run, at, shown, "messageExpression evaluation failed due to running out of cost budget")
            run.budget -= cost
            told = str(text).strip()
            if told and "\n" not in told and len(told.encode()) <= MAX_MESSAGE_BYTES:
                return told
        except CostExceeded:
            detail = (
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
                f'"{rule.doc["messageExpression"]}"'
            )
            run.errors.append(FieldError.invalid(at, shown, detail))
            raise _OutOfBudget from None
        except CelError as error:
            run.budget -= error.cost
    said = str(rule.doc.get("message") or "").strip()
    return said or f"failed rule: {str(rule.doc.get('rule') or '').strip()}"


def _error(rule: CompiledRule, path: str, shown: Any, detail: str) -> FieldError:
    below = str(rule.doc.get("fieldPath") or "").strip().removeprefix(".").replace("['", "[").replace("']", "]")
    at = f"{path}.{below}" if path and below else below or path or NO_PATH
    match rule.doc.get("reason"):
        case "FieldValueForbidden":
            return FieldError.forbidden(at, detail)
        case "FieldValueRequired":
            return FieldError.required(at, detail)
        case "FieldValueDuplicate":
            return FieldError.duplicate(at, shown)
        case _:
            return FieldError.invalid(at, shown, detail)
