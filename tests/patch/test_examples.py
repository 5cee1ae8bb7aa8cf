"""The examples in the modules' docstrings say the truth."""

import ast
import doctest
from pathlib import Path
from types import ModuleType

import pytest

from attractor.objects import go_wording, json_equality
from attractor.patch import json_patch, merge_patch, strategic


def docstrings(module: ModuleType) -> list[tuple[str, str]]:
    """Names and docstrings of what a module's source declares; a compiled module itself has none."""
    assert module.__file__ is not None
    source = Path(module.__file__).with_name(f"{module.__name__.rpartition('.')[2]}.py")
    tree = ast.parse(source.read_text())
    found = [(node.name, ast.get_docstring(node)) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [(name, text) for name, text in [("module", ast.get_docstring(tree)), *found] if text]


@pytest.mark.parametrize(
    "module", [go_wording, json_equality, json_patch, merge_patch, strategic], ids=lambda module: module.__name__
)
def test_docstring_examples(module: ModuleType) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for name, text in docstrings(module):
        runner.run(parser.get_doctest(text, dict(vars(module)), name, module.__file__, 0))
    results = runner.summarize()
    assert results.attempted > 0
    assert results.failed == 0
