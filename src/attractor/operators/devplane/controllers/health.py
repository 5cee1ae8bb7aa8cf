"""Health of an Executable from the answers of its probes, and when to probe again. Pure, but for ``Prober``.

Without probes, running is healthy. With probes it is once all have succeeded, unhealthy as soon as one has failed, and
else a reason for caution, as is everything that is not running and did not go wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from attractor.operators.devplane.api.executables import ExecutableStatus, Health, Probe
    from attractor.operators.devplane.drivers.processes import Launch


EAGER_S = 1.0


@dataclass(frozen=True)
class Question:
    """A probe to be made: a page, a connection, a line in files, or a command in the environment of the process."""

    url: str = ""
    connection: tuple[str, str] = ("", "")
    """Address and port."""
    pattern: str = ""
    files: tuple[tuple[str, int], ...] = ()
    """Where a line with the pattern may be, and from which byte on."""
    launch: Launch | None = None
    timeout_s: float = 10.0


class Prober(Protocol):
    """Asks whether a process is healthy."""

    async def ask(self, question: Question) -> str:
        """Empty when it is, else why not; answers within the question's time, and never raises."""
        raise NotImplementedError


@dataclass(frozen=True)
class Answer:
    """Last answer of one probe of one run; ``problem`` is empty when it succeeded."""

    probe: str
    run: int
    asked_at: datetime
    is_known: bool = False
    """Whether there was an answer yet, to this question or to an earlier one."""
    problem: str = ""
    is_awaited: bool = True
    has_succeeded: bool = False
    """Whether it ever did, in this run."""


def asked(answers: Iterable[Answer], probe: str, run: int, now: datetime) -> tuple[Answer, ...]:
    """The answers, with a question that is under way; what is known stays known until there is an answer to it."""
    kept = {answer.probe: answer for answer in answers if answer.run == run}
    before = kept.get(probe, Answer(probe, run, now))
    kept[probe] = replace(before, asked_at=now, is_awaited=True)
    return tuple(kept[name] for name in sorted(kept))


def answered(answers: Iterable[Answer], probe: str, run: int, problem: str) -> tuple[Answer, ...]:
    """The answers, with one that has come; one about another run is dropped."""
    return tuple(
        replace(
            answer,
            is_known=True,
            problem=problem,
            is_awaited=False,
            has_succeeded=answer.has_succeeded or not problem,
        )
        if (answer.probe, answer.run) == (probe, run)
        else answer
        for answer in answers
    )


def due_at(probe: Probe, started_at: datetime, answer: Answer | None) -> datetime | None:
    """Return the time of the next probe; None when it was asked and has not answered, or need not be asked any more.

    Until its first success a probe is asked every second at least: what has just been started is soon ready.
    """
    if answer is None:
        return started_at + timedelta(seconds=probe.initial_delay_seconds)
    is_once = probe.schedule == "UntilSuccess" or probe.log is not None
    if answer.is_awaited or (is_once and not answer.problem):
        return None
    interval_s = probe.interval_seconds if answer.has_succeeded else min(probe.interval_seconds, EAGER_S)
    return answer.asked_at + timedelta(seconds=interval_s)


def health_of(status: ExecutableStatus, probes: Sequence[Probe], answers: Iterable[Answer]) -> Health:
    """Return the health of an Executable."""
    if status.phase in {"FailedToStart", "Unknown"} or (status.phase == "Finished" and status.exit_code != 0):
        return "Unhealthy"
    if status.phase != "Running":
        return "Caution"
    return health_while_running(probes, answers, status.restarts)


def health_while_running(probes: Sequence[Probe], answers: Iterable[Answer], run: int) -> Health:
    """Return the health of what runs, by what its probes said of this run."""
    known = {answer.probe: answer.problem for answer in answers if answer.is_known and answer.run == run}
    if any(known.values()):
        return "Unhealthy"
    return "Healthy" if all(probe.name in known for probe in probes) else "Caution"
