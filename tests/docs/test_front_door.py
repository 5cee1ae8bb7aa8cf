"""README, documentation and examples import from the front door, and from nowhere else in the package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRONT_DOOR = ("attractor", "attractor.k8s", "attractor.check", "attractor.testing", "attractor.toolkit")
"""The public modules; the parts of ``attractor.k8s`` and ``attractor.check.specs`` are public, too."""
PUBLIC_PACKAGES = ("attractor.k8s", "attractor.check.specs", "attractor_verify")
ABOUT = {
    "docs/explanation/irsa.md": "attractor.operators.irsa",
    "docs/how-to/irsa.md": "attractor.operators.irsa",
    "docs/how-to/run-a-dbcluster.md": "attractor.operators.dbcluster attractor.plan",
    "docs/how-to/run-a-developer-control-plane.md": "attractor.operators.devplane",
    "docs/reference/lifecycle.md": "attractor.lifecycle",
    "docs/reference/plan.md": "attractor.plan",
    "docs/reference/stores.md": "attractor.store",
}
"""Pages about one operator, or one package, with what they import of it."""
PAGES = sorted(
    [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "examples").rglob("*.py"),
    ]
)
FENCE = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def code_of(path: Path) -> list[str]:
    text = path.read_text()
    return [text] if path.suffix == ".py" else FENCE.findall(text)


def imported(source: str) -> set[str]:
    """The modules that code imports; a fence that is only a part of a program is read line by line."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return set(re.findall(r"^\s*(?:from|import) (attractor[\w.]*)", source, re.MULTILINE))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}


def is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def behind_the_door(page: str, source: str) -> set[str]:
    """What code of a page imports that an author has no business with."""
    ours = {module for module in imported(source) if is_within(module, ("attractor", "attractor_verify"))}
    allowed = (*PUBLIC_PACKAGES, *ABOUT.get(page, "").split())
    return {module for module in ours if module not in FRONT_DOOR and not is_within(module, allowed)}


def test_readme_documentation_and_examples_import_from_the_front_door_only() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {module}"
        for path in PAGES
        for source in code_of(path)
        for module in behind_the_door(str(path.relative_to(ROOT)), source)
    }
    assert not found, "give it a home at the front door, or show another way: " + ", ".join(sorted(found))


def test_every_exception_is_needed() -> None:
    for page, packages in ABOUT.items():
        modules = {module for source in code_of(ROOT / page) for module in imported(source)}
        for package in packages.split():
            assert any(is_within(module, (package,)) for module in modules), f"{page} imports nothing of {package}"


@pytest.mark.parametrize(
    "source",
    [
        "from attractor.runtime import Key",
        "import attractor.objects.errors",
        "def f():\n    from attractor.check.world.api.world import World",
        "$ not python\nfrom attractor.client.http import HttpTransport",
    ],
)
def test_what_is_behind_the_door_is_found(source: str) -> None:
    assert behind_the_door("docs/how-to/any.md", source)


def test_no_name_has_two_homes_at_the_front_door() -> None:
    from importlib import import_module

    homes: dict[int, list[str]] = {}
    for name in FRONT_DOOR:
        module = import_module(name)
        for each in getattr(module, "__all__", ()):
            homes.setdefault(id(getattr(module, each)), []).append(f"{name}.{each}")
    assert [several for several in homes.values() if len(several) > 1] == []
