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
    """Budgets. Steps of faults are never owed: they may stop at any point, and a verdict counts on nothing else."""

    crash: Budget = 0
    """A controller host dies and starts again; all that it knew is gone, also the request that it was about to send."""
    late_request: Budget = 0
    """A host dies, and the write that it had under way arrives some time after it has started again."""
    repeated: Budget = 0
    """A write reaches the server a second time: at once, so that the second answer counts, or at any later moment."""
    delayed_request: Budget = 0
    """The caller learns that no answer came, and the write arrives some time later."""
    lost_request: Budget = 0
    """A request does not reach the server; the caller learns that no answer came."""
    lost_answer: Budget = 0
    """A write is carried out and its answer is lost; the caller learns that no answer came."""
    conflict: int = 0
    """Somebody else writes an object (an annotation of it), so that updates based on what was read are refused."""
    conflict_kinds: tuple[type[Resource], ...] = ()
    """Which kinds somebody else writes; all that controllers watch when empty."""
    closed_watch: Budget = 0
    """A watch is closed, by the server's will or with 410 Gone; what it had not delivered is found by a new list."""

    refusal: Budget = 0
    """The server refuses a request, and nothing happens: 403, 429 or 500, and 422 for a write."""
    timeout: Budget | None = None
    """A reconcile takes longer than ``timeout_s`` of its controller allows, and is cancelled where it waits.

    That may happen to any, so it does once where a controller declares a ``timeout_s``, unless said otherwise. Those
    that declare none have the limit of production (300 s), and are struck where you say how often.
    """
    stop: Budget = 0
    """A host is stopped in good order and starts again: what runs may finish, or is cancelled where it waits."""
    stale_list: Budget = 0
    """A cache lists from a server that lags behind: it gets an older state, and the events since then afterwards."""
    stale_read: Budget = 0
    """A read past the cache is answered from an older state."""
    partition: Budget = 0
    """A host cannot reach the server for a while: requests fail, events wait; it ends some time."""
    leader_change: Budget = 0
    """Another host becomes leader; the old one goes on until it notices. It needs ``World(election=True)``."""
    external_failure: Budget = 0
    """A call of an outside system fails before anything happened there."""
    external_silence: Budget = 0
    """A call of an outside system does what it should, and the answer is lost."""

    delayed_call: Budget = 0
    """A call of an outside system gets no answer, and takes effect some time later, if at all."""

    def budgets(self) -> dict[str, Budget]:
        """The faults that are on, by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, int | Mapping) and value}

    def check_hosts(self, hosts: Iterable[str]) -> None:
        """Raise ``SpecError`` for a budget below 0, or one that names a host that is not there, or that no host has."""
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
