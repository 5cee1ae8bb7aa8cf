"""The trail of an answer that is deferred: one line when it is there, has failed, or was given up."""

from __future__ import annotations

import asyncio

import pytest

from attractor.apiserver.audit.policy import METADATA_ONLY
from attractor.apiserver.request.caller import User
from attractor.httpd.audit.trail import Auditor
from attractor.httpd.heads import Head
from attractor.httpd.parser import HttpRequest
from attractor.httpd.reply import Reply
from attractor.wire.deferred import Deferred
from tests.httpd.auditlines import Lines


def followed() -> tuple[Lines, asyncio.Future[Reply], Deferred[Reply]]:
    """A request that is being answered, and what decides on its answer."""
    lines, ready = Lines(), asyncio.get_running_loop().create_future()
    auditor = Auditor(lines, METADATA_ONLY, lambda: "2026-11-18T00:00:00.000000Z")
    trail = auditor.begin(HttpRequest("GET", "/healthz", Head({})), None, User("u"), {})
    assert trail is not None
    answer = trail.follow(lambda: Deferred(ready, ready.result))
    assert isinstance(answer, Deferred)
    return lines, ready, answer


def told(lines: Lines) -> list[tuple[str, int]]:
    return [(event["stage"], event["responseStatus"]["code"]) for event in lines.events]


async def test_an_answer_is_told_when_it_is_there_and_once() -> None:
    lines, ready, answer = followed()
    assert told(lines) == []
    ready.set_result(Reply(200, b"ok"))
    assert (await answer).body == b"ok"
    assert told(lines) == [("ResponseComplete", 200)]


async def test_a_failure_of_the_servers_own_is_told_and_passed_on() -> None:
    lines, ready, answer = followed()
    ready.set_exception(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await answer
    assert told(lines) == [("Panic", 500)]


async def test_an_answer_that_was_given_up_is_told_though_nobody_asks_for_it() -> None:
    lines, ready, _ = followed()
    ready.cancel()
    await asyncio.sleep(0)
    assert told(lines) == [("ResponseComplete", 504)]
