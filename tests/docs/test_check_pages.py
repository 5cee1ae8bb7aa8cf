"""The pages about the checker tell the truth: commands print what is shown, words mean what is said."""

import argparse
import inspect
import re
import shlex
from pathlib import Path

import pytest

import attractor.check
from attractor.cli.main import build_parser, main
from tests.docs.test_fences import FENCE, ROOT, fences

DOCS = ROOT / "docs"
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    "tutorial/checking.md": "counter",
    "tutorial/first-proof.md": "pairs",
    "how-to/check-for-a-livelock.md": "sizes",
    "how-to/read-a-check-trace.md": "trace",
    "how-to/read-a-counterexample.md": "notes",
    "how-to/replay-a-counterexample.md": "notes",
    "how-to/speed-up-a-check.md": "mail",
    "how-to/check-with-tlc.md": "tlc",
}


def commands(page: Path) -> list[tuple[str, str]]:
    """Each ``$ command`` of a page's console fences, with the output that is shown under it."""
    found = []
    for fence in CONSOLE.findall(page.read_text()):
        for part in re.split(r"^\$ ", fence, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def pattern_of(shown: str) -> str:
    """Times differ; ``...`` on a line of its own stands for any lines."""
    lines = []
    for line in shown.rstrip("\n").split("\n"):
        text = re.sub(r"\d+\\\.\d+\\ s\b", r"[\\d.]+\\ s", re.escape(line))
        text = text.replace("native\\ engine", "(?:native|python)\\ engine")
        lines.append(r"(?:.|\n)*?" if line == "..." else text)
    return "\n".join(lines)


@pytest.mark.parametrize("name", PAGES)
def test_commands_on_the_page_print_what_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    code = "\n".join(text for _, text in fences(DOCS / name))
    (tmp_path / f"{PAGES[name]}.py").write_text(code)
    for command, shown in commands(DOCS / name):
        _, *arguments = shlex.split(command)
        main(arguments)
        assert re.fullmatch(pattern_of(shown), capsys.readouterr().out.rstrip("\n")), command


def test_every_word_of_the_vocabulary_is_in_the_reference_with_its_docstring() -> None:
    text = (DOCS / "reference" / "check.md").read_text()
    for name in attractor.check.__all__:
        first = (inspect.getdoc(getattr(attractor.check, name)) or "").split("\n\n")[0]
        row = f"| `{name}` | {' '.join(first.split())} |"
        assert row in text, f"docs/reference/check.md lacks this row, or says it differently:\n{row}"


def test_every_option_of_the_commands_is_in_the_reference() -> None:
    text = " ".join((DOCS / "reference" / "check.md").read_text().split())
    subparsers = next(each for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction))
    nested = next(each for each in subparsers.choices["tla"]._actions if isinstance(each, argparse._SubParsersAction))
    for parser in (subparsers.choices["check"], subparsers.choices["replay"], nested.choices["export"]):
        for option in parser._actions:
            for word in (*option.option_strings, " ".join((option.help or "").split())):
                assert word in text, f"docs/reference/check.md lacks {word!r} of `{parser.prog}`"


def test_the_reference_has_no_word_that_is_gone() -> None:
    text = (DOCS / "reference" / "check.md").read_text()
    table = text.partition("## Command line")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(attractor.check.__all__)


def test_python_beside_tla_is_the_shipped_specification() -> None:
    page = (DOCS / "explanation" / "checker.md").read_text()
    shipped = (ROOT / "src" / "attractor" / "check" / "specs" / "irsa.py").read_text()
    shown = [found["code"] for found in FENCE.finditer(page)]
    assert len(shown) == 4
    for code in shown:
        assert code in shipped
