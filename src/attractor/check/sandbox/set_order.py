"""Code under check with its sets in another order, as another process would have them.

Texts hash differently in every process, so a set of texts is looped over in another order each time a program starts,
and in the same order as long as it runs. To see whether a step depends on that, its code is compiled once more,
from its source, with every place that takes the elements of a set one after the other turned round: loops,
comprehensions, unpacking, ``list(names)``, ``",".join(names)``, ``names.pop()`` and the like. ``turned_round`` runs a
block with that code in the author's own functions. All else stays as it is, even sets of numbers: their order is fixed.
Texts that tell where in memory something is (``<Lamp object at 0x7f...>``) are refused where they are made.

The author's functions are those reached from the step through globals, closures and classes, outside the standard
library, installed packages and this one. A function whose source is not to be had, or has changed since, is left alone.
"""

from __future__ import annotations

import ast
import collections
import functools
import gc
import itertools
import linecache
import math
import random
import re
import sys
import types
import warnings
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.errors import Blocking, is_authors
from attractor.check.sandbox import touches
from attractor.check.sandbox.outside import OF_LOCAL_TIME, refuse_handed_over, refuse_local_time
from attractor.check.spec.declarations import Declared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

sites: list[str] = []
"""File and line of each place at which a set was turned round, in the order of execution."""

ORDERS = 6
"""In how many orders sets are taken at the most."""
_ALL_OF = 4
"""Sets of up to so many elements are taken in every order where that is wanted."""
_shaken: dict[int, tuple[set[Any], list[Any]]] = {}
"""Sets that were given another order in this run, with the one that they had; by their ids, which stay their own."""
_FEW = 20
"""Of a list that is handed over, so many elements are looked at."""
_SIZES = (20, 80, 300, 1200)
_ADDRESS = re.compile(r"(?<=\bat 0x)[0-9a-f]{6,}")


class _Way:
    """Current order of sets: reversed, or with another element first; and the largest set that was met."""

    number = sys.maxsize
    largest = 0
    is_thorough = False
    """Whether small sets are taken in every order."""


_way = _Way()
_FIXED = (int, float, complex)
_TEXTS: tuple[Any, ...] = (str, repr, ascii)
_TAKERS: tuple[Any, ...] = (
    *(list, tuple, dict, iter, enumerate, zip, map, filter, sorted, min, max, next, reversed),
    *(collections.deque, collections.OrderedDict, functools.reduce),
    *(each for each in vars(itertools).values() if isinstance(each, type)),
)
_METHODS = frozenset(
    {"join", "format", "format_map", "sort", "extend", "extendleft", "fromkeys", "from_iterable", "insert"}
)
_ASSIGNING = frozenset({"setattr", "delattr", "vars"})
_NAMES = frozenset(each.__name__ for each in (*_TEXTS, *_TAKERS)) | _METHODS


def _turned(value: Any, at: types.FrameType) -> Any:
    """The elements of a set in another order; anything else as it is."""
    if not isinstance(value, set | frozenset) or len(value) < 2 or all(isinstance(each, _FIXED) for each in value):
        return value
    sites.append(f"{at.f_code.co_filename}:{at.f_lineno}")
    elements = _before(value)
    _way.largest = max(_way.largest, len(elements))
    if _way.number == sys.maxsize:
        return elements[::-1]
    if _way.is_thorough and len(elements) <= _ALL_OF:
        number = _way.number % math.factorial(len(elements))
        return next(itertools.islice(itertools.permutations(elements), number, None))
    if _way.number < len(elements):
        return elements[_way.number :] + elements[: _way.number]
    random.Random(_way.number).shuffle(elements)  # noqa: S311 - an order, not a secret
    return elements


def _before(value: Any) -> list[Any]:
    """The elements of a set in the order that they had before it was handed to somebody."""
    known = _shaken.get(id(value), (None, ()))[1]
    return [*(each for each in known if each in value), *(each for each in value if each not in known)]


def _placeless(text: Any, at: types.FrameType) -> Any:
    """Refuse a text that tells where in memory something is; anything else as it is."""
    if isinstance(text, str) and _ADDRESS.search(text):
        raise Blocking(
            f"{at.f_code.co_filename}:{at.f_lineno} makes a text with the address of an object, which is another one "
            "in each run; give its class a `__repr__`, or tell it by its name"
        )
    return text


