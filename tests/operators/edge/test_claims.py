"""No claim about the edge operator is empty: for each there is a wrong operator that it finds, and the runtime agrees."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from attractor.check import Faults, World, check
from attractor.objects.gvk import Key
from attractor.operators.edge.api.types import ClusterInst
from attractor.operators.edge.controllers.agent import worker
from attractor.operators.edge.controllers.declarations import CLUSTERS
from attractor.operators.edge.drivers.protocols import Driver
from attractor.operators.edge.proofs import worlds
from attractor.operators.edge.proofs.model import LossyDriver
from attractor.runtime.toolkit.channel import Channel
from attractor.testing.replay import replay
from tests.operators.edge import wrong
from tests.operators.edge.wrong import Wrong

LATE, CRASH = Faults(late_request={"agent": 1}), Faults(crash={"agent": 1})
OLD = Faults(crash={"agent": 1}, stale_list={"agent": 1})


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.getLogger("attractor").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("attractor").setLevel(logging.NOTSET)


def created(faults: Faults | None = None) -> World:
    return worlds.cluster_created(faults, lag=1)


def lost() -> World:
    """A cluster that is there dies by itself, and the agent is told."""
    agent = worker(ClusterInst, "1", (Channel[Key](),))
    return worlds.cluster_updated(lag=1).but(
        hosts={"coordinator": [CLUSTERS], "agent": [agent]}, externals={Driver: worlds.with_cluster(LossyDriver())}
    )


class Case(NamedTuple):
    claim: str
    wrong: Wrong
    world: Callable[[], World]
    steps: int


CASES = [
    Case("states follow the tables", wrong.DELETES_UNPREPARED, lambda: worlds.cluster_deleted(lag=1), 8),
    Case("states are moved by their owners", wrong.GIVES_UP, created, 12),
    Case("no two operations on one key", wrong.BEGINS_ANEW, created, 20),
    Case("the platform changes only as asked", wrong.SAYS_NOTHING_AGAIN, lambda: created(LATE), 27),
    Case("the platform changes only as asked", wrong.BELIEVES_ITS_CACHE, lambda: worlds.cluster_updated(OLD, lag=1), 7),
    Case("no app work during its clusters", wrong.CLAIMS_NOTHING, worlds.app_and_update, 13),
    Case("no app without its cluster", wrong.PREPARES_NOTHING, worlds.app_and_deletion, 21),
    Case("no deletion with apps", wrong.PREPARES_NOTHING, worlds.app_and_deletion, 12),
    Case("every request has ended", wrong.WORKS_ONLY_ON_REQUESTS, lambda: created(CRASH), 24),
    Case("what is believed is true", wrong.REPORTS_NOTHING, lost, 11),
    Case("nothing is there that nobody has", wrong.FORGETS_UNTIL_TOLD_AGAIN, lambda: worlds.agent_comes_up(lag=1), 26),
    Case("upgrades follow the tables", wrong.RUNS_AHEAD, lambda: worlds.upgrade(lag=1), 20),
    Case("the upgrade has ended", wrong.BRINGS_UP_SILENTLY, lambda: worlds.upgrade(lag=1), 28),
    Case("the old agent stays until the new one has come", wrong.FORGETS_THE_OLD, lambda: worlds.upgrade(lag=1), 9),
    Case("only the agent that serves works", wrong.ANYBODY_SERVES, worlds.upgrade_at_work, 38),
]


def name_of(case: Case) -> str:
    return f"{case.claim}: {case.wrong.by.__name__}"


def marked(case: Case) -> Any:
    """A case as a parameter; long ones are slow."""
    return pytest.param(case, id=name_of(case), marks=pytest.mark.slow if case.steps > 30 else ())


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
async def test_a_wrong_operator_is_found_and_the_runtime_agrees(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case.wrong.owner, case.wrong.name, case.wrong.by)
    world = case.world()
    trace = check(world, properties=[case.claim], stop_at_first=True).assert_violated(case.claim)
    assert len(trace) == case.steps, trace.actions
    done = await replay(world, trace)
    assert done.is_confirmed, str(done)


LARGE = (worlds.app_and_update, worlds.app_and_deletion, worlds.upgrade_at_work)
"""Proved as they are, every night (``proofs``)."""


@pytest.mark.parametrize("case", [case for case in CASES if case.world not in LARGE], ids=name_of)
def test_the_right_operator_is_not_found(case: Case) -> None:
    check(case.world(), properties=[case.claim]).assert_holds()


def test_an_agent_that_takes_nothing_up_again_falls_only_to_its_own_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    case = wrong.WORKS_ONLY_ON_REQUESTS
    monkeypatch.setattr(case.owner, case.name, case.by)
    check(created(Faults(crash={"coordinator": 1}))).assert_holds()
    check(created(CRASH)).assert_violated("every request has ended")
