"""Pure models of the outside systems, for the checker: a platform, and the agents beside this one.

Each method is one step. The platform outlives the agents; each agent has a gate to it, which is open when it starts.
The platform can fail once (``FragileDriver``), lose something that was there (``LossyDriver``), and tell an agent that
comes up of all that it has (``TellingDriver``); the launcher can fail to bring up the next agent (``FragileLauncher``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check import happens
from attractor.objects.gvk import Key
from attractor.operators.edge.drivers.protocols import Drained, DriverError, Found, LaunchError, Ref

if TYPE_CHECKING:
    from collections.abc import Iterable

AGENT = "agent-"
Settings = tuple[tuple[str, str], ...]


class DriverModel:
    """A platform: what is there, which agents may not begin work, and whether the next piece of it fails."""

    def __init__(self) -> None:
        self.there: dict[Ref, Found] = {}
        self.drained: frozenset[str] = frozenset()
        self.is_broken = False

    def seen_by(self, host: str) -> AgentsDriver:
        """The driver in the process of an agent."""
        return AgentsDriver(self, host)

    def host_dies(self, host: str) -> None:
        """The next process of that name finds its gate open."""
        self.drained -= {host}


class AgentsDriver:
    """The driver of one agent process, on the platform that all of them share."""

    def __init__(self, platform: DriverModel, host: str) -> None:
        self._platform, self._host = platform, host

    def _begin(self) -> None:
        if self._host in self._platform.drained:
            raise Drained("the agent is being replaced")
        if self._platform.is_broken:
            self._platform.is_broken = False
            raise DriverError("broken")

    def find(self, ref: Ref) -> Found | None:
        """Return the state of an instance."""
        return self._platform.there.get(ref)

    def apply(self, ref: Ref, generation: int, settings: Settings) -> Found:
        """Put something there, unless it fails."""
        self._begin()
        found = self._platform.there[ref] = Found(generation, settings)
        return found

    def remove(self, ref: Ref) -> None:
        """Take something away, unless it fails."""
        self._begin()
        self._platform.there.pop(ref, None)

    def drain(self) -> bool:
        """Begin nothing more; a step is whole, so nothing is in progress."""
        self._platform.drained |= {self._host}
        return True

    def resume(self) -> None:
        """Begin again."""
        self._platform.drained -= {self._host}


class FragileDriver(DriverModel):
    """A platform that fails once."""

    @happens(times=1)
    def breaks(self) -> None:
        """The next piece of work will fail."""
        self.is_broken = True


class LossyDriver(DriverModel):
    """A platform that loses once what was there, and tells of it."""

    @happens(times=1)
    def loses(self) -> Iterable[Key]:
        """Something dies."""
        for ref in sorted(self.there):
            del self.there[ref]
            return [Key(ref.namespace, ref.name)]
        return []


class TellingDriver(DriverModel):
    """A platform that tells an agent of all that is there: once, at some time after it has come up."""

    def __init__(self) -> None:
        super().__init__()
        self.has_told = False

    def host_dies(self, host: str) -> None:
        """The next process of an agent is told again."""
        super().host_dies(host)
        if host.startswith(AGENT):
            self.has_told = False

    @happens(fair=True)
    def tells(self) -> Iterable[Key]:
        """Tell of everything."""
        if self.has_told:
            return []
        self.has_told = True
        return [Key(ref.namespace, ref.name) for ref in sorted(self.there)]


class LauncherModel:
    """The agents of one machine, by version: the hosts ``agent-1``, ``agent-2``. That of version 1 runs at first."""

    def __init__(self) -> None:
        self.running: frozenset[str] = frozenset({"1"})
        self.is_broken = False

    def runs(self, host: str) -> bool:
        """Return whether an agent runs; other hosts are elsewhere, and do."""
        return not host.startswith(AGENT) or host.removeprefix(AGENT) in self.running

    def seen_by(self, host: str) -> AgentsLauncher:
        """The launcher of one agent."""
        return AgentsLauncher(self, host)


class AgentsLauncher:
    """Starts and ends other agents, and the one whose it is."""

    def __init__(self, machine: LauncherModel, host: str) -> None:
        self._machine, self._host = machine, host

    def start(self, version: str) -> None:
        """Start an agent, unless it fails."""
        if self._machine.is_broken:
            raise LaunchError("broken")
        self._machine.running |= {version}

    def end(self, version: str) -> None:
        """End an agent."""
        self._machine.running -= {version}

    def leave(self, why: str) -> None:
        """An agent that is not wanted goes."""
        self.end(self._host.removeprefix(AGENT))


class FragileLauncher(LauncherModel):
    """A machine on which the next agent may not start."""

    @happens(times=1)
    def breaks(self) -> None:
        """No agent will start any more."""
        self.is_broken = True
