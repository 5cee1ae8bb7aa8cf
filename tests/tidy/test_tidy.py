"""The habits of the tree, enforced: small files, small functions, said purpose, no leftovers."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PYTHON + tracked("*.c", "*.h"), ids=name_of)
def test_file_is_one_concept_long(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    limit = MAX_FILE_LINES if path.suffix == ".py" else 2 * MAX_FILE_LINES
    assert lines <= limit, f"{name_of(path)} has {lines} lines; split it by concept (limit {limit})"


@pytest.mark.parametrize("path", SOURCE, ids=name_of)
def test_functions_fit_a_screen_and_modules_say_what_they_are(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{name_of(path)} has no module docstring"
    for function in functions(tree):
        length = (function.end_lineno or 0) - function.lineno + 1
        assert length <= MAX_FUNCTION_LINES, f"{name_of(path)}:{function.lineno} {function.name} has {length} lines"


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


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_tests_do_not_sleep(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "asyncio.sleep"}:
            zero = node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
            assert zero, f"{name_of(path)}:{node.lineno} waits on the wall clock; wait for the event itself"


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_tests_are_neither_skipped_nor_expected_to_fail(path: Path) -> None:
    found = re.findall(r"mark\.(?:skip|skipif|xfail)|pytest\.(?:skip|xfail|importorskip)\(", path.read_text())
    assert path == Path(__file__) or not found


def test_no_program_starts_python_with_the_users_directory_in_front_of_the_library() -> None:
    """A file that is called ``queue.py`` would be imported instead of the library's; ``-P`` leaves it alone."""
    started = [
        (name_of(path), node.lineno)
        for path in PYTHON
        if path.is_relative_to(ROOT / "src")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.List | ast.Tuple) and "-m" in (words := _texts(node)) and "-P" not in words
    ]
    assert started == []


def _texts(node: ast.List | ast.Tuple) -> list[object]:
    return [each.value for each in node.elts if isinstance(each, ast.Constant)]
