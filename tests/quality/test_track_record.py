"""Seeded bugs: each is found by the property that should find it, after a pinned number of steps, and the sound
specification beside it holds, completely explored. ``docs/explanation/track-record.md`` is this table as a page."""

from __future__ import annotations

import importlib
import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from attractor.check import Spec, Verdict, check
from attractor.check.engine.selection import EngineName
from attractor.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "track-record.md"
SPECS = "attractor.check.specs"

Constants = dict[str, Any]


@dataclass(frozen=True)
class Bug:
    """A specification with a bug, the claim that it breaks after ``steps``, and the same without the bug.

    ``loop`` is for bugs that only whole runs show: the step after which the run goes round; as many as ``steps`` where it
    stays where it is.
    """

    spec: str
    kind: str
    claim: str
    steps: int
    loop: int | None
    sound: str
    constants: Constants = field(default_factory=dict)
    sound_constants: Constants = field(default_factory=dict)

    def seeded(self) -> Spec:
        """The specification with the bug."""
        return load(self.spec)(**self.constants)

    def repaired(self) -> Spec:
        """The specification without it, with the same constants unless one of them is the bug."""
        spec = load(self.sound)
        given = {name: value for name, value in self.seeded().constants.items() if name in spec().constants}
        return spec(**{**given, **self.sound_constants})

    @property
    def command(self) -> str:
        """What shows it again."""
        words = ["attractor", "check", f"{SPECS}.{self.spec}"]
        words += [word for name, value in self.constants.items() for word in ("--const", f"{name}={value}")]
        return shlex.join([*words, "--property", self.claim])


def load(path: str) -> type[Spec]:
    """The class that ``module:Name`` names, below the shipped specifications."""
    module, name = path.split(":")
    found: type[Spec] = getattr(importlib.import_module(f"{SPECS}.{module}"), name)
    return found


WQ, CLOCK, CLUSTER, APP = "workqueue:WorkQueue", "clock:Clock", "clusterinst:ClusterInst", "appinst:AppInst"
UPGRADE, COMMIT = "cloudlet_upgrade:CloudletUpgrade", "transaction_commit:CommitProtocol"
PETERSON, TABLE, IRSA = "peterson:Peterson", "philosophers:Philosophers", "irsa:Irsa"
SHARED, GROUP = "sharedwrites:SharedWrites", "groupcommit:GroupCommit"

