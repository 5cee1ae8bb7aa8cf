"""A world's properties, asked of the runtime: the same ``WorldState``, over a snapshot of the real store."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING, Any

from attractor.check.world.api.properties import StepClaim, actor_of
from attractor.check.world.api.state import WorldState, in_version, root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.check.world.api.properties import Claim
    from attractor.check.world.api.world import World
    from attractor.objects.gvk import Key
    from attractor.objects.resource import Resource
    from attractor.store.contract import Entry, Snapshot
    from attractor.testing.directed import DirectedRuntime
    from attractor.testing.replay.outside import PlayedExternal
    from attractor.testing.replay.users import Users


class RunningMoment:
    """The runtime at one moment: a snapshot of its store, and copies of what else there is to see."""

    def __init__(
        self,
        snapshot: Snapshot,
        world: World,
        models: Mapping[Any, object],
        budgets: Mapping[str, int],
        busy: Mapping[tuple[str, Key], int],
    ) -> None:
        self.roots = tuple(sorted({root(kind) for kind in world.kinds}))
        self._webhooks = world.webhooks
        self._snapshot, self._models, self._budgets, self._busy = snapshot, models, budgets, busy

    def entry(self, key: str) -> Entry | None:
        """Return the store's entry of a key."""
        return self._snapshot.get(key)

    def keys(self, prefix: str) -> list[str]:
        """The store's keys under a prefix, in order."""
        return [entry.key for entry in self._snapshot.range(prefix)]

    def in_version(self, kind: type[Resource], value: bytes) -> bytes:
        """A stored object in a kind's own version."""
        return in_version(self._webhooks, kind, value)

    def external(self, protocol: Any) -> Any:
        """The model of an outside system, as it was."""
        return self._models[protocol]

    def budget(self, label: str) -> int:
        """Return how often a user could still act."""
        return self._budgets[label]

    def workers(self) -> dict[tuple[str, Key], int]:
        """For each controller and key: on how many hosts it was being reconciled."""
        return dict(self._busy)


class Judge:
    """Asks the runtime about one claim of a world."""

    def __init__(
        self,
        claim: Claim | StepClaim,
        world: World,
        runtime: DirectedRuntime,
        externals: Mapping[Any, PlayedExternal],
        users: Users,
    ) -> None:
        self.claim, self.name = claim, claim.name
        self._world, self._runtime, self._externals, self._users = world, runtime, externals, users

    @property
    def word(self) -> str:
        """Return the word that says when the claim must be true."""
        return "always_step" if isinstance(self.claim, StepClaim) else self.claim.word

    async def look(self) -> WorldState:
        """Return the present state, as properties see it."""
        models = {protocol: copy.deepcopy(each.model) for protocol, each in self._externals.items()}
        busy = Counter(place for host in self._runtime.hosts.values() for place in host.busy())
        snapshot = await self._runtime.cluster.store.snapshot()
        return WorldState(RunningMoment(snapshot, self._world, models, dict(self._users.left), busy))

    async def holds(self) -> bool:
        """Return whether what is claimed is true now."""
        assert not isinstance(self.claim, StepClaim), "steps are judged by `step_holds`"
        look = await self.look()
        return all(bool(predicate(look)) for predicate in self.claim.predicates)

    async def step_holds(self, before: WorldState, action: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether what is claimed is true of the step from then to now."""
        assert isinstance(self.claim, StepClaim), "states are judged by `holds`"
        if not self.claim.judges(action):
            return True
        return self.claim.judge(before, await self.look(), actor_of(action, arguments))


def claim_of(world: World, name: str) -> Claim | StepClaim:
    """A claim of a world by name; raises ``LookupError``."""
    claims: tuple[Claim | StepClaim, ...] = world.claims
    for each in claims:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in world.claims) or "nothing"
    raise LookupError(f"{world!r} claims no `{name}`; it claims {known}")
