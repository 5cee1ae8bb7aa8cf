"""The seam between a reconcile and the world: one effect out, one answer in."""

import asyncio
import re
from typing import Any, Protocol

import pytest

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import Conflict, NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import effects
from attractor.runtime.context import Context
from attractor.runtime.effects import Effect
from attractor.runtime.steps import ForeignAwait, Steps
from attractor.runtime.worker.driver import drive
from tests.factories import config_map

KEY = Key("default", "a")


async def copy_a_to_b(ctx: Context, key: Key) -> str:
    source = await ctx.get(ConfigMap, key)
    try:
        stored = await ctx.create(config_map("b", None, **source.data))
    except Conflict:
        return "conflict"
    return stored.metadata.name


def test_a_reconcile_is_stepped_by_hand_without_an_event_loop() -> None:
    steps = Steps(copy_a_to_b(Context("copy", KEY), KEY))
    first: Effect[Any] = steps.effect
    assert first == effects.Get(ConfigMap, KEY)
    steps.answer(config_map(x="1"))
    second: Effect[Any] = steps.effect
    assert second == effects.Create(config_map("b", x="1"))
    steps.answer(config_map("b", x="1"))
    assert steps.result == "b"


def test_an_error_is_raised_where_the_effect_is_awaited() -> None:
    steps = Steps(copy_a_to_b(Context("copy", KEY), KEY))
    steps.answer(config_map())
    steps.fail(Conflict("someone was faster"))
    assert steps.result == "conflict"


def test_an_error_that_the_reconcile_does_not_catch_comes_out_of_the_step() -> None:
    steps = Steps(copy_a_to_b(Context("copy", KEY), KEY))
    with pytest.raises(NotFound):
        steps.fail(NotFound("no a"))
    assert steps.is_done


def test_awaiting_anything_else_is_refused_with_file_and_line() -> None:
    async def sleeper() -> None:
        await asyncio.sleep(0)

    with pytest.raises(
        ForeignAwait, match=r"test_steps.py:\d+ gives way to other tasks, which is no effect; ask the context instead"
    ):
        Steps(sleeper())


def test_each_await_is_exactly_one_effect_also_through_layers_of_coroutines() -> None:
    async def inner(ctx: Context) -> int:
        await ctx.now()
        return 3

    async def outer(ctx: Context) -> int:
        return await inner(ctx) + await inner(ctx)

    steps = Steps(outer(Context("c", KEY)))
    count = 0
    while not steps.is_done:
        assert steps.effect == effects.Now()
        count += 1
        steps.answer(None)
    assert (count, steps.result) == (2, 6)


def test_closing_runs_synchronous_clean_up_only() -> None:
    seen: list[str] = []

    async def tidy(ctx: Context) -> None:
        try:
            await ctx.now()
        finally:
            seen.append("tidied")

    steps = Steps(tidy(Context("c", KEY)))
    steps.close()
    assert seen == ["tidied"]
    with pytest.raises(RuntimeError, match="has ended"):
        steps.answer(None)


class Mailer(Protocol):
    async def send(self, to: str, *, urgent: bool = False) -> str: ...


def test_a_call_of_an_outside_system_is_one_effect() -> None:
    async def mail(ctx: Context) -> str:
        return await ctx.external(Mailer).send("jane", urgent=True)

    steps = Steps(mail(Context("c", KEY)))
    assert steps.effect == effects.Call(Mailer, "send", ("jane",), (("urgent", True),))
    steps.answer("id-1")
    assert steps.result == "id-1"


def test_a_method_that_the_protocol_does_not_declare_is_an_error_at_once() -> None:
    mailer: Any = Context("c", KEY).external(Mailer)
    with pytest.raises(AttributeError, match="Mailer declares no method 'receive'"):
        mailer.receive()


def test_merge_carries_only_the_change_and_the_version_it_is_based_on() -> None:
    original = config_map(x="1", y="2")
    original.metadata.resource_version = "7"
    changed = original.deep_copy()
    changed.data = {"x": "1", "z": "3"}
    effect = Context("c", KEY).patch_from(original, changed)
    assert effect.body == {"data": {"y": None, "z": "3"}, "metadata": {"resourceVersion": "7"}}


def test_delete_of_an_object_in_hand_never_touches_its_successor() -> None:
    obj = config_map()
    obj.metadata.uid = "u1"
    assert Context("c", KEY).delete(obj) == effects.Delete(ConfigMap, obj.key, uid="u1")


async def test_the_driver_performs_effects_and_lets_other_awaits_through() -> None:
    performed: list[Effect[Any]] = []

    async def perform(effect: Effect[Any]) -> Any:
        performed.append(effect)
        await asyncio.sleep(0)
        if isinstance(effect, effects.Get):
            return config_map(x="1")
        raise Conflict("no")

    async def mixed(ctx: Context) -> str:
        await asyncio.sleep(0)
        async with asyncio.timeout(5):
            return await copy_a_to_b(ctx, KEY)

    assert await drive(mixed(Context("c", KEY)), perform) == "conflict"
    assert [type(effect).__name__ for effect in performed] == ["Get", "Create"]


async def test_cancelling_the_driver_cancels_what_the_coroutine_waits_for() -> None:
    seen: list[str] = []
    waiting = asyncio.Event()

    async def perform(effect: Effect[Any]) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def patient(ctx: Context) -> None:
        try:
            await ctx.now()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def run() -> None:
        await drive(patient(Context("c", KEY)), perform)

    task = asyncio.create_task(run())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda ctx: ctx.find("ConfigMap", KEY), "ctx.find takes a kind, such as ConfigMap or a GroupVersionKind"),
        (
            lambda ctx: ctx.get(ConfigMap, "default/a"),
            "ctx.get takes a Key, not 'default/a'; write Key(namespace, name)",
        ),
        (lambda ctx: ctx.list(ConfigMap(metadata=ObjectMeta(name="a"))), "ctx.list takes a kind"),
    ],
)
def test_what_is_no_kind_or_no_key_is_refused_where_it_is_asked_for(ask: Any, text: str) -> None:
    with pytest.raises(TypeError, match=re.escape(text)):
        ask(Context("copy", KEY))
