"""Properties of Executables and their replica sets, decided by the checker on the controllers themselves.

``ProcessesModel`` stands for the machine. As on the real one, a run begins when a shim claims it, some time after it
was asked for, also when whoever asked has died by then; what was claimed has a process some time later, also when the
records have been removed by then; and a process may end at any moment.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from attractor.check import always, always_step, eventually_stable, happens
from attractor.objects.resource import MicroTime
from attractor.operators.devplane.api.executables import FINAL, MOVES, Executable, ExecutableReplicaSet
from attractor.operators.devplane.api.services import Service
from attractor.operators.devplane.drivers.processes import Processes, Run
from attractor.runtime import Context, Key, Result, controller
from attractor.runtime.toolkit.owners import is_controlled_by

if TYPE_CHECKING:
    from attractor.check import WorldProperty, WorldState
    from attractor.operators.devplane.api.executables import Phase
    from attractor.operators.devplane.controllers.health import Question
    from attractor.operators.devplane.drivers.processes import Launch

LONG_AGO = MicroTime.of(datetime(2020, 1, 1, tzinfo=UTC))
FAILURE = 3
"""The code with which processes end by themselves."""


class ModelRun(NamedTuple):
    """A run, and how far it is."""

    key: Key
    uid: str
    number: int
    state: Literal["sent", "starting", "running", "ended"]
    """Sent: its shim was started, and has not claimed it."""
    is_stopped: bool = False
    is_removed: bool = False
    """Whether nothing is written down about it, although it lives."""
    word: str = ""
    """What it was begun for."""

    @property
    def is_live(self) -> bool:
        """Return whether there is a process, or will be in any case."""
        return self.state in {"starting", "running"}

    @property
    def seen(self) -> Run:
        """Return the run as the controller finds it."""
        is_over = self.state == "ended"
        return Run(
            self.number,
            "ended" if is_over else "running" if self.state == "running" else "starting",
            pid=self.number + 1,
            started_at=LONG_AGO,
            finished_at=LONG_AGO if is_over else None,
            exit_code=None if not is_over else FAILURE if not self.is_stopped else 143,
            is_stopped=self.is_stopped,
            word=self.word,
        )


class ProcessesModel:
    """A machine, as its controller may find it."""

    def __init__(self, exits: int = 1) -> None:
        self.runs: tuple[ModelRun, ...] = ()
        self.exits = exits
        """How many processes may still end by themselves."""

    def look(self, uid: str) -> Run | None:
        """The latest run that was claimed."""
        claimed = [run for run in self._of(uid) if run.state != "sent"]
        return max(claimed, key=lambda run: run.number).seen if claimed else None

    def start(self, key: Key, uid: str, number: int, launch: Launch) -> None:
        """Send a shim, which claims the run if nobody has."""
        if number not in {run.number for run in self._of(uid)}:
            self.runs = tuple(sorted((*self.runs, ModelRun(key, uid, number, "sent", word=launch.word))))

    def stop(self, key: Key, uid: str, grace_s: float) -> None:
        """End or cancel every run."""
        over = {run: run._replace(state="ended", is_stopped=True) for run in self._of(uid) if run.state != "ended"}
        self._replace(over)

    def remove(self, uid: str) -> None:
        """Forget all runs; one that was claimed goes on all the same."""
        self._replace({run: run._replace(is_removed=True) for run in self._of(uid)})
        self.runs = tuple(run for run in self.runs if run.is_live or not run.is_removed)

    def strays(self, key: Key, uid: str) -> tuple[str, ...]:
        """Others of this name."""
        return tuple(sorted({run.uid for run in self.runs if run.key == key and run.uid != uid and not run.is_removed}))

    def free_port(self, address: str) -> int:
        """Always the same: which one, nobody asks."""
        return 8080

    def _of(self, uid: str) -> list[ModelRun]:
        return [run for run in self.runs if run.uid == uid and not run.is_removed]

    def _replace(self, others: dict[ModelRun, ModelRun]) -> None:
        self.runs = tuple(sorted(others.get(run, run) for run in self.runs))

    def _advance(self, state: str, following: Literal["starting", "running", "ended"]) -> list[Key]:
        found = [run for run in self.runs if run.state == state][:1]
        self._replace({run: run._replace(state=following) for run in found})
        return [run.key for run in found]

    @happens(fair=True)
    def shim_claims_its_run(self) -> list[Key]:
        """Of those that were sent."""
        return self._advance("sent", "starting")

    @happens(fair=True)
    def process_begins(self) -> list[Key]:
        """Of a run that was claimed."""
        return self._advance("starting", "running")

    @happens()
    def process_ends_by_itself(self) -> list[Key]:
        """With a code that means failure."""
        if not self.exits:
            return []
        self.exits -= 1
        told = self._advance("running", "ended")
        if not told:
            self.exits += 1
        return told


class ProberModel:
    """Every process is healthy, until one is not any more."""

    def __init__(self, *, fails: bool = False) -> None:
        self.problem = ""
        self.fails = fails

    def ask(self, question: Question) -> str:
        """Return what a probe finds."""
        return self.problem

    @happens(times=1)
    def something_breaks(self) -> None:
        """For ever, where the model allows it."""
        self.problem = "broken" if self.fails else ""


def machine(look: WorldState) -> ProcessesModel:
    """The machine of a world."""
    found: ProcessesModel = look.external(Processes)
    return found


def live(look: WorldState) -> list[str]:
    """The uids of all processes that are there, or will be in any case."""
    return [run.uid for run in machine(look).runs if run.is_live]


def never_two_processes(look: WorldState) -> bool:
    """No Executable has two processes at once."""
    found = live(look)
    return len(found) == len(set(found))


def every_process_has_its_executable(look: WorldState) -> bool:
    """A process is there only while its very Executable is, and says that it is there."""
    phases = {one.metadata.uid: one.status.phase for one in look.list(Executable)}
    return all(phases.get(uid, "") != "" for uid in live(look))


def phases_follow_the_table(before: WorldState, after: WorldState) -> bool:
    """An Executable changes its phase only as the table of moves allows."""
    phases: dict[str, Phase] = {one.metadata.uid: one.status.phase for one in before.list(Executable)}
    told: list[tuple[Phase, Phase]] = [
        (phases.get(one.metadata.uid, ""), one.status.phase) for one in after.list(Executable)
    ]
    return all(one == other or other in MOVES[one] for one, other in told)


def is_as_wanted(look: WorldState) -> bool:
    """Each Executable runs, or has ended for good, and says so; nothing is left of those that are gone."""
    stored, runs = look.list(Executable), machine(look).runs
    if {run.uid for run in runs} - {one.metadata.uid for one in stored}:
        return False
    return all(_is_settled(one, [run for run in runs if run.uid == one.metadata.uid]) for one in stored)


def _is_settled(stored: Executable, runs: list[ModelRun]) -> bool:
    status = stored.status
    if stored.metadata.is_deleting or status.observed_generation != stored.metadata.generation:
        return False
    if status.phase in FINAL:
        return not any(run.is_live for run in runs)
    if status.phase == "":
        return not stored.spec.start and not runs
    if status.phase == "Starting":
        return status.message.startswith("waits for ") and not runs
    latest = max(runs, key=lambda run: run.number, default=None)
    is_running = latest is not None and latest.state == "running" and latest.number == status.restarts
    is_meant = latest is not None and latest.word == stored.spec.restart == status.restart
    return status.phase == "Running" and is_running and is_meant and not stored.spec.stop


MOST = 2
"""The most replicas that a world ever asks for."""


def never_too_many_replicas(look: WorldState) -> bool:
    """There are never more replicas than were wanted."""
    return sum(not one.metadata.is_deleting for one in look.list(Executable)) <= MOST


def sets_are_complete(look: WorldState) -> bool:
    """Each set has as many replicas as it wants, and says so; no replica is there without its set."""
    owners = look.list(ExecutableReplicaSet)
    owned = 0
    for owner in owners:
        replicas = [one for one in look.list(Executable) if is_controlled_by(one, owner)]
        owned += len(replicas)
        if any(one.metadata.is_deleting for one in replicas):
            return False
        if not len(replicas) == owner.spec.replicas == owner.status.replicas:
            return False
    return owned == len(look.list(Executable))


@controller(for_=Service)
async def ready_services(ctx: Context, key: Key) -> Result | None:
    """A proxy that needs no time: each Service has its place as soon as it is there."""
    stored = await ctx.find(Service, key)
    if stored is None or stored.metadata.is_deleting:
        return None
    ready = stored.deep_copy()
    ready.status.effective_address, ready.status.effective_port = "127.0.0.1", 8080
    if ready.status != stored.status:
        await ctx.patch_from(stored, ready, subresource="status")
    return None


def promises(*, housed: bool = True) -> list[WorldProperty]:
    """Return the properties of every world of Executables; unless ``housed``, processes may outlive theirs."""
    return [
        always(never_two_processes),
        *([always(every_process_has_its_executable)] if housed else []),
        always_step(phases_follow_the_table),
        eventually_stable(is_as_wanted, name="eventually as wanted, and nothing left behind"),
    ]
