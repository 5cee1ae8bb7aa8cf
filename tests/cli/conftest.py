"""Running the command line in process: exit code, stdout, stderr."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from attractor.cli.main import main

LIFT = '''
from attractor.check import Record, Spec, action, always, constant, leads_to, predicate, require, sometimes, var


class Door(Record):
    is_open: bool = False


class Lift(Spec):
    """A lift that may move with its door open."""

    floors: int = constant(3)
    label: str = constant("north")
    careful: bool = constant(False)

    floor: int = var(0)
    door: Door = var(Door())

    @action
    def up(self) -> None:
        """Move up."""
        require(self.floor < self.floors - 1)
        require(not self.careful or not self.door.is_open)
        self.floor += 1

    @action
    def turn(self) -> None:
        """Open or close the door."""
        self.door = self.door.but(is_open=not self.door.is_open)

    @always
    def closed_between_floors(self) -> bool:
        """The door is closed above the ground floor."""
        return self.floor == 0 or not self.door.is_open

    @sometimes
    def at_the_top(self) -> bool:
        return self.floor == self.floors - 1

    @sometimes
    def in_the_cellar(self) -> bool:
        return self.floor < 0

    @predicate
    def is_open(self) -> bool:
        return self.door.is_open

    closes = leads_to(is_open, lambda self: not self.door.is_open)


class Other(Spec):
    n: int = var(0)

    @action
    def explode(self) -> None:
        self.n = int({}["nowhere"])


def make(floors: int = 2) -> Lift:
    return Lift(floors=floors)
'''


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``attractor`` with these arguments, in an empty folder that has ``lift.py``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lift.py").write_text(LIFT)

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        shown = capsys.readouterr()
        return Result(code, shown.out, shown.err)

    return call
