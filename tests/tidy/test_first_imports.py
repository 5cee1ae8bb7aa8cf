"""Any module of the package may be the first that a process imports: no import cycle bites, wherever one begins.

Importing seven hundred modules in as many interpreters takes minutes, so imports are followed in the source instead, in
the order in which Python would run them: packages before what is in them, statements from top to bottom. What is not
followed: imports inside functions, and attributes of a module that is only half there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.tidy.test_tidy import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Source:
    """The modules below a folder, each as the steps of its import: imports, and the names that are bound in between."""

    def __init__(self, folder: Path) -> None:
        self.steps: dict[str, list[ast.Import | ast.ImportFrom | set[str]]] = {}
        self.packages: set[str] = set()
        for path in (*folder.rglob("*.py"), *folder.rglob("*.c")):  # what is written in C imports nothing of ours
            parts = path.relative_to(folder).with_suffix("").parts
            if parts[-1] == "__init__":
                parts = parts[:-1]
                self.packages.add(".".join(parts))
            body = ast.parse(path.read_text()).body if path.suffix == ".py" else []
            self.steps[".".join(parts)] = [_step(one) for one in _run(body)]


def _step(statement: ast.stmt) -> ast.Import | ast.ImportFrom | set[str]:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return statement
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def _run(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that run on import and bind names, in order."""
    for one in body:
        if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING":
            yield from _run(one.orelse)
        elif isinstance(one, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for part in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(one, part, ()):
                    yield from _run(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])
        else:
            yield one


class Interpreter:
    """A fresh process, as far as its imports go."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names: dict[str, set[str]] = {}
        self._is_whole: set[str] = set()
        self.problems: list[str] = []

    def load(self, module: str) -> None:
        parent = module.rpartition(".")[0]
        if parent:
            self.load(parent)
        if module in self._names or module not in self._source.steps:
            return
        names: set[str] = set()
        self._names[module] = names
        for step in self._source.steps[module]:
            match step:
                case ast.Import(names=imported):
                    for one in imported:
                        self.load(one.name)
                        names.add(one.asname or one.name.partition(".")[0])
                case ast.ImportFrom():
                    names |= self._imported(module, step)
                case _:
                    names |= step
        self._is_whole.add(module)

    def _imported(self, module: str, statement: ast.ImportFrom) -> set[str]:
        origin = self._origin(module, statement)
        if origin.partition(".")[0] not in self._source.steps:
            return {one.asname or one.name for one in statement.names}  # somebody else's
        self.load(origin)
        known = self._names.get(origin)
        if known is None:
            return {one.asname or one.name for one in statement.names}
        names = set()
        for one in statement.names:
            if one.name == "*":
                names |= known
                continue
            if one.name not in known:
                if f"{origin}.{one.name}" in self._source.steps:
                    self.load(f"{origin}.{one.name}")
                elif origin not in self._is_whole and "__getattr__" not in known:
                    self.problems.append(f"{module} wants {one.name} of {origin}, which is only half imported")
            names.add(one.asname or one.name)
        return names

    def _origin(self, module: str, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = module.split(".")
        here = parts[: len(parts) - statement.level + (module in self._source.packages)]
        return ".".join([*here, *([statement.module] if statement.module else [])])


def problems(source: Source, first: str) -> list[str]:
    interpreter = Interpreter(source)
    interpreter.load(first)
    return interpreter.problems


def test_any_module_may_be_imported_first() -> None:
    source = Source(ROOT / "src")
    assert len(source.steps) > 500, "the sources were not found"
    found = {module: found for module in source.steps if (found := problems(source, module))}
    assert not found


@pytest.mark.parametrize(
    ("first", "is_fine"), [("p.a", True), ("p.b", False), ("p", True), ("p.late", True), ("p.lazy", True)]
)
def test_a_cycle_is_found_from_where_it_bites(tmp_path: Path, first: str, is_fine: bool) -> None:
    texts = {
        "__init__": "",
        "a": "from p.b import g\ndef f(): ...\n",
        "b": "from p import a\nfrom p.late import h\ndef g(): ...\n",
        "late": "def h(): from p.b import g\n",
        "lazy": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.b import g\n",
    }
    (tmp_path / "p").mkdir()
    for name, text in texts.items():
        (tmp_path / "p" / f"{name}.py").write_text(text)
    assert (not problems(Source(tmp_path), first)) == is_fine
