"""Mistakes that authors make: what is said of them, and that nothing else suffers."""

import asyncio
import logging
import sys
import textwrap
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from attractor.client import Client
from attractor.k8s.core_v1 import ConfigMap, Event, Secret
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import BuilderError, Context, Controller, For, Index, Manager, Result, Watches, controller
from attractor.runtime.predicates import Change, Predicate
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.testing.python_files import import_file
from tests.factories import config_map
from tests.runtime.things import Thing, passing, thing

A = Key("default", "a")


async def test_a_predicate_that_fails_lets_the_change_pass(
    cluster: ClusterUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    ran: Counter[Key] = Counter()

    def has_owner(change: Change) -> bool:
        return bool(change.object.metadata.labels["owner"])

    @controller(name="picky", for_=For(Thing, when=Predicate(has_owner)))
    async def picky(ctx: Context, key: Key) -> None:
        ran[key] += 1

    async with cluster.running(picky):
        await cluster.client.create(thing())
        await eventually(lambda: ran[A] == 1)
    assert "a predicate failed, so the change passes" in caplog.text
    assert "KeyError: 'owner'" in caplog.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "answered None; answer a list of Keys"),
        (["a"], "answered ['a']; answer a list of Keys"),
        (A, "answered Key(namespace='default', name='a'); answer a list of Keys"),
        ("default/a", "answered 'default/a'; answer a list of Keys"),
    ],
)
async def test_a_map_function_that_answers_no_keys_is_named_and_other_ways_stay_open(
    cluster: ClusterUnderTest, caplog: pytest.LogCaptureFixture, answer: Any, said: str
) -> None:
    ran: Counter[Key] = Counter()

    def things_of(found: ConfigMap) -> Any:
        return answer

    @controller(
        name="mapped",
        for_=ConfigMap,
        watches=[Watches(ConfigMap, things_of), Watches(ConfigMap, lambda found: [Key("default", "other")])],
    )
    async def mapped(ctx: Context, key: Key) -> None:
        ran[key] += 1

    async with cluster.running(mapped):
        await cluster.client.create(config_map("a"))
        await eventually(lambda: ran[A] and ran[Key("default", "other")])
    assert f"things_of {said}" in caplog.text


