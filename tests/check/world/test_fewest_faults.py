"""Counterexamples with the fewest faults: a bug that shows on a calm day is not blamed on a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attractor.check import Edit, Faults, World, always, api, check, eventually_stable
from attractor.check.report import verdict_text
from attractor.check.report.table import plain
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import ApiError
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Key, controller
from tests.check.world.pairs import KEY, Pair, both_are_right, naive, pair

if TYPE_CHECKING:
    from attractor.check import WorldState
    from attractor.check.engine.selection import EngineName

FAULTS = Faults(lost_request=2, crash=1)


def broken(key: Key) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=f"{key.name}-broken", namespace=key.namespace))


@controller(for_=Pair)
async def rash(ctx: Context, key: Key) -> None:
    """Breaks at once when an answer fails to come, and later, with every answer, when it is told to."""
    owner = await ctx.find(Pair, key)
    if owner is None:
        return
    try:
        live = await ctx.find(Pair, key, cached=False)
    except ApiError:
        await ctx.create(broken(key))
        return
    if live is not None and live.spec.text == "y" and owner.spec.text == "y":
        await ctx.create(broken(key))


def nothing_is_broken(world: WorldState) -> bool:
    """Nothing is broken."""
    return not world.list(ConfigMap)


def world(**options: object) -> World:
    given: dict[str, object] = {
        "users": [Edit(Pair, KEY, spec=[{"text": "y"}])],
        "faults": FAULTS,
        "properties": [always(nothing_is_broken), eventually_stable(nothing_is_broken)],
        "workers": 1,
        **options,
    }
    return World(controllers=[rash], objects=[pair()], **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("stop_at_first", [True, False])
def test_a_longer_run_without_a_fault_is_shown_rather_than_a_shorter_one_with_a_fault(
    engine: EngineName, stop_at_first: bool
) -> None:
    calm = check(world(faults=Faults()), engine=engine).assert_violated("nothing is broken")
    short = check(world(users=()), engine=engine, stop_at_first=stop_at_first)["nothing is broken"]
    assert short.trace is not None
    assert (short.faults, len(short.trace)) == (1, 5)
    found = check(world(), engine=engine, stop_at_first=stop_at_first)["nothing is broken"]
    assert found.trace is not None
    assert (found.faults, found.is_fewest) == (0, True)
    assert found.trace.actions == calm.actions
    assert len(calm) > len(short.trace)


def test_the_prefix_of_a_run_without_an_end_has_the_fewest_faults_too() -> None:
    found = check(world())["eventually stable"]
    assert (found.verdict, found.faults, found.is_fewest) == ("violated", 0, True)


def test_users_are_no_faults_and_the_counts_of_the_search_stay() -> None:
    verdict = check(world())
    alone = check(world(properties=[eventually_stable(lambda world: True)], quiesces=False))
    assert (verdict.distinct, verdict.generated) == (alone.distinct, alone.generated)


def test_the_report_says_how_many_faults_it_takes() -> None:
    crashing = World(
        controllers=[naive], objects=[pair()], faults=Faults(crash=2), properties=[eventually_stable(both_are_right)]
    )
    text = "\n".join(verdict_text.lines(check(crashing), plain, {}))
    assert "is violated by a run that stops for ever after 12 steps, with 1 fault; there is none with fewer" in text
    calm = "\n".join(verdict_text.lines(check(world(), properties=["nothing is broken"]), plain, {}))
    assert "is violated after 6 steps, without any fault" in calm


def test_a_search_for_fewer_faults_that_is_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = World(
        controllers=[naive], objects=[pair()], faults=Faults(crash=1), properties=[eventually_stable(both_are_right)]
    )
    monkeypatch.setattr(api, "MORE", -(10**9))
    verdict = check(crashing)
    assert (verdict["eventually stable"].faults, verdict["eventually stable"].is_fewest) == (1, False)
    assert "none is known with fewer" in "\n".join(verdict_text.lines(verdict, plain, {}))
