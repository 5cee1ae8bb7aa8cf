"""The examples in the modules' docstrings say the truth."""

import doctest
from types import ModuleType

import pytest

from attractor.objects.patch import gotext, json_patch, merge_patch, strategic


@pytest.mark.parametrize("module", [gotext, json_patch, merge_patch, strategic], ids=lambda module: module.__name__)
def test_docstring_examples(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0