class _Text(str):
    """A text that is its own representation."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _text(value: Any, at: types.FrameType) -> Any:
    turned = _turned(value, at)
    return value if turned is value else _Text("{" + ", ".join(map(repr, turned)) + "}")


def _telling(function: Any, at: types.FrameType) -> Any:
    """``repr`` and the like, as they are handed over, so that they tell no addresses; anything else as it is."""
    return (lambda value: _placeless(function(value), at)) if any(function is each for each in _TEXTS) else function


def _iterated(value: Any) -> Any:
    at = sys._getframe(1)  # noqa: SLF001 - there is no other way
    return _turned(touches.used(value, at), at)


def _formatted(value: Any, how: int = -1) -> Any:
    at = sys._getframe(1)  # noqa: SLF001
    if not isinstance(value, str | int | float):
        _placeless(repr(value) if how == ord("r") else format(value), at)
    return _text(value, at)


def _percent(left: Any, right: Any) -> Any:
    return _placeless(left % right, sys._getframe(1))  # noqa: SLF001


def _called(function: Any, *args: Any, **named: Any) -> Any:
    at = sys._getframe(1)  # noqa: SLF001
    if any(function is each for each in _TEXTS):
        return _placeless(function(*(_text(each, at) for each in args), **named), at)
    takes = any(function is each for each in _TAKERS)
    if takes or (isinstance(function, types.BuiltinMethodType) and function.__name__ in _METHODS):
        named = {name: _telling(each, at) for name, each in named.items()}
        return _placeless(function(*(_telling(_turned(each, at), at) for each in args), **named), at)
    return function(*args, **named)


def _touched(value: Any) -> Any:
    return touches.assigned(value, sys._getframe(1))  # noqa: SLF001


def _refuse_callable(value: Any, at: types.FrameType) -> None:
    if type(value) is types.BuiltinFunctionType:  # by type alone: parameters of shared routines must not be looked at
        refuse_handed_over(value, at)


def _used(value: Any) -> Any:
    at = sys._getframe(1)  # noqa: SLF001
    _refuse_callable(value, at)
    return touches.used(value, at)


def _handed(value: Any) -> Any:
    at = sys._getframe(1)  # noqa: SLF001
    _refuse_callable(value, at)
    inside: Any = value.values() if type(value) is dict else value if type(value) in {list, tuple} else (value,)
    for each in itertools.islice(inside, _FEW):
        if type(each) is set:
            _shake(each, at)
    return touches.used(value, at)


def _shake(value: set[Any], at: types.FrameType) -> None:
    """Give a set that is handed over another order, for whoever loops over it: its table gets larger."""
    if len(value) < 2 or id(value) in _shaken or all(isinstance(each, _FIXED) for each in value):
        return
    before = list(value)
    _shaken[id(value)] = value, before
    for size in _SIZES:
        fillers = [object() for _ in range(size)]
        value.update(fillers)
        for each in fillers:
            value.discard(each)  # which leaves the table as large as it is
        if list(value) != before:
            sites.append(f"{at.f_code.co_filename}:{at.f_lineno}")
            return


def _callee(function: Any) -> Any:
    return touches.used(function, sys._getframe(1))  # noqa: SLF001


def _told(value: Any) -> Any:
    return _placeless(value, sys._getframe(1)) if type(value) is str else value  # noqa: SLF001


def _zoned(function: Any, *args: Any, **named: Any) -> Any:
    refuse_local_time(function, args, named, sys._getframe(1))  # noqa: SLF001
    return function(*args, **named)


def _popped(owner: Any) -> Any:
    turned = _turned(owner, sys._getframe(1)) if isinstance(owner, set) else owner  # noqa: SLF001
    if turned is owner:
        return owner.pop()
    owner.remove(turned[0])
    return turned[0]


_HELPERS: dict[str, Callable[..., Any]] = {
    f"\0set order: {each.__name__}": each
    for each in (_iterated, _formatted, _called, _popped, _percent, _touched, _used, _handed, _callee, _told, _zoned)
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
        node.value = _helper(_formatted, node.value, ast.copy_location(ast.Constant(node.conversion), node.value))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _helper(_percent, node.left, node.right) if isinstance(node.op, ast.Mod) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = _helper(_touched, node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = _helper(_touched, node.value)
        return node

    def visit_withitem(self, node: ast.withitem) -> ast.AST:
        self.generic_visit(node)
        node.context_expr = _helper(_used, node.context_expr)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return [node]
        looked_up = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        return [ast.copy_location(ast.Expr(_helper(_touched, looked_up)), node), node]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        handed = _touched if name in _ASSIGNING else _used if name in _NAMES else _handed
        if isinstance(node.func, ast.Attribute) and not _is_super(node.func.value):
            node.func.value = _helper(_used, node.func.value)
        elif isinstance(node.func, ast.Name) and not _is_super(node):
            node.func = _helper(_callee, node.func)
        for number, each in enumerate(node.args):
            if not isinstance(each, ast.Constant | ast.Starred):
                node.args[number] = _helper(handed, each)
        for keyword in node.keywords:
            if keyword.arg is not None and not isinstance(keyword.value, ast.Constant):
                keyword.value = _helper(handed, keyword.value)
        return node if _is_super(node) else _helper(_told, self._turned_call(node))

    def _turned_call(self, node: ast.Call) -> ast.expr:
        function = node.func
        named = function.args[0] if isinstance(function, ast.Call) and function.args else function
        name = named.id if isinstance(named, ast.Name) else getattr(function, "attr", "")
        if isinstance(function, ast.Attribute) and name == "pop" and not node.args and not node.keywords:
            return _helper(_popped, function.value)
        if isinstance(function, ast.Attribute) and name in OF_LOCAL_TIME:
            return _helper(_zoned, function, *node.args, keywords=node.keywords)
        if name in _NAMES and (node.args or name in {"sort", "format"}):
            return _helper(_called, function, *node.args, keywords=node.keywords)
        return node


def _is_super(node: ast.expr) -> bool:
    """Whether it is ``super()``, which looks at who calls it."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


