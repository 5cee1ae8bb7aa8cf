"""``Processes``: what the controller of Executables needs of the machine.

An Executable is known here by its uid, so that a successor of the same name never meets what its predecessor left. Its
process may run several times, one run after the other, numbered from 0. **A run begins at most once**, whoever asks for
it and however often: the first who claims it decides, for all time, and the claim outlives everybody who made it. So a
controller that died may ask again without fear, and one that takes a run for not begun is wrong at no one's cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.objects.resource import MicroTime

RunState: TypeAlias = Literal["starting", "running", "ended", "failed", "lost"]


@dataclass(frozen=True)
class Launch:
    """A process to be; all is as the process gets it."""

    command: tuple[str, ...]
    directory: str = ""
    """Where it runs; where the controller runs when empty."""
    environment: tuple[tuple[str, str], ...] = ()
    env_files: tuple[str, ...] = ()
    inherits: bool = True
    """Whether it also gets the controller's own environment."""
    word: str = ""
    """What the run is begun for: it is remembered with it, and nothing else is made of it."""


@dataclass(frozen=True)
class Run:
    """Observed state of a run that was claimed."""

    number: int
    state: RunState
    """Starting: nothing is known of its process yet. Failed: it has none, and gets none. Lost: its process is gone, and
    nobody saw how it ended."""
    pid: int | None = None
    started_at: MicroTime | None = None
    finished_at: MicroTime | None = None
    exit_code: int | None = None
    is_stopped: bool = False
    """Whether it was told to stop before it ended."""
    error: str = ""
    """Why it failed, for people."""
    word: str = ""
    """The word of its launch."""
    stdout_file: str = ""
    stderr_file: str = ""
    stdout_from: int = 0
    """How long the file was when the run began."""
    stderr_from: int = 0

    @property
    def is_live(self) -> bool:
        """Return whether it has a process, or may have one at any moment."""
        return self.state in {"starting", "running"}


class Processes(Protocol):
    """A machine that runs processes, and tells the controller's sources which Executables there is news of."""

    async def look(self, uid: str) -> Run | None:
        """The latest run of an Executable that was claimed; None when none was."""
        raise NotImplementedError

    async def start(self, key: Key, uid: str, number: int, launch: Launch) -> None:
        """Begin a run, unless it was claimed; what became of it, ``look`` says. Ends first what earlier runs left."""
        raise NotImplementedError

    async def stop(self, key: Key, uid: str, grace_s: float) -> None:
        """End the latest run and all it started: SIGTERM, after the grace SIGKILL. One that was not claimed, never is.

        Answers when nothing of the Executable runs; raises ``OSError`` when something does not even heed SIGKILL.
        """
        raise NotImplementedError

    async def remove(self, uid: str) -> None:
        """Delete what is written down about an Executable, with what its runs wrote; nothing of it may run."""
        raise NotImplementedError

    async def strays(self, key: Key, uid: str) -> tuple[str, ...]:
        """The other Executables of this name about which something is written down: those that went unseen."""
        raise NotImplementedError

    async def free_port(self, address: str) -> int:
        """A port that nobody listens on, and that was not given to anybody lately."""
        raise NotImplementedError