@pytest.mark.parametrize("answer", ["default/a", 7, [7], None])
async def test_an_index_function_that_answers_no_texts_is_named(
    cluster: ClusterUnderTest, caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    def secrets_of(found: ConfigMap) -> Any:
        return answer

    @controller(
        name="indexed",
        for_=ConfigMap,
        watches=[Watches(Secret, index="secret")],
        indexes=[Index(ConfigMap, "secret", secrets_of)],
    )
    async def indexed(ctx: Context, key: Key) -> None:
        return None

    async with cluster.running(indexed):
        await cluster.client.create(config_map("a"))
        await eventually(lambda: f"secrets_of answered {answer!r}; answer a list of texts" in caplog.text)


async def test_a_reconcile_that_calls_sys_exit_fails_and_ends_nothing(
    cluster: ClusterUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    ran: Counter[Key] = Counter()

    @controller(name="leaving", for_=Thing)
    async def leaving(ctx: Context, key: Key) -> None:
        ran[key] += 1
        if key == A:
            sys.exit(3)

    async with cluster.running(leaving):
        await cluster.client.create(thing())
        await eventually(lambda: ran[A] > 1)
        await cluster.client.create(thing("b"))
        await eventually(lambda: ran[Key("default", "b")] == 1)
    assert "the reconcile called sys.exit(3); it cannot end the process" in caplog.text


class Flaky:
    """A source that fails twice, gives what is no key, and then a key."""

    def __init__(self) -> None:
        self.asked = 0

    async def __aiter__(self) -> AsyncIterator[Key]:
        self.asked += 1
        if self.asked < 3:
            raise ConnectionError("nobody is on the line")
        yield "default/a"  # type: ignore[misc]
        yield A


async def test_a_source_that_fails_is_asked_again_and_what_is_no_key_is_named(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    flaky = Flaky()
    seen: list[Key] = []

    @controller(name="listening", for_=Thing, sources=[flaky])
    async def listening(ctx: Context, key: Key) -> None:
        seen.append(key)

    async with cluster.running(listening):
        await eventually(lambda: seen == [A])
    assert flaky.asked == 3
    assert caplog.text.count("a source failed") == 2
    assert "write Key(namespace, name) instead of 'default/a'" in caplog.text
    assert "a source has ended" in caplog.text


async def test_background_work_that_fails_names_its_object(
    cluster: ClusterUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(ctx: Context) -> None:
        raise ConnectionError("nobody is on the line")

    @controller(name="starting", for_=Thing)
    async def starting(ctx: Context, key: Key) -> None:
        await ctx.start(work)

    async with cluster.running(starting):
        await cluster.client.create(thing())
        await eventually(lambda: "background work failed" in caplog.text)
    failed = next(record for record in caplog.records if record.message == "background work failed")
    assert vars(failed)["key"] == str(A)


def test_work_that_was_called_instead_of_named_is_refused_in_its_line() -> None:
    with pytest.raises(TypeError, match=r"ctx.start takes a function and its arguments.*write ctx.start\(work, a, b\)"):
        Context("starting", A).start(3)  # type: ignore[arg-type]


async def test_a_reconcile_that_never_returns_is_told_of(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    @controller(name="waiting", for_=Thing)
    async def waiting(ctx: Context, key: Key) -> None:
        await asyncio.Event().wait()

    async with cluster.running(waiting, grace_s=1):
        await cluster.client.create(thing())
        await passing(150)
        told = [vars(record) for record in caplog.records if "has not ended" in record.getMessage()]
        assert {(one["controller"], one["key"], one["others"]) for one in told} == {("waiting", "default/a", 0)}
    late = [vars(record) for record in caplog.records if "did not finish in time" in record.getMessage()]
    assert [one["keys"] for one in late] == ["default/a"]


MISTAKES: list[tuple[Callable[[Context], Any], str]] = [
    (lambda ctx: ctx.update_status(config_map("a")), "v1, Kind=ConfigMap has no status of its own to be written"),
    (lambda ctx: ctx.create(ConfigMap(metadata=ObjectMeta(name="a"))), "v1, Kind=ConfigMap a lives in a namespace"),
    (
        lambda ctx: ctx.list(Thing, index=("of", "x")),
        r"has no index 'of' of Thing \(there are: none\); declare it with",
    ),
    (lambda ctx: ctx.emit(None, "Gone", "it is gone"), "ctx.emit tells of an object that was read, not of None"),  # type: ignore[arg-type]
    (lambda ctx: ctx.emit(thing(), "Gone", "", type="Error"), "a type, Normal or Warning, not 'Gone' and 'Error'"),  # type: ignore[arg-type]
    (lambda ctx: ctx.patch_from(*[thing()] * 2), "patch_from needs what was read and a changed copy of it"),
]


@pytest.mark.parametrize(("ask", "said"), MISTAKES, ids=[said[:30] for _, said in MISTAKES])
async def test_what_cannot_be_asked_is_told_to_the_reconcile(
    cluster: ClusterUnderTest, ask: Callable[[Context], Any], said: str
) -> None:
    failures: list[Exception] = []

    @controller(name="asking", for_=Thing)
    async def asking(ctx: Context, key: Key) -> None:
        try:
            await ask(ctx)
        except Exception as error:
            failures.append(error)

    async with cluster.running(asking):
        await cluster.client.create(thing())
        await eventually(lambda: len(failures) == 1)
    with pytest.raises(type(failures[0]), match=said):
        raise failures[0]


async def test_an_error_may_be_the_message_of_an_event(cluster: ClusterUnderTest) -> None:
    @controller(name="telling", for_=Thing)
    async def telling(ctx: Context, key: Key) -> None:
        await ctx.emit(await ctx.get(Thing, key), "Failed", ConnectionError("nobody answers"), type="Warning")  # type: ignore[arg-type]

    async with cluster.running(telling):
        await cluster.client.create(thing("a" * 253))

        async def is_told() -> bool:
            found = await cluster.client.list(Event, "default")
            return [one.message for one in found] == ["nobody answers"]

        await eventually(is_told)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"requeue_after_s": "5"}, "requeue_after_s is '5'; give a number of seconds"),
        ({"requeue_after_s": timedelta(seconds=5)}, "give a number of seconds"),
        ({"requeue_after_s": float("nan")}, "use 0 for never, or a positive time"),
        ({"requeue_after_s": float("inf")}, "use 0 for never, or a positive time"),
        ({"requeue": 5}, r"requeue is 5; use True, or Result\(requeue_after_s=...\) for a time"),
    ],
)
def test_a_result_that_makes_no_sense_is_refused_in_its_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        Result(**options)


def module_with(tmp_path: Path, body: str) -> Controller:
    path = tmp_path / "forgetful.py"
    head = """
        from attractor import Context, Key, Reconciler, controller
        from attractor.k8s.core_v1 import ConfigMap

        class Dns:
            async def ensure(self, name): ...
    """
    path.write_text(textwrap.dedent(head) + textwrap.dedent(body))
    found: Controller = import_file(path).forgetful
    return found


FUNCTION = """
@controller(for_=ConfigMap, externals=[Dns])
async def forgetful(ctx, key):
    found = await ctx.find(ConfigMap, key)
    ctx.log.info("found")
    await helper(ctx, found)
    await ctx.external(Dns).ensure("x")

async def helper(context: Context, found: ConfigMap) -> None:
    context.update(found)
"""
METHOD = """
class Forgetful(Reconciler[ConfigMap]):
    kind = ConfigMap

    async def sync(self, ctx: Context, obj: ConfigMap) -> None:
        ctx.external(Dns).ensure("x")

forgetful = controller(Forgetful(), externals=[Dns])
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (FUNCTION, "`context.update(...)` is not awaited, so it does nothing; write `await context.update(...)`"),
        (METHOD, "`ctx.external(Dns).ensure(...)` is not awaited, so it does nothing"),
    ],
)
def test_what_is_asked_and_not_awaited_is_warned_of_at_its_line(tmp_path: Path, body: str, said: str) -> None:
    forgetful = module_with(tmp_path, body)
    (protocol,) = forgetful.externals

    def start() -> None:
        Manager(Client(_Nowhere()), [forgetful], externals={protocol: object()})

    ((message, file, line),) = warned(start)
    assert message.startswith(said)
    assert "await" not in Path(file).read_text().splitlines()[line - 1]


def warned(act: Callable[[], None]) -> list[tuple[str, str, int]]:
    with pytest.warns(RuntimeWarning) as found:
        act()
    return [(str(one.message), one.filename, one.lineno) for one in found]


class _Nowhere:
    """A transport that is never used."""

    async def send(self, request: Any) -> Any:
        raise AssertionError("nothing is asked")

    async def open(self, request: Any) -> Any:
        raise AssertionError("nothing is asked")

    async def aclose(self) -> None:
        return None


def test_a_manager_without_controllers_says_what_to_give_it() -> None:
    with pytest.raises(BuilderError, match="give it at least one"):
        Manager(Client(_Nowhere()), [])


def test_type_checkers_refuse_functions_of_another_kind() -> None:
    def keys(found: ConfigMap) -> list[Key]:
        return [found.key]

    def names(found: ConfigMap) -> list[str]:
        return [found.metadata.name]

    Watches(ConfigMap, keys)
    Watches(Secret, keys)  # type: ignore[arg-type]  # mypy complains where this is not needed
    Index(Secret, "names", names)  # type: ignore[arg-type]


class Leaving:
    """A source that ends its own task, then the process, and then works."""

    def __init__(self) -> None:
        self.ends: list[BaseException] = [SystemExit("enough"), asyncio.CancelledError()]

    async def __aiter__(self) -> AsyncIterator[Key]:
        if self.ends:
            raise self.ends.pop()
        yield A


async def test_a_source_that_ends_its_task_or_the_process_is_asked_again(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[Key] = []

    @controller(name="listening", for_=Thing, sources=[Leaving()])
    async def listening(ctx: Context, key: Key) -> None:
        ran.append(key)

    async with cluster.running(listening):
        await eventually(lambda: ran == [A])
    assert "the source cancelled itself" in caplog.text
    assert "the source called sys.exit('enough')" in caplog.text


async def test_background_work_that_cancels_itself_is_told_of(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(ctx: Context) -> None:
        raise asyncio.CancelledError

    @controller(name="starting", for_=Thing)
    async def starting(ctx: Context, key: Key) -> None:
        await ctx.start(work)

    async with cluster.running(starting):
        await cluster.client.create(thing())
        await eventually(lambda: "the work cancelled itself" in caplog.text)


async def test_an_event_that_cannot_be_written_down_ends_nothing(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    @controller(name="telling", for_=Thing)
    async def telling(ctx: Context, key: Key) -> None:
        await ctx.emit(await ctx.get(Thing, key), "Read", "a file named \udcff")
        await ctx.emit(await ctx.get(Thing, key), "Written", "another one")

    async with cluster.running(telling) as manager:
        await cluster.client.create(thing())
        await eventually(lambda: manager.metrics.events.value("written") == 1)
        assert manager.metrics.events.value("failed") == 1
    assert "event not written" in caplog.text


@pytest.mark.parametrize("mistake", ["raises", "answers nothing"])
async def test_a_transform_that_fails_on_one_object_keeps_it_as_it_is_and_ends_nothing(
    cluster: ClusterUnderTest, caplog: pytest.LogCaptureFixture, mistake: str
) -> None:
    seen: dict[str, int] = {}

    def shrink(obj: Any) -> Any:
        if obj.metadata.name == "odd":
            if mistake == "raises":
                raise KeyError("not as I thought")
            return None
        obj.spec.size = 0
        return obj

    @controller(name="watching", for_=Thing)
    async def watching(ctx: Context, key: Key) -> None:
        seen[key.name] = (await ctx.get(Thing, key)).spec.size

    async with cluster.running(watching, transform=shrink):
        for name in ("odd", "even"):
            await cluster.client.create(thing(name, 7))
        await eventually(lambda: seen == {"odd": 7, "even": 0})
    assert "cannot transform an object, so it is kept as it is" in caplog.text
