"""What is told of failures: an outage in a line now and then, a mistake with its line, and a traceback once a minute."""

import logging
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from attractor.client.errors import AnswerLost, ServerUnreachable
from attractor.objects.errors import ApiError, Conflict, Forbidden, Invalid, ServiceUnavailable
from attractor.objects.gvk import Key
from attractor.runtime import Context, Result, controller
from attractor.runtime.observability.failure_log import TELL_AGAIN_S, TRACE_AGAIN_S, FailureLog, is_outage
from attractor.runtime.observability.field_logger import FieldLogger
from attractor.runtime.observability.own_lines import without_ours
from attractor.testing import ClusterUnderTest, VirtualTime
from tests.runtime.things import Thing, passing, thing


def failure(make: Callable[[], BaseException]) -> BaseException:
    try:
        raise make()
    except BaseException as error:
        return error


async def test_an_outage_is_told_in_one_line_now_and_then_for_all_objects(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    @controller(name="asking", for_=Thing)
    async def asking(ctx: Context, key: Key) -> Result | None:
        raise ServerUnreachable("127.0.0.1:1 does not answer")

    async with cluster.running(asking) as manager:
        for name in "abcdefghij":
            await cluster.client.create(thing(name))
        await passing(3)
        lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
        assert len(lines) == 1
        assert "all that asks the server will until it answers" in lines[0].getMessage()
        assert vars(lines[0])["error"] == "ServerUnreachable: 127.0.0.1:1 does not answer"
        assert "see that the server runs" in vars(lines[0])["hint"]
        assert lines[0].exc_info is None
        failed = manager.metrics.errors.value("asking")
        await passing(TELL_AGAIN_S)
        lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
        assert len(lines) == 2
        assert vars(lines[1])["others"] >= failed - 1, "what was not told is counted"


async def test_what_the_server_refuses_is_told_in_one_line_with_the_line_of_code(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = FailureLog(FieldLogger("attractor.test"))
    for error in (Invalid("size must be positive"), Forbidden("you may not"), Invalid("size must be positive")):
        log.failed("reconcile failed", failure(lambda error=error: error), key="default/a")  # type: ignore[misc]
    told = [vars(record) for record in caplog.records]
    assert [one["exc_info"] for one in told] == [None, None, None]
    assert all(__file__ in one["line"] and "raise make()" in one["line"] for one in told)
    assert "permissions=" in told[1]["hint"]


async def test_a_mistake_is_told_with_its_traceback_once_a_minute_and_in_one_line_between(
    virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    log = FailureLog(FieldLogger("attractor.test"))
    for _ in range(3):
        log.failed("reconcile failed", failure(lambda: KeyError("size")), key="default/a")
    await passing(TRACE_AGAIN_S)
    log.failed("reconcile failed", failure(lambda: KeyError("size")), key="default/a")
    assert [record.exc_info is not None for record in caplog.records] == [True, False, False, True]
    assert "raise make()" in vars(caplog.records[1])["line"]


async def test_a_traceback_shows_the_authors_code_and_what_it_called_and_not_who_called_it(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    def double(sizes: list[int]) -> list[int]:
        return [2 * size for size in sizes]

    @controller(name="wrong", for_=Thing)
    async def wrong(ctx: Context, key: Key) -> Result | None:
        found = await ctx.get(Thing, key)
        double(found.spec.size)  # type: ignore[arg-type]
        return None

    async with cluster.running(wrong):
        await cluster.client.create(thing("a"))
        await passing(1)
    first = next(record for record in caplog.records if record.exc_info)
    assert first.exc_info is not None
    frames = traceback.extract_tb(first.exc_info[2])
    assert [(Path(one.filename).name, one.name) for one in frames] == [
        (Path(__file__).name, "wrong"),
        (Path(__file__).name, "double"),
    ]


def test_a_traceback_without_code_of_the_authors_stays_whole() -> None:
    try:
        ServerUnreachable.of()  # type: ignore[attr-defined]
    except AttributeError as error:
        ours = error.__traceback__
    assert without_ours(None) is None
    assert without_ours(ours) is not None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ServerUnreachable("x"), True),
        (AnswerLost("x"), True),
        (ServiceUnavailable("x"), True),
        (ExceptionGroup("several", [ServerUnreachable("x"), AnswerLost("y")]), True),
        (ExceptionGroup("several", [ServerUnreachable("x"), KeyError("y")]), False),
        (Conflict("x"), False),
        (ApiError("x"), False),
        (ConnectionError("an outside system's"), False),
    ],
)
def test_an_outage_is_the_servers_alone(error: BaseException, expected: bool) -> None:
    assert is_outage(error) is expected
