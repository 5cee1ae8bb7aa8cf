"""Dependencies of Executables and Containers: which are not there yet, and whose restarts are followed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attractor.objects.gvk import Key
from attractor.operators.devplane.api.containers import Container
from attractor.operators.devplane.api.executables import FINAL, Executable, ExecutableReplicaSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.objects.resource import Resource
    from attractor.operators.devplane.api.executables import Dependency

Found: TypeAlias = "Mapping[tuple[str, str], Resource | None]"
"""What the dependencies of an Executable are at the moment, by kind and name."""

KINDS: Mapping[str, type[Resource]] = {kind.__name__: kind for kind in (Executable, ExecutableReplicaSet, Container)}
"""What may be depended on."""
ENDED = frozenset({"Finished", "Exited"})
"""The phases of an Executable and of a Container that ended by itself."""
OVER = frozenset({*FINAL, "Exited", "NotFound"})
"""The phases in which neither runs, nor will by itself."""


def depended_keys(waiting: Executable | Container) -> list[str]:
    """The dependencies as ``namespace/name``: the index by which a change of one leads to those who wait for it."""
    return [str(Key(waiting.metadata.namespace, one.name)) for one in waiting.spec.depends_on]


def unmet(dependencies: Sequence[Dependency], found: Found) -> str:
    """What is waited for, for people; empty when all dependencies are as they are needed."""
    reasons = (_unmet(one, found.get((one.kind, one.name))) for one in dependencies)
    return "; ".join(reason for reason in reasons if reason)


def _unmet(dependency: Dependency, other: Resource | None) -> str:
    name = f"{dependency.kind} {dependency.name}"
    if other is None or other.metadata.is_deleting:
        return f"waits for {name}, which is not there"
    why = _lacking_set(dependency, other) if isinstance(other, ExecutableReplicaSet) else _lacking(dependency, other)
    return why and f"waits for {name}, which {why}"


def _lacking(dependency: Dependency, other: Resource) -> str:
    """What an Executable or a Container lacks to be what its dependents need."""
    assert isinstance(other, Executable | Container)
    status = other.status
    match dependency.condition:
        case "Started":
            return "" if status.started_at is not None else _why_not_running(other)
        case "Healthy":
            if status.phase != "Running":
                return _why_not_running(other)
            return "" if status.health == "Healthy" else "is not healthy yet"
        case "Completed":
            if status.phase in ENDED and status.exit_code == 0:
                return ""
            return _why_not_running(other) if status.phase in OVER else "has not completed yet"


def _why_not_running(other: Executable | Container) -> str:
    status = other.status
    if status.phase not in OVER:
        return "does not run yet"
    if status.phase in ENDED:
        return f"has ended with exit code {status.exit_code}; restart it"
    return "was told to stop" if status.phase == "Terminated" else "has failed; see why, and restart it"


def _lacking_set(dependency: Dependency, other: ExecutableReplicaSet) -> str:
    """What a replica set lacks: all of its replicas count."""
    status, wanted = other.status, other.spec.replicas
    if status.observed_generation != other.metadata.generation:
        return "does not run yet"
    if dependency.condition == "Started":
        begun = status.running_replicas + status.finished_replicas
        return "" if begun >= wanted else f"has started {begun} of {wanted} replicas"
    return "" if status.health == "Healthy" else "is not healthy yet"


def restart_word(executable: Executable, found: Found) -> str:
    """What the process is to be started for: its own word, and those of the dependencies that it follows.

    While one of those is not there, nothing is to be followed, and the word is what it was.
    """
    words = [executable.spec.restart] if executable.spec.restart else []
    for one in executable.spec.depends_on:
        if not one.restart or one.kind != "Executable":
            continue
        other = found.get((one.kind, one.name))
        if not isinstance(other, Executable):
            return executable.status.restart
        if other.status.restart:
            words.append(f"{one.name}={other.status.restart}")
    return " ".join(words)
