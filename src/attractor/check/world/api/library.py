"""Claims that most controllers owe, ready to be used; each says what it needs to know.

properties=[
    eventually_stable(desired),
    no_duplicates(Job, by=lambda job: job.spec.source),
    no_orphans(Bucket, children=[ConfigMap]),
    finalizer_after_clean_up(Bucket, "example.org/bucket", lambda world, obj: obj.status.id not in world.external(S)),
]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attractor.check.world.api.properties import Claim, StepClaim
from attractor.objects.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from attractor.check.world.api.state import WorldState

R = TypeVar("R", bound=Resource)


def no_duplicates(kind: type[R], by: Callable[[R], Hashable], *, at_most: int = 1, name: str = "") -> Claim:
    """Property: there are never more than ``at_most`` objects of a kind with the same purpose.

    Args:
        kind: The kind of the children.
        by: What a child is made for; equal values are duplicates.
        at_most: How many may be equal.
        name: The property's name in the verdict.
    """

    def holds(look: WorldState) -> bool:
        count: dict[Hashable, int] = {}
        for obj in look.list(kind):
            made_for = by(obj)
            count[made_for] = count.get(made_for, 0) + 1
        return all(number <= at_most for number in count.values())

    return Claim(name or f"no duplicate {kind.gvk.kind}", "always", (holds,))


def no_orphans(owner: type[Resource], children: Sequence[type[Resource]], *, name: str = "") -> Claim:
    """Property: once users and faults stop, no child is left whose owner is gone, and it stays so.

    Args:
        owner: The kind of the owners.
        children: The kinds of the children.
        name: The property's name in the verdict.
    """

    def holds(look: WorldState) -> bool:
        alive = {obj.metadata.uid for obj in look.list(owner)}
        for kind in children:
            for child in look.list(kind):
                owners = [each.uid for each in child.metadata.owner_references if each.kind == owner.gvk.kind]
                if not owners or not alive.intersection(owners):
                    return False
        return True

    return Claim(name or f"no orphan of {owner.gvk.kind}", "eventually_always", (holds,))


def finalizer_after_clean_up(
    kind: type[R], finalizer: str, is_clean: Callable[[WorldState, R], bool], *, name: str = ""
) -> Claim:
    """Property: an object that is being deleted keeps its finalizer until everything it stands for is cleaned up.

    Args:
        kind: The kind with the finalizer.
        finalizer: Its name.
        is_clean: Whether nothing of an object is left outside.
        name: The property's name in the verdict.
    """

    def holds(look: WorldState) -> bool:
        deleting = [obj for obj in look.list(kind) if obj.metadata.is_deleting]
        return all(finalizer in obj.metadata.finalizers or is_clean(look, obj) for obj in deleting)

    return Claim(name or f"{kind.gvk.kind} keeps its finalizer until it is clean", "always", (holds,))


def status_not_ahead(kind: type[R], is_true: Callable[[WorldState, R], bool], *, name: str = "") -> Claim:
    """Property: in every reachable state, what a status says is true.

    Args:
        kind: The kind with the status.
        is_true: Compares an object's status with the world.
        name: The property's name in the verdict.
    """

    def holds(look: WorldState) -> bool:
        return all(is_true(look, obj) for obj in look.list(kind))

    return Claim(name or f"status of {kind.gvk.kind} is not ahead of the world", "always", (holds,))


def no_write_after_deletion(owner: type[Resource], child: type[Resource], *, name: str = "") -> StepClaim:
    """Property of steps: no step creates a child for an owner that is gone, or that is being deleted."""

    def holds(before: WorldState, after: WorldState) -> bool:
        here = {obj.metadata.uid for obj in before.list(child)}
        alive = {obj.metadata.uid for obj in before.list(owner) if not obj.metadata.is_deleting}
        made = [obj for obj in after.list(child) if obj.metadata.uid not in here]
        return all(alive.intersection(each.uid for each in obj.metadata.owner_references) for obj in made)

    return StepClaim(name or f"no {child.gvk.kind} is made for a {owner.gvk.kind} that goes", holds)


def at_most_one_worker(*, name: str = "at most one worker on a key") -> Claim:
    """Property: a key is never reconciled twice at once, on any hosts; overlapping leaders break it."""

    def holds(look: WorldState) -> bool:
        return all(number <= 1 for number in look.workers().values())

    return Claim(name, "always", (holds,))


def unchanged_by(
    kind: type[R], part: Callable[[R], Any], users: Sequence[str] = ("edit", "create", "delete"), *, name: str = ""
) -> StepClaim:
    """Property of steps: only users change a part of a kind's objects, such as the spec; no controller does.

    Args:
        kind: The kind.
        part: The part of an object that must stay.
        users: The actions that may change it.
        name: The property's name in the verdict.
    """

    def holds(before: WorldState, after: WorldState) -> bool:
        old = {(obj.key, obj.metadata.uid): part(obj) for obj in before.list(kind)}
        now = {(obj.key, obj.metadata.uid): part(obj) for obj in after.list(kind)}
        return all(old[key] == value for key, value in now.items() if key in old)

    return StepClaim(name or f"only users change {kind.gvk.kind}", holds, except_for=frozenset(users))
