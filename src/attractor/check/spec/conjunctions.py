"""Splitting a conjunction into its parts, so that each is remembered on its own.

``return self.a == 1 and self.b[0] != 2 and ...`` reads every slot it names, and would be executed once for each
combination of their values; its parts read one slot each. A part that fails with an error is judged by the whole, in
whose order an earlier part may have protected it. Functions whose source is not at hand stay whole.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

PROTECTED_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

Function = Callable[..., Any]


def conjuncts(function: Function) -> list[Function]:
    """The parts whose conjunction ``function`` is: itself, if it is not one ``return`` of a conjunction."""
    definition = _definition(function)
    if definition is None:
        return [function]
    body = definition.body[1:] if ast.get_docstring(definition) is not None else definition.body
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return [function]
    terms = list(_terms(body[0].value))
    if len(terms) < 2:
        return [function]
    made = [_function(function, definition, term) for term in terms]
    return [_protected(part, function) for part in made if part is not None] if all(made) else [function]


def _definition(function: Function) -> ast.FunctionDef | None:
    if not isinstance(function, FunctionType):
        return None
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    found = tree.body[0] if tree.body else None
    if not isinstance(found, ast.FunctionDef):
        return None
    ast.increment_lineno(found, first - 1)
    return found


def _terms(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.BoolOp) and isinstance(expression.op, ast.And):
        for each in expression.values:
            yield from _terms(each)
    else:
        yield expression


def _function(whole: FunctionType | Function, definition: ast.FunctionDef, term: ast.expr) -> FunctionType | None:
    """A function of the same parameters that returns ``term``, in the scope of ``whole``."""
    assert isinstance(whole, FunctionType)
    free = whole.__code__.co_freevars
    result = ast.copy_location(ast.Return(term), term)
    inner = ast.copy_location(ast.FunctionDef(definition.name, definition.args, [result], [], None), definition)
    names = [ast.arg(name) for name in free]
    arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    outer = ast.copy_location(ast.FunctionDef("scope", arguments, [inner], [], None), definition)
    module = ast.fix_missing_locations(ast.Module([outer], []))
    code = _code_named(_code_named(compile(module, whole.__code__.co_filename, "exec"), "scope"), definition.name)
    if code is None or not set(code.co_freevars) <= set(free):
        return None
    cells = dict(zip(free, whole.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    return FunctionType(code, whole.__globals__, whole.__name__, whole.__defaults__, closure)


def _code_named(code: CodeType | None, name: str) -> CodeType | None:
    constants = code.co_consts if code else ()
    return next((each for each in constants if isinstance(each, CodeType) and each.co_name == name), None)


def _protected(part: Function, whole: Function) -> Function:
    def judge(*arguments: Any) -> bool:
        try:
            return bool(part(*arguments))
        except PROTECTED_ERRORS:
            return bool(whole(*arguments))

    return judge
