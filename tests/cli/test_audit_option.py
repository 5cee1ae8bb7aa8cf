"""``attractor check --audit``: what only another process can see is refused with the line of the first departure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

WORLD = """
import datetime, os, sys
from attractor import Context, Key, controller
from attractor.check import World
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta

GIVEN = {given}
START = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))


@controller(for_=ConfigMap)
async def notes(ctx: Context, key: Key) -> None:
    found = await ctx.find(ConfigMap, key)
    if found and not found.data:
        found.data = {{"given": str({value})}}
        await ctx.update(found)


world = World(controllers=[notes], objects=[START])
"""
SPEC = """
from attractor.check import Spec, action, require, var

NAMES = {given}


class Bare(Spec):
    n: str = var("")

    @action
    def turn(self) -> None:
        require(not self.n)
        self.n = NAMES
"""
IMPURE = {
    "a hash by another name": ('getattr("pair", "__ha" + "sh__")()', "GIVEN"),
    "the order of a set, taken at import": ("[*{'alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'}]", "GIVEN"),
    "an address, as a number": ("id(sys.intern('a' * 9000))", "GIVEN"),
    "the environment": ('os.environ.get("REGION", "eu")', "GIVEN"),
    "the day": ("datetime.date.today()", "GIVEN"),
    "the time zone": ("datetime.datetime.fromtimestamp(0)", "GIVEN"),
}


@pytest.mark.parametrize(("given", "value"), IMPURE.values(), ids=IMPURE)
def test_what_another_process_has_differently_is_refused_with_the_line(
    run: Run, tmp_path: Path, given: str, value: str
) -> None:
    file = tmp_path / "impure.py"
    file.write_text(WORLD.format(given=given, value=value))
    done = run("check", str(file), "--audit")
    assert done.code == 2
    assert "impure.py:" in done.err
    assert (
        "in one process" in done.err and "it must depend on its answers only" in done.err
    ) or "makes a text" in done.err


def test_a_world_that_depends_on_its_answers_only_passes(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "pure.py"
    file.write_text(WORLD.format(given="sorted({'b', 'a'})", value="GIVEN"))
    done = run("check", str(file), "--audit")
    assert (done.code, done.err) == (0, "")
    assert "distinct states" in done.out


def test_a_step_of_a_specification_is_compared_too(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bare.py"
    file.write_text(SPEC.format(given="str(hash('a'))"))
    done = run("check", str(file), "--audit", "--no-deadlock")
    assert done.code == 2
    assert "bare.py:10: turn did `n := " in done.err
    file.write_text(SPEC.format(given="'a'"))
    assert run("check", str(file), "--audit", "--no-deadlock").code == 0


def test_a_module_that_another_process_cannot_load_is_told(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bare.py"
    file.write_text(SPEC.format(given="__import__('pathlib').Path('lift.py').read_text()[:1]"))
    done = run("check", str(file), "--audit")
    assert done.code == 2
    assert "the same check fails in another process, with another hash seed" in done.err
    assert "No such file or directory: 'lift.py'" in done.err


def test_the_option_says_what_it_cannot_be_used_with(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bare.py"
    file.write_text(SPEC.format(given="'a'"))
    done = run("check", str(file), "--audit", "--simulate", "10")
    assert done.code == 2
    assert "--audit cannot be used with --simulate" in done.err
