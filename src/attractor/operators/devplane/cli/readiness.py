"""Waiting for an application: until it is ready, until a process has ended, until a restart is done.

Pure, but for ``wait``: ``standing`` says of one object whether it is there, will never be, or is on its way.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from attractor.operators.devplane.api.container_networks import ContainerNetworkConnection
from attractor.operators.devplane.api.containers import Container
from attractor.operators.devplane.api.executables import FINAL, Executable, ExecutableReplicaSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attractor.client import Client
    from attractor.objects.resource import Resource

Goal: TypeAlias = Literal["ready", "completed"]
DONE, FAILED, TIMED_OUT = 0, 1, 3
"""Exit codes: all are there; one never will be; it was not decided in time."""


class Standing(NamedTuple):
    """How far an object is on its way to a goal."""

    state: Literal["there", "failed", "on its way"]
    why: str = ""


THERE = Standing("there")
OVER = frozenset({*FINAL, "Exited", "NotFound"})
"""The phases of a process or a container that does not run, and will not by itself."""
SETTLED = frozenset({"Ready", "Running", "Finished"})
"""The phases in which Services, networks, volumes and commands inside containers are as they should be."""


def standing(obj: Resource, goal: Goal) -> Standing:
    """How far an object is on its way to a goal."""
    if isinstance(obj, Executable | Container):
        return _program(obj, goal)
    if goal == "completed" or isinstance(obj, ContainerNetworkConnection):
        return THERE
    if isinstance(obj, ExecutableReplicaSet):
        status, wanted = obj.status, obj.spec.replicas
        if status.observed_generation == obj.metadata.generation and status.health == "Healthy":
            return THERE
        state: Literal["failed", "on its way"] = "failed" if status.failed_replicas else "on its way"
        return Standing(state, f"{status.running_replicas} of {wanted} replicas run")
    status = obj.status  # type: ignore[attr-defined]  # every other kind has a phase
    return THERE if status.phase in SETTLED else Standing("on its way", status.message)


def _program(obj: Executable | Container, goal: Goal) -> Standing:
    status = obj.status
    if status.phase in {"Finished", "Exited"}:
        return THERE if status.exit_code == 0 else Standing("failed", f"it ended with exit code {status.exit_code}")
    if status.phase in OVER:
        return Standing("failed", status.message or "it was told to stop")
    if goal == "ready" and status.phase == "Running" and status.health == "Healthy":
        return THERE
    if goal == "ready" and not obj.spec.start and not obj.spec.depends_on:
        return THERE  # it waits for a person, and that is as it should be
    return Standing("on its way", status.message or f"it is {status.phase or 'not looked at yet'}")


def exit_code_of(obj: Executable | Container) -> int | None:
    """Return the code with which a command that stands for a program ends; None while that is not over."""
    status = obj.status
    if status.phase not in OVER:
        return None
    return FAILED if status.exit_code is None else status.exit_code


class Outcome(NamedTuple):
    """What came of waiting."""

    code: int
    said: list[str]
    """What is in the way, line by line, for people."""


def outcome_of(objects: Sequence[Resource], goal: Goal) -> Outcome | None:
    """What waiting has come to; None while it goes on."""
    found = [(one, standing(one, goal)) for one in objects]
    if failed := [f"{_name(one)} has failed: {how.why}" for one, how in found if how.state == "failed"]:
        return Outcome(FAILED, failed)
    return Outcome(DONE, []) if all(how.state == "there" for _, how in found) else None


def missing(objects: Sequence[Resource], goal: Goal) -> list[str]:
    """What is not there yet, and why, for people."""
    found = [(one, standing(one, goal)) for one in objects]
    return [f"{_name(one)} is not {goal}: {how.why}" for one, how in found if how.state != "there"]


def _name(obj: Resource) -> str:
    return f"{type(obj).__name__} {obj.metadata.name}"


async def wait(
    client: Client,
    chosen: Callable[[Mapping[str, Sequence[Any]]], Sequence[Resource]],
    goal: Goal,
    timeout_s: float | None,
) -> Outcome:
    """Wait until all that is chosen is there, or one never will be, or the time is over."""
    from attractor.operators.devplane.cli.session import followed

    objects: Sequence[Resource] = ()
    try:
        async with asyncio.timeout(timeout_s), followed(client) as views:
            async for found in views:
                objects = chosen(found)
                if (outcome := outcome_of(objects, goal)) is not None:
                    return outcome
    except TimeoutError:
        return Outcome(TIMED_OUT, missing(objects, goal))
    raise AssertionError("a view follows every other")
