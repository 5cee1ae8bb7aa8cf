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


def remarks(reconcile: Any, *, has_clock: bool = True) -> Iterator[str]:
    """The words for what the source of a reconcile, or of a method beside it, shows to be a mistake.

    Effects that are asked for and dropped; versions that are compared by size; and without a clock the age of objects,
    which are all of one instant.
    """
    owner = getattr(reconcile, "__self__", None)
    functions = [inspect.unwrap(reconcile)]
    if owner is not None:
        functions = [each for base in type(owner).__mro__ for each in vars(base).values()]
    for function in functions:
        if isinstance(function, FunctionType) and is_authors(function.__code__.co_filename):
            yield from (text for text, is_of_time in _found(function) if not (has_clock and is_of_time))


@cache
def _found(function: FunctionType) -> tuple[tuple[str, bool], ...]:
    """What is found in a function, and whether it matters only where time stands still."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return ()
    found = []
    asks_for_time = any(isinstance(node, ast.Attribute) and node.attr == "now" for node in ast.walk(tree))
    for node in ast.walk(tree):
        line = f"{function.__code__.co_filename}:{first + getattr(node, 'lineno', 1) - 1}"
        match node:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name("ctx"), name))) if name in _EFFECTS:
                text = f"`ctx.{name}(...)` is not awaited, so it does nothing; write `await` before it"
                found.append((f"{line}: {text}", False))
            case ast.Call(ast.Name("int"), [value]) if _is_version(value):
                found.append((f"{line}: {_OPAQUE}", False))
            case ast.Compare(left, [ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], [right]) if any(
                map(_is_version, (left, right))
            ):
                found.append((f"{line}: {_OPAQUE}", False))
            case ast.Attribute(attr="creation_timestamp") if not asks_for_time:  # which is told anyway
                found.append((f"{line}: {_AGE}", True))
    return tuple(found)


def _is_version(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "resource_version"


_OPAQUE = (
    "versions are compared by size; they are opaque, and in a world they do not grow, so what follows is not checked; "
    "compare them by `==`, or use `metadata.generation`"
)
_AGE = (
    "looks at when an object was created, and here all objects are of the same age; give the world its instants: "
    "World(clock=[...])"
)
_EFFECTS = frozenset(
    name
    for name, method in vars(Context).items()
    if isinstance(method, FunctionType) and not name.startswith("_") and name != "external"
)