class Turnable(NamedTuple):
    """One of the author's functions, its code, and the code that has sets in another order."""

    function: types.FunctionType
    code: types.CodeType
    other: types.CodeType


def other_orders(*, all_small: bool = False) -> Iterator[int]:
    """Take sets in one order after the other: turned round, then so that each element comes first once.

    With ``all_small`` sets of up to four elements are taken in every order.
    """
    _way.number, _way.largest, _way.is_thorough = sys.maxsize, 0, all_small
    yield _way.number
    most = math.factorial(min(_way.largest, _ALL_OF)) if all_small else min(_way.largest, ORDERS)
    for number in range(1, most):
        _way.number = number
        yield number
    _way.number = sys.maxsize


@contextmanager
def turned_round(functions: Iterable[Turnable]) -> Iterator[None]:
    """Run a block with these functions in their other form."""
    sites.clear()
    _shaken.clear()
    for each in functions:
        each.function.__code__ = each.other  # type: ignore[misc]  # a function's code may be set
    try:
        yield
    finally:
        for each in functions:
            each.function.__code__ = each.code  # type: ignore[misc]


def turnable(*functions: Any, met: Iterable[types.CodeType] = ()) -> tuple[Turnable, ...]:
    """The author's functions, as far as ``functions`` reach them, and those of code that was seen to run."""
    found: list[Turnable] = []
    inside: set[int] = set()
    for each in itertools.chain(_reached(functions), _owners(met, inside)):
        code = each.__code__
        plain, other = _compiled(code.co_filename).get((code.co_qualname, code.co_firstlineno), (None, None))
        if plain == code and other is not None and other.co_freevars == code.co_freevars:
            found.append(Turnable(each, code, other))
            inside |= {id(one) for _, one in _functions(code)}
    return tuple(found)


def _owners(met: Iterable[types.CodeType], known: set[int]) -> Iterator[types.FunctionType]:
    """The functions of code that nothing names, such as what a dict of handlers holds."""
    for code in met:
        if id(code) not in known and is_authors(code.co_filename):
            yield from [each for each in gc.get_referrers(code) if isinstance(each, types.FunctionType)]


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
            waiting += [
                vars(value).get("__wrapped__"),
                *(value.__defaults__ or ()),
                *(value.__kwdefaults__ or {}).values(),
            ]
        elif isinstance(value, types.MethodType):
            waiting += [value.__func__, type(value.__self__), getattr(value.__self__, "holds", None)]
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
    found = {name: (code, others[name]) for name, code in _functions(plain) if name in others}
    _PLAIN.update((id(turned), (code, turned)) for code, turned in found.values())
    return found


_PLAIN: dict[int, tuple[types.CodeType, types.CodeType]] = {}
"""Code by the id of its other form, which is kept so that the id stays its own."""


def plain_code(code: types.CodeType) -> types.CodeType:
    """The code as the author wrote it, of either form."""
    known = _PLAIN.get(id(code))
    return code if known is None else known[0]


def _functions(code: types.CodeType) -> Iterator[tuple[tuple[str, int], types.CodeType]]:
    yield (code.co_qualname, code.co_firstlineno), code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _functions(each)


def _filled(code: types.CodeType) -> types.CodeType:
    """The code with the helpers themselves instead of their names."""
    consts = [_filled(each) if isinstance(each, types.CodeType) else each for each in code.co_consts]
    return code.replace(co_consts=tuple(_HELPERS.get(each, each) if type(each) is str else each for each in consts))
