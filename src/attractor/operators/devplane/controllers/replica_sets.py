"""The controller of ExecutableReplicaSets: as many equal Executables as are wanted, ``SET-0``, ``SET-1`` and so on.

The names make the server the arbiter: however old the cache is and however often the controller was killed, a replica
that is there already cannot be created again, so there are never more than were wanted. A replica that is deleted is
replaced once it is gone with its process, so that its successor finds its ports free. What became of the process of a
replica makes no difference: one that has ended counts, until it is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.errors import AlreadyExists, Conflict, NotFound
from attractor.objects.resource import ObjectMeta, deep_copy
from attractor.operators.devplane.api.executables import REPLICA_SET, Executable, ExecutableReplicaSet
from attractor.runtime import Reconciler, controller
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.operators.devplane.api.executables import Health
    from attractor.runtime import Context, Result


class ReplicaSets(Reconciler[ExecutableReplicaSet]):
    """Creates what is missing, and deletes what is too many, the highest numbers first."""

    kind = ExecutableReplicaSet
    finalizer = None  # what it owns goes with it

    async def sync(self, ctx: Context, obj: ExecutableReplicaSet) -> Result | None:
        """Bring the number of replicas closer to what is wanted, and tell how many there are."""
        listed = await ctx.list(Executable, namespace=obj.metadata.namespace)
        owned = {one.metadata.name: one for one in listed if is_controlled_by(one, obj)}
        wanted = [f"{obj.metadata.name}-{number}" for number in range(obj.spec.replicas)]
        problems = []
        for name in wanted:
            if name not in owned:
                problems += await self._create(ctx, obj, name)
        for name in sorted((name for name in owned if name not in wanted), key=_number, reverse=True):
            await self._delete(ctx, owned[name])
        tell(obj, list(owned.values()), "; ".join(problems))
        return None

    async def _create(self, ctx: Context, obj: ExecutableReplicaSet, name: str) -> list[str]:
        """Create a replica; answers what is in its way."""
        try:
            await ctx.create(replica(obj, name))
        except AlreadyExists:
            stored = await ctx.find(Executable, obj.key._replace(name=name), cached=False)
            if stored is not None and not is_controlled_by(stored, obj):
                return [f"Executable {name} is in the way: it does not belong to this set; delete one or the other"]
        return []

    async def _delete(self, ctx: Context, extra: Executable) -> None:
        if not extra.metadata.is_deleting:
            try:
                await ctx.delete(extra)
            except (NotFound, Conflict):
                ctx.log.info("a replica was gone already", replica=extra.metadata.name)


def replica(owner: ExecutableReplicaSet, name: str) -> Executable:
    """A new replica, as the template says now."""
    template = owner.spec.template
    metadata = ObjectMeta(
        name=name,
        namespace=owner.metadata.namespace,
        labels={**template.metadata.labels, REPLICA_SET: owner.metadata.name},
        annotations=dict(template.metadata.annotations),
    )
    made = Executable(metadata=metadata, spec=deep_copy(template.spec))
    set_controller(owner, made)
    return made


def tell(owner: ExecutableReplicaSet, owned: Sequence[Executable], message: str) -> None:
    """Say how many replicas there are, and how they are."""
    alive = [one for one in owned if not one.metadata.is_deleting]
    status, phases = owner.status, [one.status.phase for one in alive]
    status.replicas = len(alive)
    status.running_replicas = phases.count("Running")
    status.finished_replicas = phases.count("Finished") + phases.count("Terminated")
    status.failed_replicas = phases.count("FailedToStart") + phases.count("Unknown")
    status.health = health_of([one.status.health for one in alive], owner.spec.replicas)
    status.selector = f"{REPLICA_SET}={owner.metadata.name}"
    status.observed_generation = owner.metadata.generation
    status.message = message


def health_of(healths: Sequence[Health], wanted: int) -> Health:
    """Healthy when as many as wanted are, a reason for caution when some are."""
    healthy = healths.count("Healthy")
    if healthy >= wanted:
        return "Healthy"
    return "Caution" if healthy or "Unhealthy" not in healths else "Unhealthy"


def _number(name: str) -> int:
    """The number at the end of a replica's name; what somebody else has put here comes first."""
    end = name.rpartition("-")[2]
    return int(end) if end.isdecimal() else -1


replicasets = controller(ReplicaSets(), name="executablereplicasets", owns=[Executable], workers=2)
