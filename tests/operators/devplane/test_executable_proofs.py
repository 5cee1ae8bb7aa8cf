"""Executables and their sets proved: the controllers' own code, under every interleaving of crashes and stale caches.

Each world is explored completely. That a claim can fail is shown by controllers and machines with one mistake.
"""

from collections.abc import Callable

import pytest

from attractor.check import Bounds, Faults, World, check
from attractor.operators.devplane.api.executables import Executable
from attractor.operators.devplane.controllers.health import Prober
from attractor.operators.devplane.drivers.processes import Processes
from attractor.operators.devplane.proofs import worlds
from attractor.operators.devplane.proofs.properties import ProberModel, ProcessesModel
from attractor.runtime import controller
from tests.operators.devplane import wrong
from tests.operators.proofs import assert_proved

STATES: dict[Callable[..., World], int] = {
    worlds.started: 61_051,
    worlds.ended: 8_777,
    worlds.restarted: 37_629,
    worlds.stopped: 84_268,
    worlds.deleted: 99_463,
    worlds.recreated: 32_598,
    worlds.forced: 230_517,
    worlds.waiting: 86_282,
    worlds.scaled: 55_999,
    worlds.replaced: 49_156,
    worlds.disbanded: 940_548,
}


@pytest.mark.parametrize("made", worlds.WORLDS, ids=lambda made: made.__name__)
def test_what_is_promised_is_kept(made: Callable[[], World]) -> None:
    assert_proved(made, STATES)


@pytest.mark.nightly
def test_it_is_kept_while_a_leader_that_was_deposed_goes_on() -> None:
    """Two controllers on one machine: claims keep them from starting anything twice."""
    made = worlds.started().but(
        hosts=("one", "other"), election=True, faults=Faults(leader_change=1), bounds=Bounds(lag=1)
    )
    check(made).assert_holds()


UNHOUSED = "every process has its executable"
UNSETTLED = "eventually as wanted, and nothing left behind"


@pytest.mark.parametrize(
    ("mistake", "made", "claim", "steps"),
    [
        (wrong.StartsWithoutRemembering, worlds.deleted, UNHOUSED, 38),
        (wrong.BelievesTheCache, worlds.deleted, UNHOUSED, 34),
        (wrong.StartsBeforeItSaysSo, worlds.started, UNHOUSED, 12),
        (wrong.RemovesWithoutStopping, worlds.deleted, UNHOUSED, 28),
        (wrong.DoesNotWaitForTheStart, worlds.recreated, UNHOUSED, 31),
        (wrong.CountsFromZero, worlds.restarted, UNSETTLED, 46),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_controller_with_a_mistake_is_found_out(
    mistake: type, made: Callable[..., World], claim: str, steps: int
) -> None:
    trace = check(made(wrong.declared(mistake()))).assert_violated(claim)
    assert len(trace) == steps, trace.actions


@pytest.mark.parametrize(
    ("machine", "made", "claim", "steps"),
    [
        (wrong.WithoutClaims, worlds.started, "never two processes", 30),
        (wrong.ByName, worlds.forced, UNSETTLED, 44),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_machine_with_a_mistake_is_found_out(
    machine: type[ProcessesModel], made: Callable[..., World], claim: str, steps: int
) -> None:
    world = made().but(externals={Processes: machine(0), Prober: ProberModel()})
    trace = check(world).assert_violated(claim)
    assert len(trace) == steps, trace.actions


@pytest.mark.parametrize("made", [worlds.scaled, worlds.replaced], ids=lambda made: made.__name__)
def test_a_set_that_counts_what_its_cache_shows_is_found_out(made: Callable[..., World]) -> None:
    declared = controller(wrong.CountsReplicas(), name="executablereplicasets", owns=[Executable])
    trace = check(made(declared)).assert_violated("never too many replicas")
    assert len(trace) == 15, trace.actions
