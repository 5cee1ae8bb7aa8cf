"""Code under check with its sets in another order, as another process would have them.

Texts hash differently in every process, so a set of texts is looped over in another order each time a program starts,
and in the same order as long as it runs. To see whether a step depends on that, its code is compiled once more,
from its source, with every place that takes the elements of a set one after the other turned round: loops,
comprehensions, unpacking, ``list(names)``, ``",".join(names)``, ``names.pop()`` and the like. ``turned_round`` runs a
block with that code in the author's own functions. All else stays as it is, even sets of numbers: their order is fixed.

The author's functions are those reached from the step through globals, closures and classes, outside the standard
library, installed packages and this one. A function whose source is not to be had, or has changed since, is left alone.
"""

from __future__ import annotations

import ast
import collections
import functools
import itertools
import linecache
import sys
import types
import warnings
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.declarations import Declared
from attractor.check.errors import is_authors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

sites: list[str] = []
"""File and line of each place at which a set was turned round, in the order of execution."""

_FIXED = (int, float, complex)
_TEXTS: tuple[Any, ...] = (str, repr, ascii)
_TAKERS: tuple[Any, ...] = (
    *(list, tuple, dict, iter, enumerate, zip, map, filter, sorted, min, max, next, reversed),
    *(collections.deque, collections.OrderedDict, functools.reduce),
    *(each for each in vars(itertools).values() if isinstance(each, type)),
)
_METHODS = frozenset({"join", "extend", "extendleft", "fromkeys", "from_iterable", "insert"})
_NAMES = frozenset(each.__name__ for each in (*_TEXTS, *_TAKERS)) | _METHODS


def _turned(value: Any, at: types.FrameType) -> Any:
    """The elements of a set in another order; anything else as it is."""
    if not isinstance(value, set | frozenset) or len(value) < 2 or all(isinstance(each, _FIXED) for each in value):
        return value
    sites.append(f"{at.f_code.co_filename}:{at.f_lineno}")
    return list(value)[::-1]


class _Text(str):
    """A text that is its own representation."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _text(value: Any, at: types.FrameType) -> Any:
    turned = _turned(value, at)
    return value if turned is value else _Text("{" + ", ".join(map(repr, turned)) + "}")


def _iterated(value: Any) -> Any:
    return _turned(value, sys._getframe(1))  # noqa: SLF001 - there is no other way


def _formatted(value: Any) -> Any:
    return _text(value, sys._getframe(1))  # noqa: SLF001


def _called(function: Any, *args: Any, **named: Any) -> Any:
    at = sys._getframe(1)  # noqa: SLF001
    if any(function is each for each in _TEXTS):
        return function(*(_text(each, at) for each in args), **named)
    takes = any(function is each for each in _TAKERS)
    if takes or (isinstance(function, types.BuiltinMethodType) and function.__name__ in _METHODS):
        return function(*(_turned(each, at) for each in args), **named)
    return function(*args, **named)


def _popped(owner: Any) -> Any:
    turned = _turned(owner, sys._getframe(1)) if isinstance(owner, set) else owner  # noqa: SLF001
    if turned is owner:
        return owner.pop()
    owner.remove(turned[0])
    return turned[0]


_HELPERS: dict[str, Callable[..., Any]] = {
    f"\0set order: {each.__name__}": each for each in (_iterated, _formatted, _called, _popped)
}


def _helper(function: Callable[..., Any], *args: ast.expr, **more: Any) -> ast.Call:
    name = ast.copy_location(ast.Constant(f"\0set order: {function.__name__}"), args[0])
    return ast.copy_location(ast.Call(name, list(args), more.get("keywords", [])), args[0])


class _Turner(ast.NodeTransformer):
    """Puts a helper, as a constant that is replaced after compiling, wherever elements are taken in order."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _helper(_iterated, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = _helper(_iterated, node.iter)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _helper(_iterated, node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            node.value = _helper(_iterated, node.value)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        node.value = _helper(_formatted, node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if isinstance(function, ast.Attribute) and name == "pop" and not node.args and not node.keywords:
            return _helper(_popped, function.value)
        if name in _NAMES and node.args:
            return _helper(_called, function, *node.args, keywords=node.keywords)
        return node


class Turnable(NamedTuple):
    """One of the author's functions, its code, and the code that has sets in another order."""

    function: types.FunctionType
    code: types.CodeType
    other: types.CodeType


@contextmanager
def turned_round(functions: Iterable[Turnable]) -> Iterator[None]:
    """Run a block with these functions in their other form."""
    sites.clear()
    for each in functions:
        each.function.__code__ = each.other  # type: ignore[misc]  # a function's code may be set
    try:
        yield
    finally:
        for each in functions:
            each.function.__code__ = each.code  # type: ignore[misc]


def turnable(*functions: Any) -> tuple[Turnable, ...]:
    """The author's functions, as far as ``functions`` reach them."""
    found = []
    for each in _reached(functions):
        code = each.__code__
        plain, other = _compiled(code.co_filename).get((code.co_qualname, code.co_firstlineno), (None, None))
        if plain == code and other is not None and other.co_freevars == code.co_freevars:
            found.append(Turnable(each, code, other))
    return tuple(found)


def _reached(start: Iterable[Any]) -> Iterator[types.FunctionType]:
    """The author's functions that these can come to."""
    seen: set[int] = set()
    waiting = [*start]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType):
            if is_authors(value.__code__.co_filename):
                yield value
                waiting += value.__globals__.values()
            waiting += [cell.cell_contents for cell in value.__closure__ or () if is_filled(cell)]
            waiting += [vars(value).get("__wrapped__")]
        elif isinstance(value, types.MethodType):
            waiting += [value.__func__, type(value.__self__)]
        elif isinstance(value, type):
            waiting += [each for base in value.__mro__ if _is_authors_module(base) for each in vars(base).values()]
        elif isinstance(value, types.ModuleType):
            waiting += vars(value).values() if is_authors(getattr(value, "__file__", None) or "<unknown>") else ()
        elif isinstance(value, staticmethod | classmethod):
            waiting.append(value.__func__)
        elif isinstance(value, property):
            waiting += [value.fget, value.fset]
        elif isinstance(value, functools.partial):
            waiting.append(value.func)
        elif isinstance(value, Declared):
            waiting.append(value.function)
        elif _is_authors_module(type(value)):
            waiting.append(type(value))


def is_filled(cell: types.CellType) -> bool:
    """Whether a variable that a function takes from around it has a value yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _is_authors_module(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return is_authors(getattr(module, "__file__", None) or "<unknown>")


@cache
def _compiled(file: str) -> dict[tuple[str, int], tuple[types.CodeType, types.CodeType]]:
    """For each function of a file, by name and line: its code, and the code that has sets in another order."""
    source = "".join(linecache.getlines(file))
    try:
        tree = ast.parse(source)
        plain = compile(tree, file, "exec", dont_inherit=True)
        turned = _Turner().visit(tree)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            other = compile(turned, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}
    others = dict(_functions(_filled(other)))
    return {name: (code, others[name]) for name, code in _functions(plain) if name in others}


def _functions(code: types.CodeType) -> Iterator[tuple[tuple[str, int], types.CodeType]]:
    yield (code.co_qualname, code.co_firstlineno), code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _functions(each)


def _filled(code: types.CodeType) -> types.CodeType:
    """The code with the helpers themselves instead of their names."""
    consts = [_filled(each) if isinstance(each, types.CodeType) else each for each in code.co_consts]
    return code.replace(co_consts=tuple(_HELPERS.get(each, each) if type(each) is str else each for each in consts))
