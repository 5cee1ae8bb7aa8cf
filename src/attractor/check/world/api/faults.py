"""What may go wrong in a world, and how often. Every fault is off unless it has a budget.

``Faults(crash=1, lost_answer=1)`` allows one crash of a controller host and one lost answer, at any step. A budget may
name hosts: with ``Faults(crash={"agent": 1})`` only the agent crashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeAlias

from attractor.check.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.objects.resource import Resource

Budget: TypeAlias = int | Mapping[str, int]
"""How often something may go wrong: on any host, or on each host that is named."""


@dataclass(frozen=True)
class Faults:
    """What may go wrong in a world, and how often; every fault is off unless it has a budget.

    A budget is a number, or a number for each host: ``Faults(crash={"agent": 1})``. Fault steps have no fairness: they
    may happen at any step or never, and a verdict covers all of it.
    """

    crash: Budget = 0
    """A host dies and starts again: memory, caches and the request that it was about to send are lost."""
    late_request: Budget = 0
    """A host dies, and the write that it had sent arrives some time after it has started again."""
    repeated: Budget = 0
    """A write reaches the server twice: at once, so that the second answer counts, or at any later moment."""
    delayed_request: Budget = 0
    """The caller is told that no answer came, and the write arrives some time later."""
    lost_request: Budget = 0
    """A request does not reach the server; the caller is told that no answer came."""
    lost_answer: Budget = 0
    """A write is carried out and its answer is lost; the caller is told that no answer came."""
    conflict: int = 0
    """Somebody else writes an annotation of an object, so that updates of what was read before are refused."""
    conflict_kinds: tuple[type[Resource], ...] = ()
    """Which kinds somebody else writes; by default all that controllers watch."""
    closed_watch: Budget = 0
    """A watch is closed regularly or with 410 Gone; what it had not delivered is found by a new list."""

    refusal: Budget = 0
    """The server refuses a request with 403, 429 or 500, or a write with 422; nothing happens."""
    timeout: Budget | None = None
    """A reconcile exceeds the ``timeout_s`` of its controller, and is cancelled where it waits.

    By default once where a controller declares a ``timeout_s``, since that may happen to any; controllers that declare
    none have the limit of production (300 s), and exceed it only with a budget here.
    """
    stop: Budget = 0
    """A host is stopped regularly and starts again: what runs may finish, or is cancelled where it waits."""
    stale_list: Budget = 0
    """A cache lists from a server that lags behind: it gets an older state, and then the events since."""
    stale_read: Budget = 0
    """A read past the cache is answered from an older state."""
    partition: Budget = 0
    """A host cannot reach the server for a while: requests fail, events wait; it ends some time."""
    leader_change: Budget = 0
    """Another host becomes leader; the old one goes on until it notices. Needs ``World(election=True)``."""
    external_failure: Budget = 0
    """A call of an outside system fails before anything happened there."""
    external_silence: Budget = 0
    """A call of an outside system takes effect, and its answer is lost."""

    delayed_call: Budget = 0
    """A call of an outside system gets no answer, and takes effect some time later or never."""

    def budgets(self) -> dict[str, Budget]:
        """The faults that have a budget, by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, int | Mapping) and value}

    def check_hosts(self, hosts: Iterable[str]) -> None:
        """Check the budgets against the hosts of a world.

        Raises:
            SpecError: A budget is negative, or names a host that the world does not have.
        """
        known = tuple(hosts)
        for name, budget in self.budgets().items():
            if min([budget] if isinstance(budget, int) else budget.values(), default=0) < 0:
                raise SpecError(f"{name}={budget} is no budget; say how often it may happen, 0 for never")
            if isinstance(budget, int):
                continue
            if name == "conflict":
                raise SpecError("somebody else's writes happen on no host: say conflict=1")
            for host in budget:
                if host not in known:
                    raise SpecError(
                        f"{name} is to strike host {host!r}, which is not there; the world has {', '.join(known)}"
                    )
