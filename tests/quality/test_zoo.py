"""The zoo: small real controllers with one classic bug each, found by the checker, and their fixed twins, proved.

Each animal is a file of ``zoo``: ``buggy`` and ``fixed`` side by side, and ``world(controller)``, in which both are judged
alike. ``docs/explanation/zoo.md`` is this table as a page.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import Bounds, Faults, check
from attractor.cli.main import main
from attractor.testing.replay import replay

if TYPE_CHECKING:
    from attractor.check import World

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "zoo.md"
ZOO = Path(__file__).parent / "zoo"
NO_ANIMALS = {"__init__", "kinds"}


@dataclass(frozen=True)
class Animal:
    """A bug, the claim that finds it after ``steps``, and how many states the fixed twin's world has.

    ``loop`` is for claims about whole runs: the step after which the run goes round; as many as ``steps`` where it stays
    where it is.
    """

    name: str
    claim: str
    steps: int
    loop: int | None
    fixed_states: int

    @property
    def module(self) -> Any:
        """The animal's file."""
        return importlib.import_module(f"tests.quality.zoo.{self.name}")

    def world(self, which: str) -> World:
        """The world with the buggy controller, or with the fixed one."""
        made: World = self.module.world(getattr(self.module, which))
        return made

    @property
    def target(self) -> str:
        """What to check, for the command line."""
        return f"tests.quality.zoo.{self.name}:world"

    @property
    def kind(self) -> str:
        """The kind of bug, and what goes wrong: the first sentence of the file."""
        return str(self.module.__doc__).partition(":")[0]

    @property
    def story(self) -> str:
        """What goes wrong: the rest of the first sentence."""
        return str(self.module.__doc__).partition(":")[2].partition(".\n")[0].strip()


ANIMALS = [
    Animal("already_exists_is_a_failure", "eventually stable", 15, 11, 58),
    Animal("already_exists_is_success", "eventually stable", 21, 21, 1275),
    Animal("apply_by_force", "quiesces", 17, 7, 105),
    Animal("back_in_time_after_a_restart", "what is wanted is not deleted", 14, None, 223),
    Animal("capacity_from_a_list", "capacity is kept", 9, None, 53),
    Animal("clean_up_insists", "eventually stable", 11, 7, 133),
    Animal("cleans_up_for_a_predecessor", "ready apps have their child", 19, None, 91737),
    Animal("conflict_swallowed", "eventually stable", 9, 9, 27),
    Animal("counted_by_each_process", "there is at most one", 12, None, 84),
    Animal("counter_in_memory", "announced revisions stay", 22, None, 3025),
    Animal("counts_its_own_writes", "quiesces", 23, 8, 24),
    Animal("defaults_are_a_difference", "quiesces", 36, 6, 12),
    Animal("delete_without_uid", "eventually stable", 30, 30, 9698),
    Animal("deletes_by_label", "what is not ours is left alone", 8, None, 15),
    Animal("deletion_is_not_heard", "eventually stable", 12, 12, 34),
    Animal("deletion_waits_for_the_spec", "eventually stable", 14, 10, 450),
    Animal("drained_too_early", "eventually stable", 8, 8, 101),
    Animal("edge_triggered", "eventually stable", 12, 12, 61),
    Animal("error_swallowed", "eventually stable", 6, 6, 22),
    Animal("expired_after_renewal", "what was renewed is not expired", 7, None, 69),
    Animal("failed_is_for_ever", "eventually stable", 12, 12, 78),
    Animal("finalizer_removed_first", "eventually stable", 18, 18, 142),
    Animal("finalizer_too_late", "eventually stable", 13, 13, 132),
    Animal("generation_of_another_read", "status is not ahead", 9, None, 243),
    Animal("lowest_free_number", "numbers differ", 9, None, 128),
    Animal("memory_by_name", "eventually stable", 12, 12, 81),
    Animal("memory_is_the_truth", "eventually stable", 11, 11, 34),
    Animal("names_are_generated", "there is at most one", 13, None, 53),
    Animal("not_in_the_cache_is_gone", "eventually stable", 28, 28, 63356),
    Animal("not_owned", "eventually stable", 11, 11, 186),
    Animal("nothing_changed_nothing_to_do", "eventually stable", 13, 13, 78),
    Animal("outside_call_repeated", "one volume is enough", 9, None, 23),
    Animal("owner_in_another_namespace", "eventually stable", 11, 11, 9),
    Animal("predicate_too_narrow", "eventually stable", 12, 12, 61),
    Animal("recreates_without_waiting", "eventually stable", 27, 27, 1330),
    Animal("reference_not_watched", "eventually stable", 10, 10, 59),
    Animal("relies_on_every_state", "eventually stable", 12, 12, 132),
    Animal("renamed_child_left_behind", "eventually stable", 17, 17, 114),
    Animal("replaced_by_delete_and_create", "ready apps have a child", 14, None, 222),
    Animal("replaced_while_the_watch_was_closed", "eventually stable", 14, 14, 582),
    Animal("requeue_lost", "eventually stable", 7, 7, 33),
    Animal("result_of_a_predecessor", "results are of the app", 17, None, 349),
    Animal("scale_down_on_an_old_spec", "what is reported is there", 15, None, 95160),
    Animal("stale_status_written_back", "eventually stable", 11, 11, 48),
    Animal("status_before_the_work", "eventually stable", 10, 10, 58),
    Animal("stops_at_the_first_child", "eventually stable", 12, 12, 61),
    Animal("switches_too_early", "what is in use is there", 5, None, 24),
    Animal("transient_is_terminal", "eventually stable", 6, 6, 22),
    Animal("two_controllers_one_field", "quiesces", 17, 7, 105),
    Animal("two_leaders", "what is reported is so", 14, None, 150321),
    Animal("two_owners_of_one_child", "quiesces", 17, 7, 195),
    Animal("unguarded_write", "eventually stable", 9, 9, 27),
    Animal("writes_the_time", "quiesces", 18, 6, 28),
    Animal("wrong_owner", "eventually stable", 31, 7, 13),
]
NAMES = [each.name for each in ANIMALS]


