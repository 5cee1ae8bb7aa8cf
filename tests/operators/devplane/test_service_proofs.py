"""Services and Endpoints proved: the controllers' own code, under every interleaving of crashes and stale caches.

Each world is explored completely. That a claim can fail is shown by controllers with one thought left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from attractor.check import Faults, World, check
from attractor.objects.errors import AlreadyExists
from attractor.operators.devplane.api.executables import Executable
from attractor.operators.devplane.api.services import Endpoint, Service
from attractor.operators.devplane.controllers.endpoints import endpoints, wanted_endpoints
from attractor.operators.devplane.controllers.services import BY_SERVICE, Services, backends_of, reached_at, services
from attractor.operators.devplane.drivers.proxies import Place, Proxies
from attractor.operators.devplane.proofs import plane_worlds
from attractor.operators.devplane.proofs import service_worlds as worlds
from attractor.runtime import Context, Key, Result
from tests.operators.proofs import assert_proved

STATES = {
    worlds.publication: 2_267,
    worlds.coming_and_going: 8_351,
    worlds.taken: 187,
    worlds.ending: 2_888,
    worlds.runs: 13_348,
    worlds.replacement: 10_558,
    worlds.together: 74_912,
}


@pytest.mark.parametrize("made", worlds.WORLDS, ids=lambda made: made.__name__)
def test_what_is_promised_is_kept(made: Callable[[], World]) -> None:
    assert_proved(made, STATES)


@pytest.mark.parametrize("made", [worlds.coming_and_going, worlds.runs], ids=lambda made: made.__name__)
def test_it_is_kept_with_two_workers_rivals_and_late_requests(made: Callable[[], World]) -> None:
    faults = Faults(crash=1, conflict=1, late_request=1)
    check(made().but(workers=2, faults=faults)).assert_holds()


@pytest.mark.slow
def test_the_whole_plane_leads_clients_to_what_runs() -> None:
    verdict = check(plane_worlds.whole()).assert_holds()
    assert verdict.bound is None
    assert verdict.distinct == 3_726_732


@pytest.mark.nightly
@pytest.mark.parametrize("made", [plane_worlds.stopped, plane_worlds.deleted], ids=lambda made: made.__name__)
def test_the_whole_plane_leads_clients_nowhere_when_the_process_goes(made: Callable[[], World]) -> None:
    assert check(made()).assert_holds().bound is None


class AnyFreePort(Services):
    """Takes a free port after each start, as if nobody had been told of the last one."""

    async def sync(self, ctx: Context, obj: Service) -> Result | None:
        found = await ctx.list(Endpoint, namespace=obj.metadata.namespace, index=(BY_SERVICE, obj.metadata.name))
        at, backends = Place(obj.spec.address, obj.spec.port), backends_of(found)
        place = await ctx.external(Proxies).serve(obj.metadata.uid, at, backends)
        await self._tell(ctx, obj, reached_at(place), backends)
        return None


class NothingToClose(Services):
    """Leaves its listener open."""

    async def clean_up(self, ctx: Context, obj: Service) -> Result | None:
        return None


class GivesUp(Services):
    """Does not try again when the port is in use."""

    async def sync(self, ctx: Context, obj: Service) -> Result | None:
        await super().sync(ctx, obj)
        return None


@pytest.mark.parametrize(
    ("wrong", "made", "violated", "steps"),
    [
        (AnyFreePort, worlds.publication, "published ports never change", 19),
        (NothingToClose, worlds.ending, "no listener outlives its service", 16),
        (GivesUp, worlds.taken, worlds.LISTENING, 17),
    ],
)
def test_services_with_a_mistake_are_found_out(
    wrong: type[Services], made: Callable[..., World], violated: str, steps: int
) -> None:
    trace = check(made(replace(services, reconcile=wrong().reconcile))).assert_violated(violated)
    assert len(trace) == steps, trace.actions


async def one_name_for_ever(ctx: Context, key: Key) -> None:
    """Names the Endpoint after its Executable, and takes one of that name for right."""
    executable = await ctx.find(Executable, key)
    if executable is None:
        return
    wanted = list(wanted_endpoints(executable).values())
    known = await ctx.find(Endpoint, key)
    if known is not None and not wanted:
        await ctx.delete(known)
    for one in wanted:
        one.metadata.name = key.name
        try:
            await ctx.create(one)
        except AlreadyExists:
            continue


def test_an_endpoint_named_for_ever_outlives_its_run() -> None:
    wrong = replace(endpoints, reconcile=one_name_for_ever)
    trace = check(worlds.runs(wrong)).assert_violated(worlds.NAMED)
    assert len(trace) == 14, trace.actions
