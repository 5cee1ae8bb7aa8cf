"""The pytest plugin: a test that fails by ``assert_holds()`` shows the verdict, then each counterexample on its own.

Counterexamples of worlds are shown as the command line shows them, and saved in ``traces`` with their diagrams, for
``attractor replay`` and ``trace-to-test``. ``--attractor-traces DIR`` says where, and has those of specifications
written, too. Without this plugin the same failure is one long assertion message.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from attractor.check.verdict import Verdict


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the folder of traces."""
    group = parser.getgroup("attractor", "attractor: model checking")
    group.addoption(
        "--attractor-traces", type=Path, metavar="DIR", help="write counterexamples of failed checks to DIR"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Take the traces out of the assertion message and give each a section of the report."""
    verdict = _not_shown(call)
    shown = ""
    if verdict is not None and call.excinfo is not None:
        shown = str(call.excinfo.value)
        call.excinfo.value.args = (_summary(verdict),)
    report = yield
    if verdict is not None:
        is_world = hasattr(verdict.source, "compose")
        folder = item.config.getoption("--attractor-traces")
        report.sections += [("counterexamples", shown)] if is_world else _sections(verdict, folder)
    return report


def pytest_configure(config: pytest.Config) -> None:
    """Have counterexamples written where the option says."""
    if folder := config.getoption("--attractor-traces"):
        from attractor.check.report import verdict_text as report

        report.TRACES = folder


def _not_shown(call: pytest.CallInfo[None]) -> Verdict | None:
    from attractor.check.verdict import (
        NotShown,
    )  # not at the top: coverage of the tests starts after plugins are loaded

    problem = call.excinfo.value if call.excinfo else None
    return problem.verdict if isinstance(problem, NotShown) else None


def _summary(verdict: Verdict) -> str:
    lines = verdict.text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("    "))


def _sections(verdict: Verdict, folder: Path | None) -> list[tuple[str, str]]:
    from attractor.check.report.counterexample import save_artefacts

    files = save_artefacts(verdict, folder) if folder else {}
    sections = []
    for each in verdict.violations():
        if each.trace:
            path = files.get(each.name)
            hint = f"\n\nhint: see it again with `attractor replay {path}`" if path else ""
            sections.append((f"counterexample: {each.name}", each.trace.text() + hint))
    return sections
