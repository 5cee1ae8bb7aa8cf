"""The page about driving an application tells the truth: its Procfile runs, and each command prints what is shown."""

import re
from pathlib import Path

import pytest

from tests.docs.test_check_pages import commands
from tests.operators.devplane.devcommand import Dev
from tests.operators.devplane.test_dev_page import TITLED, pattern_of

PAGE = Path(__file__).parents[3] / "docs/how-to/drive-an-application.md"


def shape_of(line: str) -> str:
    """A line whose durations, too, may be others."""
    return re.sub(r"\d+\\\.\d\\ s(\\ )+", r"[\\d.]+ s +", pattern_of(line))


@pytest.mark.slow
def test_the_page_shows_what_is_printed(dev: Dev) -> None:
    for name, content in TITLED.findall(PAGE.read_text()):
        (dev.directory / name).write_text(content)
    for command, shown in commands(PAGE):
        printed = dev.run(*command.split()[2:])
        lines = printed.stdout.splitlines()
        assert printed.returncode == 0, printed.stderr
        expected = [shape_of(line) for line in shown.splitlines()]
        assert len(lines) == len(expected), (command, lines)
        for line, shape in zip(lines, expected, strict=True):
            assert re.fullmatch(shape, line), (command, line, shape)
    assert dev.processes == []
