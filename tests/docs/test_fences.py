"""Every Python fence of the README and the docs is executed, in order, one namespace for each page.

Decisions (``docs/adr``) show code as it was when they were taken.
"""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)```python(?P<info>[^\n]*)\n(?P<code>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)


def fences(page: Path) -> list[tuple[int, str]]:
    """The executable fences of a page with the lines they start at; ```python notest is for reading only."""
    text = page.read_text()
    return [
        (text.count("\n", 0, found.start()) + 2, textwrap.dedent(found["code"]))
        for found in FENCE.finditer(text)
        if "notest" not in found["info"]
    ]


EXECUTED = [page for page in PAGES if page.parent.name != "adr" and fences(page)]


@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__page__"}
    for line, code in fences(page):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)


def test_index_lists_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text()
    pages = [page for page in PAGES if page.parent.name in {"tutorial", "how-to", "explanation", "reference"}]
    missing = [
        str(page.relative_to(ROOT / "docs")) for page in pages if str(page.relative_to(ROOT / "docs")) not in index
    ]
    assert not missing, f"docs/README.md does not mention {missing}"
