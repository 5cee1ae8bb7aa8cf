"""Incidents: each bug is found and confirmed by the runtime, each mended twin holds, and their worlds admit what they do."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from attractor.check import check
from attractor.testing.random_runs import wander
from attractor.testing.replay import replay
from tests.quality import incidents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check import World


@dataclass(frozen=True)
class Incident:
    """A bug, the claim that finds it after ``steps``, how many states the mended twin's world has, and what bounds it."""

    name: str
    claim: str
    steps: int
    mended_states: int
    within: tuple[str, ...] = ()

    def world(self, *, is_buggy: bool) -> World:
        """The world with the bug, or without."""
        made: World = getattr(incidents, self.name)(is_buggy)
        return made


INCIDENTS = [
    Incident("clean_up_fails_silently", "eventually stable", 15, 126),
    Incident("created_after_its_clean_up", "eventually stable", 17, 222),
    Incident("adopts_what_another_owns", "quiesces", 21, 104),
    Incident("condition_of_another_generation", "released is made", 11, 3708, ("lag",)),
    Incident("hash_before_the_restart", "eventually stable", 12, 202),
    Incident("revoked_before_it_is_replaced", "the key is valid", 6, 36),
    Incident("work_fails_and_nobody_hears", "eventually stable", 5, 60),
    Incident("lock_outlives_its_holder", "eventually stable", 9, 103),
    Incident("failures_among_the_answers", "eventually stable", 9, 47),
    Incident("namespace_on_its_way_out", "eventually stable", 17, 74),
    Incident("retried_with_the_old_body", "eventually stable", 9, 21),
    Incident("more_workers_than_licences", "two licences are enough", 10, 390),
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda each: each.name)
def test_the_bug_is_found_by_a_short_trace_that_the_runtime_confirms(incident: Incident) -> None:
    world = incident.world(is_buggy=True)
    trace = check(world, stop_at_first=True).assert_violated(incident.claim)
    assert len(trace) == incident.steps, trace.actions
    replayed = asyncio.run(replay(world, trace))
    assert replayed.is_confirmed, str(replayed)


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda each: each.name)
def test_the_mended_twin_holds_without_a_warning(incident: Incident) -> None:
    verdict = check(incident.world(is_buggy=False)).assert_holds(within=incident.within)
    assert (verdict.bound, verdict.distinct, verdict.warnings) == (None, incident.mended_states, ())


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda each: each.name)
def test_its_world_admits_what_the_runtime_does(incident: Incident) -> None:
    for seed, is_buggy in enumerate((True, False)):
        found = asyncio.run(wander(incident.world(is_buggy=is_buggy), seed=seed, steps=30))
        assert found.is_admitted, str(found)
