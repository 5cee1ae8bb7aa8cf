"""``attractor check``: what it prints, what it answers, and how it helps."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attractor.check import check
from attractor.check.engine.exploration import Progress
from attractor.check.specs.irsa import Irsa
from attractor.cli.check.progress import Meter, short_number, short_time
from attractor.cli.terminal import ProgressLine
from tests.cli.conftest import Run

IRSA = "attractor.check.specs.irsa"
BARE = """
from attractor.check import Spec, action, var


class Bare(Spec):
    n: int = var(0)

    @action
    def turn(self) -> None:
        self.n = 1 - self.n
"""
LOST = """
from attractor.check import Bag, Spec, action, always, require, var


class Lost(Spec):
    bag: Bag[str] = var(Bag())
    kept: Bag[str] = var(Bag())

    @action
    def put(self) -> None:
        self.bag.add("x")

    @action
    def keep(self) -> None:
        require(len(self.kept) < 2)
        self.kept = self.kept.add("x")

    @action
    def rest(self) -> None:
        pass

    @always
    def few(self) -> bool:
        return len(self.bag) < 3
"""
ZÄHLER = """
from attractor.check import Spec, action, always, require, var


class 状態(Spec):
    n: int = var(0)

    @action
    def weiter(self) -> None:
        require(self.n < 4)
        self.n += 1

    @always
    def größe_ok(self) -> bool:
        return self.n < 1

    @always
    def Größe_ok(self) -> bool:
        return self.n < 2

    @always
    def grüße_ok(self) -> bool:
        return self.n < 3

    @always
    def 日本(self) -> bool:
        return self.n < 4