BUGS = [
    # work queue
    Bug("mistakes.workqueue:ForgetsAddsWhileProcessing", "lost wake-up", "no_lost_wake_up", 4, 4, WQ),
    Bug("mistakes.workqueue:DoneForgetsDirty", "lost wake-up", "no_lost_wake_up", 4, 4, WQ),
    Bug("mistakes.workqueue:PanicKeepsKey", "missing clean-up", "no_lost_wake_up", 4, 4, WQ),
    Bug("mistakes.workqueue:NoRetryAfterFailure", "missing requeue", "no_lost_wake_up", 3, 3, WQ),
    Bug("mistakes.workqueue:QueuesWhileProcessing", "double processing", "no_concurrent_processing", 4, None, WQ),
    Bug("mistakes.workqueue:NoDeduplication", "double processing", "no_concurrent_processing", 4, None, WQ),
    Bug("mistakes.workqueue:GetKeepsDirty", "work without a reason", "no_work_without_a_reason", 4, None, WQ),
    Bug("mistakes.workqueue:LastInFirstOut", "unfair starvation", "no_lost_wake_up", 4, 1, WQ),
    Bug("mistakes.workqueue:OneWorkerHangs", "wrong fairness", "no_lost_wake_up", 6, 3, WQ),
    Bug(
        "mistakes.workqueue:ProductForgetsDirty",
        "product differs from algorithm",
        "refines_the_algorithm",
        4,
        None,
        "workqueue:ProductWorkQueue",
    ),
    # clock
    Bug(
        CLOCK,
        "crash window",
        "converges",
        27,
        27,
        CLOCK,
        {"stops_at_cm1": True, "crashes": 1, "duplicates": False},
        {"stops_at_cm1": False},
    ),
    Bug(
        CLOCK,
        "lost reply",
        "converges",
        33,
        19,
        CLOCK,
        {"stops_at_cm1": True, "losses": 1, "duplicates": False, "resync": True},
        {"stops_at_cm1": False},
    ),
    Bug(
        CLOCK,
        "stale read",
        "converges",
        11,
        11,
        CLOCK,
        {"stale_reads": True, "duplicates": False},
        {"resync": True},
    ),
    Bug(CLOCK, "lost notification", "converges", 4, 4, CLOCK, {"losses": 1}, {"resync": True}),
    Bug(
        CLOCK,
        "rival controller",
        "both_exist_at_the_deadline",
        31,
        None,
        CLOCK,
        {"controllers": 2, "stops_at_cm1": True, "duplicates": False},
        {"stops_at_cm1": False},
    ),
    Bug(CLOCK, "wrong bound", "both_exist_at_the_deadline", 15, None, CLOCK, {"deadline": 4}, {"deadline": 5}),
    Bug("mistakes.clock:CreatesCm2First", "wrong order", "cm2_implies_cm1", 13, None, CLOCK),
    Bug("mistakes.clock:DoesNotWait", "reordered messages", "cm2_implies_cm1", 13, None, CLOCK),
    Bug("mistakes.clock:SkipsMissingCm1", "missing guard", "is_map_and_clocks", 16, None, CLOCK),
    Bug("mistakes.clock:DropsFailedReconciles", "missing requeue", "converges", 8, 8, CLOCK, {}, {"resync": True}),
    Bug("mistakes.clock:BelievesOldReplies", "livelock on stale replies", "converges", 27, 21, CLOCK),
    Bug("mistakes.clock:WatchesFromNowOn", "crash window", "converges", 6, 6, CLOCK),
    Bug("mistakes.clock:DatabaseMayIgnoreUpdates", "wrong fairness", "converges", 13, 13, CLOCK),
    Bug(
        "mistakes.clock:AlreadyExistsIsAFailure",
        "repeated message",
        "converges",
        33,
        23,
        CLOCK,
        {},
        {"stops_at_cm1": False},
    ),
    # two actors
    Bug("mistakes.clusterinst:UserDeletesWhileCreating", "two owners of a state", "one_owner", 4, None, CLUSTER),
    Bug("mistakes.clusterinst:ControllerTimesOut", "two owners of a state", "one_owner", 2, None, CLUSTER),
    Bug("mistakes.clusterinst:ReportsAreNotNumbered", "late message", "stable_states_are_true", 9, None, CLUSTER),
    Bug("mistakes.clusterinst:ObeysOldRequests", "late message", "stable_states_are_true", 14, None, CLUSTER),
    Bug("mistakes.clusterinst:RestartedCrmClaimsSuccess", "crash window", "stable_states_are_true", 12, None, CLUSTER),
    Bug(
        "mistakes.clusterinst:UndoKeepsTheNewVersion", "wrong undo", "undo_goes_back_to_what_is_there", 5, None, CLUSTER
    ),
    Bug("mistakes.clusterinst:FailedCreateIsReady", "wrong undo", "one_owner", 5, None, CLUSTER),
    Bug("mistakes.clusterinst:UndoDiesWithItsRequest", "undo lost in a crash", "settles", 7, 7, CLUSTER),
    Bug("mistakes.clusterinst:NothingIsSaidAgain", "lost message", "settles", 3, 3, CLUSTER),
    Bug("mistakes.clusterinst:CreatingMustNotBeMissed", "reordered messages", "deadlock", 6, None, CLUSTER),
    Bug("mistakes.clusterinst:ReportsBeforeTheWork", "lost work", "stable_states_are_true", 4, None, CLUSTER),
    Bug("mistakes.clusterinst:TwoJobsAtOnce", "conflicting work", "no_conflicting_work", 7, None, CLUSTER),
    Bug("mistakes.appinst:ChecksTheClusterTooEarly", "check then act", "no_app_without_its_cluster", 7, None, APP),
    Bug("mistakes.appinst:DeletesTheClusterFirst", "wrong order", "no_app_without_its_cluster", 14, None, APP),
    Bug("mistakes.appinst:UpdatesClusterUnderApp", "missing guard", "no_dependent_work_in_parallel", 9, None, APP),
    Bug("mistakes.appinst:DyingClustersAreReady", "missing guard", "no_dependent_work_in_parallel", 10, None, APP),
    Bug("mistakes.appinst:WaitsForTheAppForEver", "stuck state", "deadlock", 20, None, APP),
    Bug("mistakes.appinst:RetriesTheAppForEver", "livelock", "settles", 21, 14, APP),
    # hand-over
    Bug(
        "mistakes.cloudlet_upgrade:ModifiesInUpdateDone",
        "missing guard",
        "no_modification_during_the_upgrade",
        9,
        None,
        UPGRADE,
    ),
    Bug(
        "mistakes.cloudlet_upgrade:UpgradesWhileModifying",
        "missing guard",
        "no_modification_during_the_upgrade",
        2,
        None,
        UPGRADE,
    ),
    Bug(
        "mistakes.cloudlet_upgrade:OldVersionSurvives",
        "incomplete hand-over",
        "hand_over_is_complete",
        10,
        None,
        UPGRADE,
    ),
    Bug(
        "mistakes.cloudlet_upgrade:OldVersionServesAfterRestart", "two servers", "never_two_servers", 12, None, UPGRADE
    ),
    Bug("mistakes.cloudlet_upgrade:BringsUpV2TooEarly", "runs ahead of the other actor", "upgrade_ends", 6, 6, UPGRADE),
    Bug("mistakes.cloudlet_upgrade:RestartedV1ForgetsTheUpgrade", "crash window", "upgrade_ends", 7, 7, UPGRADE),
    Bug("mistakes.cloudlet_upgrade:TrustsItsOwnState", "lost message", "upgrade_ends", 5, 5, UPGRADE),
    Bug("mistakes.cloudlet_upgrade:RemovesV1BeforeV2IsUp", "wrong order", "somebody_is_there", 7, None, UPGRADE),
    Bug("mistakes.cloudlet_upgrade:V2ServesBeforeItIsAcknowledged", "stuck state", "deadlock", 8, None, UPGRADE),
    # textbook
    Bug("mistakes.concurrency:GivesWayFirst", "wrong order", "mutual_exclusion", 6, None, PETERSON),
    Bug("mistakes.concurrency:TakesTheTurn", "missing guard", "mutual_exclusion", 6, None, PETERSON),
    Bug("mistakes.concurrency:NoTurn", "deadlock", "deadlock", 4, None, PETERSON),
    Bug("mistakes.concurrency:StaysInside", "wrong fairness", "no_starvation", 5, 5, PETERSON),
    Bug("mistakes.concurrency:AbortsAfterPreparing", "broken promise", "consistent", 9, None, COMMIT),
    Bug("mistakes.concurrency:CommitsWithoutAll", "missing guard", "is_transaction_commit", 4, None, COMMIT),
    Bug("mistakes.concurrency:ChangesItsMind", "missing guard", "consistent", 10, None, COMMIT),
    Bug("mistakes.concurrency:CommitsUnprepared", "wrong order", "is_transaction_commit", 8, None, COMMIT),
    Bug(
        COMMIT,
        "blocked by a crash",
        "everyone_decides",
        4,
        4,
        COMMIT,
        {"coordinator_crashes": True},
        {"coordinator_crashes": False},
    ),
    Bug(TABLE, "deadlock", "deadlock", 6, None, TABLE, {"polite": False}, {"polite": True}),
    Bug("philosophers:WeaklyServed", "unfair starvation", "none_starves", 5, 1, TABLE),
    Bug("mistakes.concurrency:GrabsForks", "missing guard", "neighbours_do_not_eat_together", 6, None, TABLE),
    # writes to a shared store
    Bug(
        SHARED,
        "turns wait for each other",
        "deadlock",
        18,
        None,
        SHARED,
        {"replacing": (0,), "keeps_turn": True, "waits_for_retry": True},
        {"keeps_turn": False, "waits_for_retry": False},
    ),
    Bug(
        GROUP,
        "compares too early",
        "is_as_one_after_the_other",
        4,
        None,
        GROUP,
        {"is_serial": False},
        {"is_serial": True},
    ),
    Bug(
        GROUP,
        "fails with another",
        "refused_only_when_changed",
        7,
        None,
        GROUP,
        {"fails_together": True},
        {"fails_together": False},
    ),
    Bug(
        GROUP,
        "missed event",
        "watcher_misses_nothing",
        11,
        None,
        GROUP,
        {"one_revision": True},
        {"one_revision": False},
    ),
    # IRSA
    Bug(IRSA, "deadlock", "deadlock", 11, None, IRSA, {"workers": 1}, {"workers": 2}),
    Bug("mistakes.irsa:DoneForgetsDirty", "lost wake-up", "terminates", 11, 11, IRSA),
    Bug(
        "mistakes.irsa:QueuesWhileProcessing",
        "double processing",
        "no_concurrent_processing_of_same_resource",
        11,
        None,
        IRSA,
    ),
    Bug("mistakes.irsa:OwnerIsNotToldOfItsPolicy", "missing requeue", "deadlock", 15, None, IRSA),
    Bug("mistakes.irsa:AttachesWithoutRecording", "state not recorded", "terminates", 28, 28, IRSA),
]


