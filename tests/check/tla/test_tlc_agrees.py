"""TLC, run on what we export, counts the same states and gives the same verdicts."""

from pathlib import Path

import pytest

from attractor.check import Spec, check
from attractor.check.spec.declarations import Terminal
from attractor.check.specs.irsa import Irsa
from attractor.check.specs.peterson import Peterson
from attractor.check.specs.philosophers import Philosophers, WeaklyServed
from attractor.check.specs.transaction_commit import TransactionCommit
from attractor.check.specs.twophase import TwoPhaseCommit
from attractor.check.specs.workqueue import WorkQueue
from attractor.check.tla import export
from tests.check.tla import tlc
from tests.check.tla.every_construct import EveryConstruct

pytestmark = pytest.mark.slow

SPECS: list[Spec] = [
    Irsa(workers=1),
    Irsa(workers=2),
    Irsa(workers=3),
    TwoPhaseCommit(managers=3),
    TransactionCommit(managers=3),
    Peterson(),
    Philosophers(seats=3),
    Philosophers(seats=4, polite=False),
    WorkQueue(keys=2, workers=2),
    EveryConstruct(),
]


def written(spec: Spec, folder: Path) -> tuple[Path, Path, Path]:
    exported = export(spec)
    for name, text in exported.files.items():
        (folder / name).write_text(text)
    return folder / f"{exported.name}.tla", folder / f"{exported.name}.cfg", folder / f"{exported.name}Liveness.cfg"


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_tlc_counts_the_same_states_and_steps(spec: Spec, tmp_path: Path) -> None:
    module, safety, _ = written(spec, tmp_path)
    ours = check(spec, properties=[], deadlock=False)
    answer = tlc.run(module, safety, "-deadlock")
    assert answer.is_fine, answer.text
    assert (answer.distinct, answer.depth) == (ours.distinct, ours.depth)
    # TLC counts a step once for each witness of a guard that says "some"; an exported `terminal` is a step that stays.
    if not isinstance(spec, EveryConstruct) and not spec.of(Terminal):
        assert answer.generated == ours.generated


def test_tlc_finds_the_same_deadlock(tmp_path: Path) -> None:
    spec = Irsa(workers=1)
    module, safety, _ = written(spec, tmp_path)
    answer = tlc.run(module, safety)
    assert "Deadlock reached" in answer.text
    states = answer.text.count("\nState ")
    assert states == len(check(spec).assert_violated("deadlock")) + 1


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (Irsa(workers=1), "terminates"),
        (Irsa(workers=2), "terminates"),
        (Peterson(), "no_starvation"),
        (Philosophers(seats=3), "none_starves"),
        (WeaklyServed(seats=3), "none_starves"),
        (WorkQueue(keys=2, workers=2), "no_lost_wake_up"),
    ],
    ids=str,
)
def test_tlc_gives_the_same_verdict_on_whole_runs(spec: Spec, name: str, tmp_path: Path) -> None:
    module, _, liveness = written(spec, tmp_path)
    answer = tlc.run(module, liveness)
    assert answer.is_fine == (check(spec)[name].verdict == "holds"), answer.text
    assert answer.is_fine or "Temporal properties were violated" in answer.text


def test_tlc_accepts_other_constants_in_the_configuration(tmp_path: Path) -> None:
    module, safety, _ = written(Philosophers(seats=3), tmp_path)
    safety.write_text(safety.read_text().replace("seats = 3", "seats = 4"))
    answer = tlc.run(module, safety)
    assert answer.distinct == check(Philosophers(seats=4)).distinct
