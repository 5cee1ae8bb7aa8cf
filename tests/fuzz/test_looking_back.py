"""Searches for a family of quadratic work that step counts do not see: ``in`` on a list, made once for each item.

One ``in`` is one step of Python, however long the list is, so ``test_costs`` finds such a loop only where an attack of
its own aims at it. This finds it in the text: membership in what stands before an item, or in a list that grows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "attractor"
SERVER = ("apiserver", "apply", "cel", "httpd", "objects", "patch", "schema")
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BOUNDED = {"apply/shape.py": "shapes are of the schema, and have a few parts"}


def test_no_loop_of_the_server_looks_back_through_a_list() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line} {text}"
        for room in SERVER
        for path in sorted((SOURCE / room).rglob("*.py"))
        if str(path.relative_to(SOURCE)) not in BOUNDED
        for line, text in backward_looks(path.read_text())
    ]
    assert not found, "use a set, or `objects.field.repeated`:\n" + "\n".join(found)


def test_the_search_finds_both_ways_of_looking_back() -> None:
    before = "def f(xs):\n    return [x for i, x in enumerate(xs) if x in xs[:i]]\n"
    growing = "def f(xs):\n    seen = []\n    for x in xs:\n        if x not in seen:\n            seen.append(x)\n"
    assert [line for line, _ in backward_looks(before)] == [2]
    assert [line for line, _ in backward_looks(growing)] == [4]
    assert not list(backward_looks(growing.replace("[]", "set()").replace("append", "add")))
    assert not list(backward_looks("def f(xs):\n    return [x for x in xs if '*' in x[:-1]]\n"))


def backward_looks(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each membership test within a loop that takes as long as there are items before."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            grown = set(_grown(function))
            inside = (node for loop in ast.walk(function) if isinstance(loop, LOOPS) for node in ast.walk(loop))
            tests = {id(node): node for node in inside if isinstance(node, ast.Compare)}
            for test in tests.values():
                if isinstance(test.ops[0], ast.In | ast.NotIn) and _is_long(test.comparators[0], grown):
                    yield test.lineno, ast.unparse(test)


def _grown(function: ast.AST) -> Iterator[str]:
    """The names of the lists to which a function appends."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend" | "insert")):
                yield name
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List() | ast.ListComp()):
                yield name


def _is_long(searched: ast.expr, grown: set[str]) -> bool:
    match searched:
        case ast.Name(id=name):
            return name in grown
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            return any(isinstance(bound, ast.Name) for bound in (lower, upper))
    return False