def identity(bug: Bug) -> str:
    """A readable name for a test."""
    return "-".join([bug.spec.rsplit(":", 1)[1], *bug.constants, bug.claim])


def judged(spec: Spec, name: str, engine: EngineName = "native", *, stop_at_first: bool = False) -> Verdict:
    """The verdict on one property; deadlock is judged only where it is the one."""
    names = () if name == "deadlock" else (name,)
    return check(spec, engine=engine, properties=names, deadlock=not names, stop_at_first=stop_at_first)


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("bug", BUGS, ids=identity)
def test_the_seeded_bug_is_found_by_a_short_trace(bug: Bug, engine: EngineName) -> None:
    trace = judged(bug.seeded(), bug.claim, engine, stop_at_first=True).assert_violated(bug.claim)
    assert (len(trace), trace.loop) == (bug.steps, bug.loop), trace.text()


@pytest.mark.parametrize("bug", BUGS, ids=identity)
def test_without_the_bug_the_property_holds_in_every_reachable_state(bug: Bug) -> None:
    verdict = judged(bug.repaired(), bug.claim)
    assert verdict.bound is None
    answer = verdict[bug.claim]
    assert (answer.verdict, answer.vacuous) == ("holds", None), verdict.text()


def test_there_are_at_least_twenty_five_bugs_of_many_kinds_in_every_specification() -> None:
    assert len({(bug.spec, bug.claim, tuple(bug.constants)) for bug in BUGS}) == len(BUGS) >= 25
    assert len({bug.kind for bug in BUGS}) >= 15
    assert {bug.sound for bug in BUGS} >= {WQ, CLOCK, CLUSTER, APP, UPGRADE, COMMIT, PETERSON, TABLE, IRSA, SHARED}


@pytest.mark.parametrize("bug", BUGS, ids=identity)
def test_the_command_shows_the_bug_again(
    bug: Bug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*shlex.split(bug.command)[1:], "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    (claim,) = [each for each in printed["properties"] if each["name"] == bug.claim]
    assert (claim["verdict"], len(claim["trace"]["steps"])) == ("violated", bug.steps)


def row(bug: Bug) -> str:
    """The bug as a line of the page."""
    if bug.loop is None:
        length = f"{bug.steps}"
    else:
        length = f"{bug.steps}, then for ever" if bug.loop == bug.steps else f"{bug.steps}, round from {bug.loop}"
    return f"| {bug.kind} | {bug.claim} | {length} | `{bug.command}` |"


def test_the_page_lists_every_bug_with_the_command_that_shows_it_again() -> None:
    written = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "`attractor check" in line]
    assert written == [row(bug) for bug in BUGS], "the table should read:\n" + "\n".join(map(row, BUGS))
