"""The author's source: the syntax tree of a function, its line, and what can be known before exploring.

``OutsideSubset`` is raised at the node that has no translation; its message starts with ``file.py:line``.
"""

from __future__ import annotations

import ast
import types
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError
from attractor.check.spec.declarations import Constant, Declared, Named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.check.spec.spec import Spec

Function = ast.FunctionDef | ast.Lambda


class OutsideSubset(SpecError):
    """Something in the specification has no translation; the message names the line and the reason."""


class NotKnown(Exception):
    """A value depends on the state, so it is not known before exploring."""


@lru_cache(maxsize=32)
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


class Source:
    """A function together with its syntax tree."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not isinstance(function, types.FunctionType):
            raise OutsideSubset(f"{function!r} is not a Python function, so there is no source to translate")
        self.function = function
        self.code = function.__code__
        self.file = Path(self.code.co_filename).name
        self.node = self._find()

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters."""
        arguments = self.node.args
        if arguments.kwonlyargs or arguments.kwarg:
            raise self.outside(self.node, "keyword-only parameters have no translation")
        return [each.arg for each in (*arguments.posonlyargs, *arguments.args)]

    @property
    def rest(self) -> str | None:
        """The name of ``*rest``, if there is one."""
        return self.node.args.vararg.arg if self.node.args.vararg else None

    @property
    def body(self) -> list[ast.stmt]:
        """The statements, without the docstring; a lambda is one ``return``."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        first = self.node.body[0]
        documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        return self.node.body[1:] if documented else self.node.body

    def outside(self, node: ast.AST, reason: str) -> OutsideSubset:
        """The error for ``node``."""
        return OutsideSubset(f"{self.file}:{getattr(node, 'lineno', self.code.co_firstlineno)}: {reason}")

    def _find(self) -> Function:
        try:
            tree = _tree(self.code.co_filename)
        except (OSError, SyntaxError):
            raise OutsideSubset(
                f"{self.function.__qualname__} has no source file, so it cannot be translated; put it in a module"
            ) from None
        wanted = ast.Lambda if self.code.co_name == "<lambda>" else ast.FunctionDef
        for node in ast.walk(tree):
            if isinstance(node, wanted) and self._is(node):
                return node
        raise OutsideSubset(f"{self.file}:{self.code.co_firstlineno}: the source of this function cannot be found")

    def _is(self, node: Any) -> bool:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            return node.name == self.code.co_name and first == self.code.co_firstlineno
        columns = [(line, column) for line, _, column, _ in self.code.co_positions() if column is not None and column]
        body = node.body
        return node.lineno == self.code.co_firstlineno and all(
            (body.lineno, body.col_offset) <= (line or 0, column) <= (body.end_lineno, body.end_col_offset)
            for line, column in columns
        )


class Constants:
    """Stands for ``self`` where a value must be known beforehand: constants, names of actions, pure methods."""

    def __init__(self, spec: Spec, used: set[str]) -> None:
        self.__dict__.update(_spec=spec, _used=used)

    def __getattr__(self, name: str) -> Any:
        spec = self._spec
        declared = spec.declared.get(name)
        if isinstance(declared, Constant):
            self._used.add(name)
            return spec.constants[name]
        if name in {"action_names", "name", "constants"}:
            return getattr(spec, name)
        found = getattr(type(spec), name, None)
        if isinstance(found, types.FunctionType) and not isinstance(declared, Declared):
            return found.__get__(self)
        if found is None or isinstance(found, Named | property) or callable(found):
            raise NotKnown(name)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise NotKnown(name)


_PUZZLING = (NotKnown, NameError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)


def known_value(node: ast.expr, source: Source, values: Mapping[str, Any], unknown: set[str]) -> Any:
    """The value of an expression that does not depend on the state; ``NotKnown`` if it does.

    ``values`` are the names with known values, ``unknown`` those that depend on the state or on a quantifier.
    """
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    if names & unknown:
        raise NotKnown(*sorted(names & unknown))
    code = compile(ast.Expression(ast.fix_missing_locations(node)), source.code.co_filename, "eval")
    free = {}
    if source.function.__closure__:
        cells = zip(source.code.co_freevars, source.function.__closure__, strict=True)
        free = {name: cell.cell_contents for name, cell in cells}
    try:
        found = eval(code, {**source.function.__globals__, **free, **values})  # noqa: S307 - the author's own code
        return tuple(found) if isinstance(found, types.GeneratorType) else found
    except _PUZZLING as problem:
        raise NotKnown(str(problem)) from None
