"""The page about developer control planes tells the truth: its application runs, and its commands print what is shown."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from attractor.cli.main import main
from attractor.operators.devplane.cli.demo import FILES
from tests.docs.test_check_pages import commands
from tests.operators.devplane.devcommand import Dev

PAGE = Path(__file__).parents[3] / "docs/how-to/run-a-developer-control-plane.md"
TITLED = re.compile(r"^```\S+[^\n]* title=(\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = dict(commands(PAGE))


def pattern_of(line: str) -> str:
    """A line whose times, process numbers and ports may be others."""
    text = re.sub(r"\d\d:\d\d:\d\d", "TIME", line)
    text = re.sub(r"127\.0\.0\.1:\d+", "PLACE", text)
    text = re.sub(r"(pid|process) \d+", r"\1 NUMBER", text)
    return re.escape(text).replace("TIME", r"\d\d:\d\d:\d\d").replace("PLACE", r"[\d.:]+").replace("NUMBER", r"\d+")


def test_the_page_has_the_application_of_the_demonstration() -> None:
    assert dict(TITLED.findall(PAGE.read_text())) == FILES


@pytest.mark.slow
def test_the_page_shows_what_is_printed(dev: Dev, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    for name, content in FILES.items():
        (dev.directory / name).write_text(content)
    with dev.up(FILES["app.yaml"]) as plane:
        shown = SHOWN["attractor dev up app.yaml"].splitlines()
        last = {tuple(line.split()[1:3]): line for line in shown}  # what comes between may be passed over
        assert len(last) == 6
        for line in last.values():
            plane.until(f"(?m)^{pattern_of(line)}")
        assert re.fullmatch(pattern_of(SHOWN["attractor dev status"]), dev.run("status").stdout)
        said = dev.run("logs", "client").stdout.splitlines()
        assert all(re.fullmatch(r"process \d+ answers", line) for line in said)
        assert len(set(said)) <= 2
        assert dev.run("down").stdout == SHOWN["attractor dev down"]
        assert plane.code() == 0
    assert dev.processes == []


@pytest.mark.slow
def test_the_demonstration_tells_its_story_to_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "devplane"]) == 0
    steps = [line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert steps == ["up", "ready", "answer", "kill", "restart", "scale", "answer", "down", "done"]
