"""The habits of the tree, enforced: small files, small functions, said purpose, no leftovers."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MAX_FILE_LINES = 620
MAX_FUNCTION_LINES = 70
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"}
GENERATED = ("src/attractor/store/etcd/proto/",)


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [ROOT / name for name in listed if not name.startswith(GENERATED) and (ROOT / name).exists()]


PYTHON = tracked("*.py")
SOURCE = [path for path in PYTHON if path.is_relative_to(ROOT / "src")]
TESTS = [path for path in PYTHON if path.is_relative_to(ROOT / "tests")]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


class Parsed(NamedTuple):
    """What the tests want to know of a file; its tree itself would be too large to keep."""

    has_docstring: bool
    functions: list[tuple[int, str, int]]
    """Line, name and length."""
    sleeps: list[int]
    """Lines that wait on the wall clock."""
    started: list[int]
    """Lines that start a module of Python with the working directory in front of the library."""


@cache
def parsed(path: Path) -> Parsed:
    tree = ast.parse(path.read_text())
    found = Parsed(ast.get_docstring(tree) is not None, [], [], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions.append((node.lineno, node.name, (node.end_lineno or 0) - node.lineno + 1))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "asyncio.sleep"}:
            zero = node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
            found.sleeps.extend([] if zero else [node.lineno])
        elif isinstance(node, ast.List | ast.Tuple) and "-m" in (words := _texts(node)) and "-P" not in words:
            found.started.append(node.lineno)
    return found


def test_files_are_one_concept_long() -> None:
    limits = dict.fromkeys(PYTHON, MAX_FILE_LINES) | dict.fromkeys(tracked("*.c", "*.h"), 2 * MAX_FILE_LINES)
    lines = {path: len(path.read_text().splitlines()) for path in limits}
    long = {name_of(path): (count, limits[path]) for path, count in lines.items() if count > limits[path]}
    assert long == {}, "lines and limit; split them by concept"


def test_functions_fit_a_screen() -> None:
    long = [
        f"{name_of(path)}:{line} {name} has {length} lines"
        for path in SOURCE
        for line, name, length in parsed(path).functions
        if length > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_modules_say_what_they_are() -> None:
    assert [name_of(path) for path in SOURCE if not parsed(path).has_docstring] == []


def test_no_module_is_called_utils() -> None:
    named = [name_of(path) for path in PYTHON if FORBIDDEN_NAMES & {path.stem, *path.relative_to(ROOT).parts[:-1]}]
    assert not named, f"name the noun instead: {named}"


def test_no_leftover_markers() -> None:
    marker = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
    found = [
        f"{name_of(p)}:{n}"
        for p in PYTHON
        for n, line in enumerate(p.read_text().splitlines(), 1)
        if marker.search(line)
    ]
    assert not found


def test_tests_do_not_sleep() -> None:
    sleeping = [f"{name_of(path)}:{line}" for path in TESTS for line in parsed(path).sleeps]
    assert sleeping == [], "they wait on the wall clock; wait for the event itself"


def test_tests_are_neither_skipped_nor_expected_to_fail() -> None:
    word = re.compile(r"mark\.(?:skip|skipif|xfail)|pytest\.(?:skip|xfail|importorskip)\(")
    assert [name_of(path) for path in TESTS if word.search(path.read_text())] == []


def test_no_program_starts_python_with_the_users_directory_in_front_of_the_library() -> None:
    """A file that is called ``queue.py`` would be imported instead of the library's; ``-P`` leaves it alone."""
    assert [(name_of(path), line) for path in SOURCE for line in parsed(path).started] == []


def _texts(node: ast.List | ast.Tuple) -> list[object]:
    return [each.value for each in node.elts if isinstance(each, ast.Constant)]
