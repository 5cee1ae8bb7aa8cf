"""Lint warnings for mistakes in a reconcile, given whether or not a property notices them.

A reconcile that fails at once by a slip of the pen writes nothing, so the world quiesces, and that *holds*.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from attractor.check.errors import is_authors
from attractor.objects.errors import BadRequest, Invalid
from attractor.runtime.context import Context
from attractor.runtime.worker.outcome import is_panic

if TYPE_CHECKING:
    from collections.abc import Iterator


REFUSED = "refused"
"""What a server says that refuses by a fault."""


def slip(controller: str, error: Exception) -> str | None:
    """The words for an error that ended a reconcile; None for one that a right program may end with."""
    if isinstance(error, Invalid | BadRequest) and error.message != REFUSED:
        return f"controller {controller} asks for what the server refuses, and ends{_at(error)}: {error.message}"
    if is_panic(error):
        return f"controller {controller} fails by a mistake in its program{_at(error)}: {type(error).__name__}: {error}"
    return None


def _at(error: BaseException) -> str:
    """The author's line from which it came."""
    line, trace = "", error.__traceback__
    while trace is not None:
        if is_authors(trace.tb_frame.f_code.co_filename):
            line = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def unawaited(reconcile: Any) -> Iterator[str]:
    """The words for each effect that a reconcile, or a method beside it, asks for and drops, as its source shows."""
    owner = getattr(reconcile, "__self__", None)
    functions = [inspect.unwrap(reconcile)]
    if owner is not None:
        functions = [each for base in type(owner).__mro__ for each in vars(base).values()]
    for function in functions:
        if isinstance(function, FunctionType) and is_authors(function.__code__.co_filename):
            yield from _dropped(function)


@cache
def _dropped(function: FunctionType) -> tuple[str, ...]:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return ()
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name("ctx"), name))) if name in _EFFECTS:
                line = f"{function.__code__.co_filename}:{first + node.lineno - 1}"
                found.append(f"{line}: `ctx.{name}(...)` is not awaited, so it does nothing; write `await` before it")
    return tuple(found)


_EFFECTS = frozenset(
    name
    for name, method in vars(Context).items()
    if isinstance(method, FunctionType) and not name.startswith("_") and name != "external"
)
