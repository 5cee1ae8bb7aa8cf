"""``Driver`` and ``Launcher``: the outside systems of an agent, as its reconciles see them.

A driver's contract: what it does is done whole or not at all (a failed create leaves nothing, a failed update leaves
what was before, a failed delete leaves it as it was), and doing the same again is harmless. What it reports is the
truth of the platform, not its memory, so that it says the same after a crash. Once drained it begins nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

CLUSTER, APP = "ClusterInst", "AppInst"


class DriverError(Exception):
    """The platform could not do it; the text says why. Nothing has changed there."""


class Drained(Exception):
    """The agent is being replaced: its driver begins nothing more."""


class LaunchError(Exception):
    """The next agent could not be started or the last one not be ended; the text says why."""


@dataclass(frozen=True, order=True)
class Ref:
    """An instance on a platform."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True)
class Step:
    """One of the steps of an operation, as people are told when it begins."""

    number: int
    of: int
    text: str

    def __str__(self) -> str:
        return f"{self.number}/{self.of} {self.text}"


Tell: TypeAlias = "Callable[[Ref, Step], None]"
"""How a driver says what it is doing; never blocks, never fails."""


@dataclass(frozen=True)
class Found:
    """Observed state of an instance on the platform."""

    generation: int
    settings: tuple[tuple[str, str], ...]
    endpoint: str = ""


class Driver(Protocol):
    """Does the work of one cloudlet."""

    async def find(self, ref: Ref) -> Found | None:
        """Return the state of an instance; None when nothing is there, or only the rest of something."""
        ...

    async def apply(self, ref: Ref, generation: int, settings: tuple[tuple[str, str], ...]) -> Found:
        """Create an instance, or change it into this; raises ``DriverError``, ``Drained``."""
        ...

    async def remove(self, ref: Ref) -> None:
        """Remove an instance and what is left of it; raises ``DriverError``, ``Drained``."""
        ...

    async def drain(self) -> bool:
        """Begin nothing more; True once nothing is in progress either; raises ``DriverError`` where it cannot stop."""
        ...

    async def resume(self) -> None:
        """Work may begin again: the agent is not replaced after all."""
        ...


class Launcher(Protocol):
    """Starts and ends agents of other versions on the same machine."""

    async def start(self, version: str) -> None:
        """See to it that an agent of a version runs; raises ``LaunchError``."""
        ...

    async def end(self, version: str) -> None:
        """See to it that no agent of a version runs any more; raises ``LaunchError``."""
        ...

    async def leave(self, why: str) -> None:
        """End this very agent, for it is not wanted here."""
        ...
