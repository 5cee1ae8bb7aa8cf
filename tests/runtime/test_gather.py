"""A set of effects is one effect: performed in any order, answered when all are done."""

from typing import Any

import pytest

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists, NotFound
from attractor.objects.gvk import Key
from attractor.runtime import Context, Result, controller, effects
from attractor.runtime.steps import Steps
from attractor.testing import ClusterUnderTest, eventually
from tests.factories import config_map

KEY = Key("default", "a")


async def ask_two(ctx: Context) -> tuple[Any, ...]:
    return await ctx.gather(ctx.get(ConfigMap, KEY), ctx.create(config_map("b")))


def test_by_hand_the_whole_set_is_answered_at_once() -> None:
    steps = Steps(ask_two(Context("two", KEY)))
    assert steps.effect == effects.Gather((effects.Get(ConfigMap, KEY), effects.Create(config_map("b"))))
    answers = (config_map("a"), AlreadyExists("b is there"))
    steps.answer(answers)
    assert steps.result == answers


def test_a_set_inside_a_set_is_refused() -> None:
    ctx = Context("two", KEY)
    with pytest.raises(ValueError, match="a Gather inside a Gather"):
        ctx.gather(ctx.gather(ctx.now()))


async def test_a_failure_is_an_answer_and_stops_none_of_the_others(cluster: ClusterUnderTest) -> None:
    answers: list[tuple[Any, ...]] = []

    @controller(for_=ConfigMap)
    async def gatherer(ctx: Context, key: Key) -> Result | None:
        if key.name == "begin":
            missing = ctx.get(ConfigMap, Key("default", "nothing"), cached=False)
            asked = [ctx.create(config_map(name)) for name in ("a", "begin", "b")]
            answers.append(await ctx.gather(missing, *asked, ctx.now()))
        return None

    async with cluster.running(gatherer):
        await cluster.client.create(config_map("begin"))
        await eventually(lambda: answers)
    missing, a, taken, b, _ = answers[0]
    assert isinstance(missing, NotFound)
    assert isinstance(taken, AlreadyExists)
    assert (a.metadata.name, b.metadata.name) == ("a", "b")
