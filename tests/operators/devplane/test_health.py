"""Probes decide whether an Executable is healthy: what they mean, when they are asked, and real ones."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from attractor.operators.devplane.api.executables import CommandProbe, ExecutableStatus, HttpProbe, Phase, Probe, Serves
from attractor.operators.devplane.controllers.health import Answer, Question, answered, asked, due_at, health_of
from attractor.operators.devplane.drivers.local.prober import LocalProber
from attractor.operators.devplane.drivers.processes import Launch
from tests.operators.devplane.planes import FOREVER, Plane

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROBES = [Probe(name="a", http=HttpProbe(url="http://127.0.0.1")), Probe(name="b", http=HttpProbe(url="http://::1"))]


def answers(**problems: str) -> tuple[Answer, ...]:
    """What some probes of the first run said."""
    return tuple(Answer(name, 0, NOW, is_known=True, problem=text) for name, text in problems.items())


@pytest.mark.parametrize(
    ("phase", "code", "health"),
    [
        ("Starting", None, "Caution"),
        ("Running", None, "Healthy"),
        ("Stopping", None, "Caution"),
        ("Finished", 0, "Caution"),
        ("Finished", 1, "Unhealthy"),
        ("Terminated", 143, "Caution"),
        ("FailedToStart", None, "Unhealthy"),
        ("Unknown", None, "Unhealthy"),
    ],
)
def test_without_probes_health_is_what_the_phase_says(phase: Phase, code: int | None, health: str) -> None:
    assert health_of(ExecutableStatus(phase=phase, exit_code=code), [], ()) == health


@pytest.mark.parametrize(
    ("said", "health"),
    [
        (answers(), "Caution"),
        (answers(a=""), "Caution"),
        (answers(a="", b=""), "Healthy"),
        (answers(a="broken"), "Unhealthy"),
        (answers(a="", b="broken"), "Unhealthy"),
    ],
)
def test_all_probes_must_succeed_and_none_may_fail(said: tuple[Answer, ...], health: str) -> None:
    assert health_of(ExecutableStatus(phase="Running"), PROBES, said) == health


def test_what_probes_said_of_an_earlier_run_does_not_count() -> None:
    assert health_of(ExecutableStatus(phase="Running", restarts=1), PROBES, answers(a="", b="")) == "Caution"


def test_while_it_is_asked_again_the_last_answer_counts() -> None:
    said = asked(answers(a="", b=""), "a", 0, NOW)
    assert health_of(ExecutableStatus(phase="Running"), PROBES, said) == "Healthy"
    said = answered(said, "a", 0, "broken")
    assert health_of(ExecutableStatus(phase="Running"), PROBES, said) == "Unhealthy"


def test_an_answer_about_an_earlier_run_is_dropped() -> None:
    said = asked(answers(a="", b=""), "a", 1, NOW)
    assert [answer.run for answer in said] == [1]
    assert answered(said, "a", 0, "broken") == said


def test_a_probe_is_asked_after_its_delay_then_at_intervals() -> None:
    probe = Probe(name="a", interval_seconds=5, initial_delay_seconds=2)
    assert due_at(probe, NOW, None) == NOW + timedelta(seconds=2)
    (awaited,) = asked((), "a", 0, NOW)
    assert due_at(probe, NOW, awaited) is None
    (said,) = answered((awaited,), "a", 0, "")
    assert due_at(probe, NOW, said) == NOW + timedelta(seconds=5)


def test_until_its_first_success_a_probe_is_asked_every_second_and_then_at_its_intervals() -> None:
    probe, said = Probe(name="a", interval_seconds=5), asked((), "a", 0, NOW)
    for problem, interval_s in (("not yet", 1), ("", 5), ("broken", 5)):
        said = answered(asked(said, "a", 0, NOW), "a", 0, problem)
        assert due_at(probe, NOW, said[0]) == NOW + timedelta(seconds=interval_s)


def test_a_probe_until_success_is_asked_until_it_succeeds() -> None:
    probe = Probe(name="a", schedule="UntilSuccess", interval_seconds=5)
    waiting = asked((), "a", 0, NOW)
    (failed,) = answered(waiting, "a", 0, "not yet")
    assert due_at(probe, NOW, failed) == NOW + timedelta(seconds=1)
    (succeeded,) = answered(waiting, "a", 0, "")
    assert due_at(probe, NOW, succeeded) is None


@asynccontextmanager
async def page(answer: bytes) -> AsyncIterator[str]:
    """The address of a server that always says the same, or nothing."""

    is_over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        if not answer:
            await reader.read()
        writer.close()
        await writer.wait_closed()
        is_over.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/health"
        await is_over.wait()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", ""),
        (b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", ""),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", "answers 503 Service Unavailable"),
        (b"SSH-2.0-hello\r\n", "does not answer in HTTP"),
        (b"", "no answer within 0.2 s"),
    ],
)
async def test_a_page_is_healthy_when_it_answers_so(answer: bytes, problem: str) -> None:
    async with page(answer) as url:
        said = await LocalProber().ask(Question(url=url, timeout_s=0.2 if not answer else 30))
    assert said == problem or (problem and said.endswith(problem))


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1/", "http://", "http://127.0.0.1:99999/"])
async def test_a_page_that_cannot_be_asked_is_a_problem_and_no_error(url: str) -> None:
    assert await LocalProber().ask(Question(url=url))


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("true",), ""),
        (("sh", "-c", "exit 4"), "sh ends with 4"),
        (("sh", "-c", "sleep 1000 & sleep 1000"), "no answer within 0.3 s"),
        (("no-such-program",), "program 'no-such-program' is not in PATH"),
    ],
)
async def test_a_command_is_healthy_when_it_succeeds(command: tuple[str, ...], problem: str) -> None:
    said = await LocalProber().ask(Question(launch=Launch(command), timeout_s=0.3 if "sleep" in command[-1] else 30))
    assert said.startswith(problem) if problem else not said


async def test_an_executable_is_ready_once_its_page_answers(plane: Plane, tmp_path: Path) -> None:
    probe = Probe(
        name="page", http=HttpProbe(url='http://{{addressForServing "web"}}:{{portForServing "web"}}/'),
        interval_seconds=0.2,
    )  # fmt: skip
    await plane.create(
        "web",
        command=[sys.executable, "-P", "-m", "http.server", "--bind", "127.0.0.1", '{{portForServing "web"}}'],
        working_directory=str(tmp_path),
        serves=[Serves(service="web")],
        probes=[probe],
    )
    status = (await plane.until("web", lambda one: one.status.health == "Healthy")).status
    assert [(one.type, one.status) for one in status.conditions] == [("Ready", "True")]


async def test_an_executable_whose_probe_begins_to_fail_is_unhealthy_and_says_why(plane: Plane, tmp_path: Path) -> None:
    (tmp_path / "fine").touch()
    probe = Probe(name="file", command=CommandProbe(command=["test", "-e", "fine"]), interval_seconds=0.1)
    await plane.create("web", FOREVER, working_directory=str(tmp_path), probes=[probe])
    await plane.until("web", lambda one: one.status.health == "Healthy")
    (tmp_path / "fine").unlink()
    status = (await plane.until("web", lambda one: one.status.health == "Unhealthy")).status
    assert (status.phase, status.message) == ("Running", "probe file: test ends with 1")
    assert [(one.type, one.status, one.reason) for one in status.conditions] == [("Ready", "False", "Unhealthy")]
    (tmp_path / "fine").touch()
    status = (await plane.until("web", lambda one: one.status.health == "Healthy")).status
    assert status.message == ""


async def test_a_probe_until_success_is_not_asked_any_more(plane: Plane, tmp_path: Path) -> None:
    script = 'echo >>asked; [ "$(wc -l <asked)" -ge 3 ]'
    probe = Probe(
        name="start", command=CommandProbe(command=["sh", "-c", script]), schedule="UntilSuccess", interval_seconds=0.1
    )
    steady = Probe(name="steady", command=CommandProbe(command=["sh", "-c", "echo >>steady"]), interval_seconds=0.1)
    await plane.create("web", FOREVER, working_directory=str(tmp_path), probes=[probe, steady])
    await plane.until("web", lambda one: one.status.health == "Healthy")
    more = len((tmp_path / "steady").read_text()) + 3
    await plane.until("web", lambda one: len((tmp_path / "steady").read_text()) >= more)
    assert len((tmp_path / "asked").read_text()) == 3
