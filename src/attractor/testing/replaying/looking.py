"""A world's properties, asked of the runtime: the same ``Look``, over a snapshot of the real store instead of slots."""

from __future__ import annotations

import copy
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from attractor.check.world.looking import Look, root
from attractor.check.world.properties import StepClaim, actor_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from attractor.check.world.properties import Claim
    from attractor.check.world.world import World
    from attractor.objects.gvk import Key
    from attractor.store.contract import Entry, Snapshot
    from attractor.testing.directed import DirectedRuntime
    from attractor.testing.replaying.outside import PlayedExternal


class _Storage:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def entry(self, key: str) -> Entry | None:
        return self._snapshot.get(key)

    def keys(self, prefix: str) -> list[str]:
        return [entry.key for entry in self._snapshot.range(prefix)]


@dataclass(frozen=True)
class _Universe:
    """What a ``Look`` needs to know of where it looks."""

    storage: _Storage
    roots: tuple[str, ...]


class RealLook(Look):
    """The runtime at one moment."""

    def __init__(
        self, snapshot: Snapshot, world: World, models: Mapping[Any, object], busy: Mapping[tuple[str, Key], int]
    ) -> None:
        roots = tuple(sorted({root(kind) for kind in world.kinds}))
        super().__init__(cast("Any", _Universe(_Storage(snapshot), roots)), cast("Any", None))
        self._models, self._busy = models, busy

    def _looking(self) -> AbstractContextManager[None]:
        return nullcontext()

    def external(self, protocol: Any) -> Any:
        """The model of an outside system, as it was."""
        return self._models[protocol]

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
    ) -> None:
        self.claim, self.name = claim, claim.name
        self._world, self._runtime, self._externals = world, runtime, externals

    @property
    def word(self) -> str:
        """When the claim must be true."""
        return "always_step" if isinstance(self.claim, StepClaim) else self.claim.word

    async def look(self) -> Look:
        """What there is to see now."""
        models = {protocol: copy.deepcopy(each.model) for protocol, each in self._externals.items()}
        busy = Counter(place for host in self._runtime.hosts.values() for place in host.busy())
        return RealLook(await self._runtime.cluster.store.snapshot(), self._world, models, busy)

    async def holds(self) -> bool:
        """Whether what is claimed is true now."""
        assert not isinstance(self.claim, StepClaim), "steps are judged by `step_holds`"
        look = await self.look()
        return all(bool(predicate(look)) for predicate in self.claim.predicates)

    async def step_holds(self, before: Look, action: str, arguments: Mapping[str, Any]) -> bool:
        """Whether what is claimed is true of the step from then to now."""
        assert isinstance(self.claim, StepClaim), "states are judged by `holds`"
        if action in self.claim.except_for:
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