@pytest.mark.parametrize("animal", ANIMALS, ids=NAMES)
def test_the_bug_is_found_by_a_short_trace_that_the_runtime_confirms(animal: Animal) -> None:
    world = animal.world("buggy")
    trace = check(world, stop_at_first=True).assert_violated(animal.claim)
    assert (len(trace), trace.loop) == (animal.steps, animal.loop), trace.actions
    replayed = asyncio.run(replay(world, trace))
    assert replayed.is_confirmed, str(replayed)


@pytest.mark.parametrize("animal", ANIMALS, ids=NAMES)
def test_the_fixed_twin_holds_in_every_reachable_state_of_the_same_world(animal: Animal) -> None:
    verdict = check(animal.world("fixed")).assert_holds()
    assert (verdict.bound, verdict.distinct) == (None, animal.fixed_states)


ALONE = [each for each in ANIMALS if len(each.world("fixed").hosts) == 1]
"""Those in worlds of one process; with two, more faults make too many states for a unit test."""


@pytest.mark.parametrize("animal", ALONE, ids=[each.name for each in ALONE])
def test_the_fixed_twin_withstands_a_crash_a_lost_request_and_a_lost_answer_too(animal: Animal) -> None:
    world = animal.world("fixed")
    world.faults = replace(world.faults, crash=1, lost_request=1, lost_answer=1)
    assert check(world).assert_holds().bound is None


def test_most_bugs_do_not_show_on_a_calm_day() -> None:
    calm = []
    for animal in ANIMALS:
        world = animal.world("buggy")
        world.users, world.faults, world.hosts = (), Faults(), ("host1",)
        world.workers, world.bounds = 1, Bounds(lag=1)
        world.controllers = tuple(replace(one, workers=1) for one in world.controllers)
        if not check(world).violations():
            calm.append(animal.name)
    assert len(calm) == 43, calm
    assert "43 of them hold" in PAGE.read_text()


def test_the_front_page_counts_the_animals() -> None:
    assert f"{len(ANIMALS)} classic controller bugs" in (ROOT / "README.md").read_text()


def test_every_animal_is_in_the_table_and_there_are_more_than_thirty_of_many_kinds() -> None:
    assert sorted(path.stem for path in ZOO.glob("*.py") if path.stem not in NO_ANIMALS) == NAMES
    assert len(ANIMALS) >= 30
    assert len({each.kind for each in ANIMALS}) >= 15


def row(animal: Animal) -> str:
    """The animal as a line of the page."""
    link = f"[{animal.kind.lower()}](../../tests/quality/zoo/{animal.name}.py)"
    length = f"{animal.steps}" if animal.loop is None else f"{animal.steps}, then for ever"
    if animal.loop is not None and animal.loop < animal.steps:
        length = f"{animal.steps}, round from {animal.loop}"
    return f"| {link}: {animal.story} | {animal.claim} | {length} | `attractor check {animal.target} --stop-at-first` |"


def test_the_page_lists_every_animal_with_the_command_that_shows_it_again() -> None:
    written = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "`attractor check tests" in line]
    assert written == [row(each) for each in ANIMALS], "the table should read:\n" + "\n".join(map(row, ANIMALS))


@pytest.mark.parametrize("animal", ANIMALS, ids=NAMES)
def test_the_command_shows_the_bug_again(
    animal: Animal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["check", animal.target, "--stop-at-first", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    (claim,) = [each for each in printed["properties"] if each["name"] == animal.claim]
    assert (claim["verdict"], len(claim["trace"]["steps"])) == ("violated", animal.steps)


def test_the_command_works_in_a_shell(tmp_path: Path) -> None:
    animal = ANIMALS[0]
    command = [
        sys.executable,
        "-m",
        "attractor",
        "check",
        animal.target,
        "--stop-at-first",
        "--trace-dir",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"error: property `{animal.claim}` is violated" in done.stdout
