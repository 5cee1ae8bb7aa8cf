"""Questions that nobody awaits: ``ctx.create(child)`` as a statement of its own does nothing, and says nothing.

Python warns of a coroutine that was never awaited. An effect is a plain value, for which it does not; so the source of
a reconcile is looked at once, before it runs. What is warned of is certain: a statement that is nothing but a call of
one of the context's methods, in an async function that has the context as a parameter. Code in other modules is not
looked at.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import warnings
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from attractor.runtime.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.runtime.controller import Controller

NOT_ASKING = frozenset({"external", "log", "key", "controller"})
_ASKING = frozenset(name for name in vars(Context) if not name.startswith("_")) - NOT_ASKING


class Unawaited(NamedTuple):
    """A statement that does nothing."""

    line: int
    text: str


def warn_of_unawaited(controller: Controller) -> None:
    """Issue a ``RuntimeWarning``, as Python does for coroutines, at each such statement beside a reconcile."""
    for file in _files(controller.reconcile):
        for found in _in_file(file):
            text = f"`{found.text}` is not awaited, so it does nothing; write `await {found.text}`"
            warnings.warn_explicit(text, RuntimeWarning, file, found.line, registry=_warned)


_warned: dict[str | tuple[str, type[Warning], int], int] = {}


def _files(reconcile: object) -> list[str]:
    """The source files of a function, or of the classes that a method's object has."""
    owner = getattr(reconcile, "__self__", None)
    parts = [reconcile] if owner is None else type(owner).__mro__
    found: dict[str, None] = {}
    for part in parts:
        try:
            file = inspect.getsourcefile(part)  # type: ignore[arg-type]
        except TypeError:  # built in, or an object that can be called
            continue
        if file is not None and not getattr(part, "__module__", "").startswith("attractor."):
            found[file] = None
    return list(found)


@cache
def _in_file(file: str) -> tuple[Unawaited, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:  # it was edited since it was imported
        return ()
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef))
    return tuple(found for function in functions for found in _in_function(function))


def _in_function(function: ast.AsyncFunctionDef) -> Iterator[Unawaited]:
    arguments = function.args
    contexts = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if _is_context(one)}
    for node in ast.walk(function):
        if contexts and isinstance(node, ast.Expr) and (asked := _asked(node.value, contexts)):
            yield Unawaited(node.lineno, asked)


def _is_context(argument: ast.arg) -> bool:
    return argument.arg == "ctx" or (argument.annotation is not None and ast.unparse(argument.annotation) == "Context")


def _asked(value: ast.expr, contexts: set[str]) -> str:
    """Return the spelling of a call of the context's, or of an outside system's, methods; empty for anything else."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
        return ""
    on = value.func.value
    if isinstance(on, ast.Name) and on.id in contexts and value.func.attr in _ASKING:
        return f"{on.id}.{value.func.attr}(...)"
    if isinstance(on, ast.Call) and isinstance(on.func, ast.Attribute) and on.func.attr == "external":
        named = on.func.value
        if isinstance(named, ast.Name) and named.id in contexts:
            return f"{ast.unparse(on)}.{value.func.attr}(...)"
    return ""
