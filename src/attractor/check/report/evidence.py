"""Why a claim of a world, or any predicate, is false: the part of its expression that is, with the values in it.

The predicate is run once more; where it returns, the returned expression is taken apart: the conjunct that is false,
both sides of a comparison with what differs, the element for which ``all(...)`` fails. What cannot be taken apart is
shown as it is written, with the values of its names. Nothing here decides anything: it only explains.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from attractor.check.trace import plain
from attractor.check.world.api.properties import StepClaim, actor_of
from attractor.check.world.simulation.walk import look_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import CodeType, FrameType

    from attractor.check.engine.model import State
    from attractor.check.trace import Trace
    from attractor.check.world.api.properties import Claim
    from attractor.check.world.simulation.model import Universe

MOST_LINES = 12
WIDTH = 160


def blame(universe: Universe, trace: Trace, states: Sequence[State]) -> tuple[str, ...]:
    """Why the claim that a trace breaks is false where it is; nothing where that cannot be said."""
    claim = next((each for each in universe.world.claims if each.name == trace.claim), None)
    if claim is None or (not isinstance(claim, StepClaim) and claim.word == "settles"):
        return ()
    if isinstance(claim, StepClaim):
        return _of_step(universe, claim, trace, states)
    return _of_state(universe, claim, trace, states)


def _of_step(universe: Universe, claim: StepClaim, trace: Trace, states: Sequence[State]) -> tuple[str, ...]:
    before, after = (look_at(universe, state) for state in states[-2:])
    last = trace.steps[-1]
    actor: tuple[Any, ...] = (actor_of(last.action, last.arguments),) if claim.tells_actor else ()
    found = why_false(claim.holds, before, after, *actor)
    return (f"In step {len(trace)}:", *found) if found else ()


def _of_state(universe: Universe, claim: Claim, trace: Trace, states: Sequence[State]) -> tuple[str, ...]:
    """In the last state; for what must come true in the end, in one to which the run comes back."""
    first = len(states) - 1 if trace.loop is None else trace.loop
    for number in range(len(states) - 1, first - 1, -1):
        for predicate in claim.predicates:
            found = why_false(predicate, look_at(universe, states[number]))
            if found:
                where = f"After step {number}" if number else "In the initial state"
                return (f"{where}{_how_long(trace)}:", *found)
    return ()


def _how_long(trace: Trace) -> str:
    if trace.loop is None:
        return ""
    return ", and for ever" if trace.loop == len(trace) else ", again and again"


def why_false(predicate: Callable[..., Any], *arguments: Any) -> list[str]:
    """Lines that say why ``predicate`` is false of these arguments; empty if it is true, or its source is not there."""
    predicate = inspect.unwrap(predicate)
    code = getattr(predicate, "__code__", None)
    if code is None:
        return []
    try:
        answer, frame = _watched(predicate, code, arguments)
    except Exception as problem:  # it is an author's code; its own error says more
        return [f"it raises {type(problem).__name__}: {problem}"]
    if answer or frame is None:
        return []
    line, scope = frame
    expression = _returned(code, line)
    if expression is None:
        return [f"it returns {_short(answer)}"]
    return [each[:WIDTH] for each in _Explainer(scope).why(expression)][:MOST_LINES]


def _watched(
    predicate: Callable[..., Any], code: CodeType, arguments: tuple[Any, ...]
) -> tuple[Any, tuple[int, dict[str, Any]] | None]:
    """What a predicate answers, and the line and names from which it returned."""
    found: list[tuple[int, dict[str, Any]]] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is code:
            found[:] = [(frame.f_lineno, {**frame.f_globals, **frame.f_locals})]

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        answer = predicate(*arguments)
    finally:
        sys.setprofile(before)
    return answer, found[0] if found else None


def _returned(code: CodeType, line: int) -> ast.expr | None:
    """The expression that the code returns at a line; None where its source cannot be read."""
    try:
        lines, first = inspect.getsourcelines(code)
        tree = _parsed(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    first = max(first, 1)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Return | ast.Lambda)]
    inside = []
    for node in nodes:
        value = node.value if isinstance(node, ast.Return) else node.body
        if value is not None and first + node.lineno - 1 <= line <= first + (node.end_lineno or node.lineno) - 1:
            inside.append((isinstance(node, ast.Return) == (code.co_name != "<lambda>"), value))
    fitting = [value for is_fitting, value in inside if is_fitting]
    return fitting[0] if len(fitting) == 1 or (fitting and code.co_name != "<lambda>") else None


def _parsed(source: str) -> ast.AST:
    """The source of a function, or of a lambda in the middle of a statement."""
    try:
        return ast.parse(source)
    except SyntaxError:
        start = source.index("lambda") if "lambda" in source else 0
        for end in range(len(source), start, -1):
            try:
                return ast.parse(source[start:end], mode="eval")
            except SyntaxError:
                continue
        raise


class _Explainer:
    def __init__(self, scope: Mapping[str, Any]) -> None:
        self._scope = dict(scope)

    def value(self, node: ast.expr) -> Any:
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "<claim>", "eval")
        return eval(code, self._scope)  # noqa: S307 - a part of the author's own predicate, which was run just before

    def why(self, node: ast.expr) -> Iterator[str]:
        """Why an expression is false."""
        try:
            yield from self._why(node)
        except Exception:  # what cannot be taken apart is shown as it is written
            yield f"false: {ast.unparse(node)}"

    def _why(self, node: ast.expr) -> Iterator[str]:
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                yield from self.why(next(each for each in values if not self.value(each)))
            case ast.BoolOp(op=ast.Or(), values=values):
                for each in values:
                    yield from self.why(each)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield f"false: {ast.unparse(node)}"
                yield f"  {ast.unparse(operand)} = {_short(self.value(operand))}"
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                yield from self._comparison(node, left, ops, comparators)
            case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp() | ast.ListComp() | ast.SetComp() as each]):
                yield from self._first_failing(each)
            case ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp() | ast.ListComp() | ast.SetComp() as each]):
                found = list(self.value(ast.ListComp(each.elt, each.generators)))
                yield f"false: {ast.unparse(node)}: true of none of {len(found)}"
            case ast.Call(func=ast.Name(id="bool"), args=[inner]):
                yield from self.why(inner)
            case ast.Call(func=function, args=args) if self._is_authors(function) and not node.keywords:
                reasons = why_false(self.value(function), *(self.value(each) for each in args))
                yield f"false: {ast.unparse(node)}"
                yield from (f"  {line}" for line in reasons)
            case _:
                yield f"false: {ast.unparse(node)} = {_short(self.value(node))}"
                yield from () if isinstance(node, ast.Name) else self._names(node)

    def _is_authors(self, function: ast.expr) -> bool:
        return inspect.isfunction(self.value(function))

    def _comparison(
        self, node: ast.expr, left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr]
    ) -> Iterator[str]:
        yield f"false: {ast.unparse(node)}"
        for op, right in zip(ops, comparators, strict=True):
            if not self.value(ast.Compare(left, [op], [right])):
                one, other = self.value(left), self.value(right)
                differences = list(_differences(one, other)) if isinstance(op, ast.Eq) else []
                for side, value in ((left, one), (right, other)):
                    if not isinstance(side, ast.Constant) and not (differences and _short(value).endswith("…")):
                        yield f"  {ast.unparse(side)} = {_short(value)}"
                yield from (f"  {line}" for line in differences)
                return
            left = right

    def _first_failing(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> Iterator[str]:
        names = sorted(
            {each.id for one in node.generators for each in ast.walk(one.target) if isinstance(each, ast.Name)}
        )
        bound = ast.Dict([ast.Constant(name) for name in names], [ast.Name(name, ast.Load()) for name in names])
        for scope in self.value(ast.ListComp(bound, node.generators)):
            inner = _Explainer({**self._scope, **scope})
            if not inner.value(node.elt):
                said = ", ".join(f"{name} = {_short(value)}" for name, value in scope.items())
                yield f"for {said}:"
                yield from (f"  {line}" for line in inner.why(node.elt))
                return

    def _names(self, node: ast.expr) -> Iterator[str]:
        for name in dict.fromkeys(each.id for each in ast.walk(node) if isinstance(each, ast.Name)):
            value = self._scope.get(name)
            is_opaque = getattr(type(value), "__repr__", None) is object.__repr__  # it says only where in memory it is
            if value is not None and not is_opaque and not callable(value) and not inspect.ismodule(value):
                yield f"  {name} = {_short(value)}"


def _differences(one: Any, other: Any) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            left, right = one.get(key, _ABSENT), other.get(key, _ABSENT)
            if left is _ABSENT or right is _ABSENT or left != right:
                yield f"{_short(key)}: {_short(left)} on the left, {_short(right)} on the right"
    elif isinstance(one, set | frozenset) and isinstance(other, set | frozenset):
        for each in sorted(one - other, key=repr):
            yield f"{_short(each)}: only on the left"
        for each in sorted(other - one, key=repr):
            yield f"{_short(each)}: only on the right"


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


def _short(value: Any) -> str:
    """A value in few words: an object of the API server by its kind, name, spec and status."""
    key = getattr(value, "key", None)
    if hasattr(type(value), "resource_info") and key is not None:
        shown = value.to_dict()
        rest = {name: shown[name] for name in shown if name not in {"kind", "apiVersion", "metadata"} and shown[name]}
        text = f"{type(value).__name__} {key}" + (f" {rest}" if rest else "")
    elif isinstance(value, list) and value and hasattr(type(value[0]), "resource_info"):
        text = "[" + ", ".join(_short(each) for each in value) + "]"
    elif isinstance(value, tuple) and type(value).__name__ == "Key":
        text = str(value)
    else:
        text = repr(value)
        if len(text) > WIDTH:
            text = repr(plain(value))
    return text if len(text) <= WIDTH // 2 else f"{text[: WIDTH // 2 - 1]}…"