"""


def test_json_is_exactly_one_object_with_the_promised_fields(run: Run) -> None:
    found = run("check", IRSA, "--const", "workers=3", "--json")
    data = json.loads(found.out)
    assert found.code == 0
    assert found.err == ""
    assert found.out.count("\n") == 1
    assert data["spec"] == "Irsa(workers=3)"
    assert (data["verdict"], data["distinct"], data["generated"], data["depth"]) == ("holds", 31_292, 107_848, 48)
    assert data["seconds"] > 0
    names = {each["name"]: each for each in data["properties"]}
    assert {"name", "verdict", "vacuous", "trace"} <= set(names["terminates"])
    assert names["terminates"]["vacuous"] is None
    assert "conclusion is already true" in names["termination_is_the_last_action"]["vacuous"]


def test_json_of_a_violation_has_the_trace_and_writes_no_files(run: Run, tmp_path: Path) -> None:
    found = run("check", IRSA, "--const", "workers=1", "--json")
    data = json.loads(found.out)
    assert found.code == 1
    deadlock = next(each for each in data["properties"] if each["name"] == "deadlock")
    assert len(deadlock["trace"]["steps"]) == 11
    assert not (tmp_path / "traces").exists()


def test_a_holding_specification_is_reported_shortly(run: Run) -> None:
    found = run("check", "attractor.check.specs.peterson")
    assert found.code == 0
    assert found.out.startswith("Peterson()  (")
    assert "  holds         mutual_exclusion" in found.out
    assert "20 distinct states, 35 generated, depth 7" in found.out
    assert "error" not in found.out
    assert "\x1b" not in found.out


def test_a_violation_shows_what_changed_and_how_to_see_it_again(run: Run, tmp_path: Path) -> None:
    found = run("check", "lift.py:Lift", "--no-deadlock", "--property", "closed_between_floors")
    assert found.code == 1
    assert "error: property `closed_between_floors` is violated after 2 steps\n" in found.out
    assert "       door.is_open: false -> true\n" in found.out
    assert "hint: see it again with `attractor replay traces/lift-closed-between-floors.json`\n" in found.out
    assert (tmp_path / "traces" / "lift-closed-between-floors.json").is_file()


def test_a_promise_is_broken_by_a_run_that_goes_on_for_ever(run: Run) -> None:
    found = run("check", "lift.py:Lift", "--property", "closes", "--trace-dir", "found")
    assert found.code == 1
    assert "error: property `closes` is violated by a run that stops for ever after 1 step\n" in found.out
    assert "nothing more happens, for ever" in found.out
    assert "attractor replay found/lift-closes.json" in found.out


def test_a_state_that_is_never_reached_is_a_violation_without_a_trace(run: Run) -> None:
    found = run("check", "lift.py:Lift", "--property", "in_the_cellar")
    assert found.code == 1
    assert "property `in_the_cellar` is violated: no reachable state makes it true" in found.out


def test_the_same_run_is_not_printed_twice(run: Run) -> None:
    found = run("check", IRSA, "--const", "workers=1")
    assert found.out.count("role_has_no_role_arn(0)") == 2
    assert "  the same steps as for `deadlock`\n" in found.out


def test_warnings_say_why_a_holds_says_little(run: Run) -> None:
    found = run("check", IRSA)
    assert "warning: `termination_is_the_last_action` says little: wherever the premise holds" in found.out
    assert "warning: weak fairness of termination never matters" in found.out


@pytest.mark.parametrize(
    ("arguments", "bound"),
    [
        (("--depth", "5"), "depth 5"),
        (("--max-states", "100"), "100 states"),
        (("--memory", "1k"), "1024 bytes of memory"),
        (("--simulate", "20", "--seed", "4"), "20 random runs of 100 steps, seed 4"),
        (("--engine", "python", "--depth", "5"), "depth 5"),
    ],
    ids=str,
)
def test_a_bound_makes_the_verdict_inconclusive_and_is_named(run: Run, arguments: tuple[str, ...], bound: str) -> None:
    found = run("check", IRSA, *arguments)
    assert found.code == 3
    assert f"inconclusive: stopped at {bound}" in found.out
    assert json.loads(run("check", IRSA, "--json", *arguments).out)["bound"].startswith(bound)


def test_a_search_is_saved_and_resumed(run: Run) -> None:
    stopped = run("check", IRSA, "--const", "workers=3", "--max-states", "500", "--save", "half")
    assert stopped.code == 3
    data = json.loads(run("check", IRSA, "--const", "workers=3", "--resume", "half", "--json").out)
    assert (data["verdict"], data["distinct"], data["generated"]) == ("holds", 31_292, 107_848)


@pytest.mark.parametrize("options", [("--engine", "python"), ("--threads", "2"), ("--order", "depth")], ids=str)
def test_every_engine_answers_the_same(run: Run, options: tuple[str, ...]) -> None:
    data = json.loads(run("check", IRSA, "--json", *options).out)
    assert (data["verdict"], data["distinct"], data["generated"]) == ("holds", 7053, 19_180)


def test_coverage_counts_the_steps_of_each_action(run: Run) -> None:
    found = run("check", IRSA, "--coverage")
    row = next(line for line in found.out.splitlines() if line.startswith("  sa_all_done"))
    taken = next(each.taken for each in check(Irsa()).coverage if each.name == "sa_all_done")
    assert row.split()[1] == f"{taken:,}"
    assert json.loads(run("check", IRSA, "--coverage", "--json").out)["coverage"][0]["name"] == "add"


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (
            ("attractor.check.specs.irza",),
            "there is no module `attractor.check.specs.irza`",
            "`attractor.check.specs.irsa`",
        ),
        (("nowhere",), "there is no module `nowhere`", "such as `lift.py`"),
        (("missing.py",), "there is no file missing.py", "dotted name"),
        (("lift.py:Lfit",), "module `lift` has no specification `Lfit`", "did you mean `Lift`?"),
        (("lift.py:Door",), "`Door` is not a specification", "name a Spec class"),
        (("lift.py:Lift", "--const", "floor=2"), "Lift has no constant `floor`", "did you mean `floors`?"),
        (
            ("lift.py:Lift", "--const", "floors=two"),
            "constant `floors` is a whole number; 'two' is not",
            "default is 3",
        ),
        (("lift.py:Lift", "--const", "floors"), "`--const floors` is not NAME=VALUE", "workers=4"),
        (("lift.py:Lift", "--const", "careful=maybe"), "constant `careful` is true or false", "default is False"),
        (("lift.py:Lift", "--property", "close"), "Lift has no property `close`", "did you mean `closes`"),
        (("lift.py:Lift", "--seed", "3"), "--seed is for random runs", "--simulate"),
        (("lift.py:Lift", "--simulate", "3", "--symmetry"), "--symmetry cannot be used with --simulate", "--depth"),
        (("lift.py:Lift", "--resume", "nothing"), "there is no file nothing", "--save"),
        (("attractor.cli",), "module `attractor.cli` has no Spec class and no world", "class Lift(Spec)"),
        ((IRSA, "--graph", "big.svg", "--const", "workers=3"), "has more than 300 states", "--const"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_explained(run: Run, arguments: tuple[str, ...], error: str, hint: str) -> None:
    found = run("check", *arguments)
    assert found.code == 2
    assert found.out == ""
    assert found.err.startswith("error: ")
    assert error in found.err
    assert hint in found.err.partition("hint: ")[2]


def test_the_specification_named_as_the_module_is_the_prominent_one(run: Run) -> None:
    found = run("check", "lift.py", "--json")
    assert found.out.startswith('{"spec": "Lift(')
    assert found.err == "note: this is `Lift`; for `Other` write `lift.py:Other`\n"


def test_several_specifications_must_be_told_apart(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text((tmp_path / "lift.py").read_text())
    found = run("check", "two.py")
    assert found.code == 2
    assert "module `two` has several specifications: Lift, Other" in found.err
    assert "`attractor check two.py:Lift`" in found.err


def test_constants_take_the_kind_of_their_default(run: Run) -> None:
    found = run("check", "lift.py", "--const", "floors=2", "--const", "label=7", "--const", "careful=yes", "--json")
    assert json.loads(found.out)["spec"] == "Lift(floors=2, label='7', careful=True)"


def test_a_function_that_makes_a_specification_takes_constants(run: Run) -> None:
    assert json.loads(run("check", "lift.py:make", "--const", "floors=4", "--json").out)["spec"].startswith(
        "Lift(floors=4"
    )


def test_an_exception_in_a_step_is_no_verdict(run: Run) -> None:
    found = run("check", "lift.py:Other")
    assert found.code == 2
    assert "error: the specification's code raised an error, so nothing was decided: KeyError: 'nowhere'" in found.err
    assert "lift.py:" in found.err.partition("hint: look at ")[2]
    assert "Traceback" not in found.err


@pytest.mark.parametrize("size", ["0", "4X", "-1G", ""])
def test_a_size_of_memory_must_make_sense(run: Run, size: str) -> None:
    found = run("check", IRSA, f"--memory={size}")
    assert found.code == 2
    assert "is not a size" in found.err


@pytest.mark.parametrize("form", ["svg", "dot", "html"])
def test_a_small_graph_is_drawn(run: Run, form: str, tmp_path: Path) -> None:
    found = run("check", "lift.py", "--graph", f"graph.{form}", "--json")
    text = (tmp_path / f"graph.{form}").read_text()
    assert found.code == 1
    assert "turn" in text
    assert "floor = 1" in text


def test_progress_is_quiet_without_a_terminal_and_refreshed_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def __init__(self, tty: bool) -> None:
            self.tty, self.text = tty, ""

        def isatty(self) -> bool:
            return self.tty

        def write(self, text: str) -> None:
            self.text += text

        def flush(self) -> None: ...

    monkeypatch.setenv("TERM", "xterm")
    shown = {tty: Terminal(tty) for tty in (True, False)}
    for terminal in shown.values():
        line = ProgressLine(terminal)  # type: ignore[arg-type]
        line.show("5 states")
        line.clear()
    assert shown[False].text == ""
    assert shown[True].text == "\r\x1b[K5 states\r\x1b[K"


def test_progress_estimates_only_once_levels_shrink() -> None:
    meter = Meter(ProgressLine())
    for depth, frontier in enumerate([10, 100, 1000, 10_000], 1):
        meter(Progress(frontier * 2, frontier * 3, depth, frontier, 1.0))
    assert meter.text(Progress(20_000, 30_000, 4, 10_000, 2.0)).endswith("frontier 10,000  still growing")
    for depth, frontier in enumerate([5000, 2500, 1250, 625], 5):
        meter(Progress(30_000, 60_000, depth, frontier, 2.0))
    assert meter.text(Progress(30_000, 60_000, 8, 625, 2.0)).endswith("about 1 s left")
    assert (short_number(1_234_567), short_number(999)) == ("1.2 M", "999")
    assert (short_time(0.2), short_time(300), short_time(9000)) == ("1 s", "5 min", "2.5 h")


@pytest.mark.slow
def test_an_interrupt_gives_an_inconclusive_verdict_with_what_was_covered() -> None:
    command = [sys.executable, "-u", "-m", "attractor", "check", IRSA, "--const", "workers=16", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        _wait_for_processor_time(process.pid, 2.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    data = json.loads(out)
    assert process.returncode == 3, err
    assert (data["verdict"], data["bound"]) == ("inconclusive", "interrupted")
    assert data["distinct"] > 1000


def _wait_for_processor_time(process: int, seconds: float) -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    while True:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks > seconds:
            return


def test_a_reader_that_stops_reading_is_no_error() -> None:
    command = f"{sys.executable} -m attractor check {IRSA} --const workers=1 | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Irsa(workers=1)")
    assert done.stderr == ""


def test_a_module_without_a_class_is_about_its_world(run: Run) -> None:
    assert run("check", "attractor.operators.configpair.proofs").out.startswith("world of configpair ")
    several = run("check", "attractor.operators.dbcluster.proofs.worlds")
    assert several.code == 2
    assert "has several worlds: creation, " in several.err


def test_a_world_that_was_chosen_among_several_is_named(run: Run, tmp_path: Path) -> None:
    alone = "from attractor.operators.configpair import proofs\nworld = proofs.world()\n"
    (tmp_path / "one.py").write_text(alone)
    assert run("check", "one.py").err == ""
    (tmp_path / "several.py").write_text(f"{alone}crashing = world\nrivals = world\n")
    found = run("check", "several.py")
    assert found.out.startswith("world of configpair ")
    assert found.err == "note: this is `world`; for `crashing`, `rivals` write `several.py:crashing`\n"
    assert run("check", "several.py:world").err == ""


def test_a_verdict_is_said_although_its_traces_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "found").write_text("no folder")
    found = run("check", "lift.py:Lift", "--property", "closes", "--trace-dir", "found")
    assert found.code == 1
    assert "error: property `closes` is violated" in found.out
    assert "error: traces cannot be written to found: " in found.err


def test_a_file_that_is_no_saved_search_or_half_of_one_is_refused(run: Run, tmp_path: Path) -> None:
    assert "error: lift.py is not a saved search" in run("check", IRSA, "--resume", "lift.py").err
    run("check", IRSA, "--max-states", "500", "--save", "half")
    (tmp_path / "half").write_bytes((tmp_path / "half").read_bytes()[:1000])
    found = run("check", IRSA, "--resume", "half")
    assert found.code == 2
    assert "error: half is damaged" in found.err


def test_a_search_that_could_not_be_saved_does_not_begin(run: Run) -> None:
    found = run("check", IRSA, "--max-states", "500", "--save", "lift.py/below")
    assert (found.code, found.out, "the search cannot be saved to lift.py/below" in found.err) == (2, "", True)
    world = run("check", "attractor.operators.configpair.proofs", "--save", "kept")
    assert (world.code, "the search of a world cannot be saved" in world.err) == (2, True)


def test_a_saved_search_is_not_mixed_with_code_that_has_changed(run: Run, tmp_path: Path) -> None:
    stopped = run("check", "lift.py:Lift", "--no-deadlock", "--max-states", "2", "--save", "half")
    assert stopped.out.endswith("hint: go on with `--resume half`\n")
    again = [sys.executable, "-m", "attractor", "check", "lift.py:Lift", "--no-deadlock", "--resume", "half"]
    same = subprocess.run(again, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert same.returncode == 1
    (tmp_path / "lift.py").write_text((tmp_path / "lift.py").read_text().replace("floor += 1", "floor += 2"))
    other = subprocess.run(again, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (other.returncode, "before its code changed" in other.stderr) == (2, True)


def test_names_in_any_script_have_files_of_their_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zähler.py").write_text(ZÄHLER, encoding="utf-8")
    found = run("check", "zähler.py", "--no-deadlock")
    names = sorted(path.name for path in (tmp_path / "traces").iterdir())
    assert names == ["状態-größe-ok-2.json", "状態-größe-ok.json", "状態-grüße-ok.json", "状態-日本.json"]
    for name in names:
        assert f"attractor replay traces/{name}" in found.out
        assert run("replay", f"traces/{name}").code == 0


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_a_terminal_without_the_letters_shows_them_escaped(tmp_path: Path, json: tuple[str, ...]) -> None:
    (tmp_path / "zähler.py").write_text(ZÄHLER, encoding="utf-8")
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "attractor", "check", "zähler.py", *json]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=plain)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert r"\u72b6\u614b" in done.stdout


def test_output_that_cannot_be_written_is_told_as_such() -> None:
    for room in (["check", IRSA], ["crd", "attractor.operators.configpair.controllers"]):
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-m", "attractor", *room]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.stderr == "error: the output cannot be written: No space left on device\n"
        assert done.returncode == 2


def test_a_specification_that_promises_nothing_is_told_of(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(BARE)
    found = run("check", "bare.py", "--no-deadlock")
    assert "warning: nothing was decided: Bare promises nothing" in found.out


def test_a_changed_copy_that_nobody_assigns_is_told_of(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lost.py").write_text(LOST)
    found = run("check", "lost.py", "--json")
    (warning,) = json.loads(found.out)["warnings"]
    assert warning.startswith("action put never changes anything: values are immutable")


def test_more_threads_than_the_engine_takes_are_refused(run: Run) -> None:
    found = run("check", IRSA, "--threads", "1000")
    assert (found.code, "1000 threads are more than the engine takes" in found.err) == (2, True)


def test_a_function_that_fails_to_make_a_world_is_named_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text('def world():\n    return {}["no such key"]\n')
    found = run("check", "broken.py:world")
    assert found.code == 2
    assert "`world` failed before there was anything to check: KeyError: 'no such key'" in found.err
    assert "broken.py:2" in found.err
    assert "require" not in found.err


def test_a_directory_is_no_module(run: Run, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    found = run("check", "traces")
    assert found.code == 2
    assert "`traces` is a directory without an `__init__.py`" in found.err
