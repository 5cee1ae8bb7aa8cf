"""The arithmetic of a rolling update: how large each ReplicaSet of a Deployment should be next.

Pure functions of a ``Rollout``. With R replicas, surge S and unavailability U, no step lets all ReplicaSets together
ask for more than R + S Pods, and none takes an available Pod away while fewer than R - U others are available.

Worked example: R = 3, S = 1, U = 0, a new template. The new set grows to 1 (4 in all); when that Pod is available one
old set shrinks to 2, the new one grows to 2, and so on, until the old one has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attractor.toolkit import scaled_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.k8s import Deployment, PodTemplateSpec, ReplicaSet

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"


def size_of(replica_set: ReplicaSet) -> int:
    """How many Pods a ReplicaSet is asked to have."""
    return replica_set.spec.replicas or 0


def number(replica_set: ReplicaSet | Deployment, annotation: str) -> int | None:
    """A number in an annotation; ``None`` when it is missing or is none."""
    text = replica_set.metadata.annotations.get(annotation, "")
    return int(text) if text.isdigit() else None


def revision_of(replica_set: ReplicaSet) -> int:
    """Which revision of its Deployment a ReplicaSet is; 0 when that is not known."""
    return number(replica_set, REVISION) or 0


def same_template(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """Return whether two templates make the same Pods, whatever their hash label says."""
    if one.spec != other.spec:
        return False
    return _without_hash(one) == _without_hash(other)


def _without_hash(template: PodTemplateSpec) -> dict[str, object]:
    meta = template.metadata
    labels = {name: value for name, value in meta.labels.items() if name != HASH_LABEL}
    return {"labels": labels, "annotations": meta.annotations, "finalizers": meta.finalizers, "name": meta.name}


def _age(replica_set: ReplicaSet) -> tuple[float, str]:
    """The order of creation: older first, by name within a second."""
    born = replica_set.metadata.creation_timestamp
    return (born.timestamp() if born else float("inf"), replica_set.metadata.name)


@dataclass
class Rollout:
    """A Deployment and its ReplicaSets: the one of the current template, if there is one yet, and the others."""

    deployment: Deployment
    new: ReplicaSet | None
    old: list[ReplicaSet] = field(default_factory=list)
    """Oldest first."""

    @classmethod
    def of(cls, deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> Rollout:
        """The rollout that a Deployment is in."""
        by_age = sorted(replica_sets, key=_age)
        template = deployment.spec.template
        new = next((one for one in by_age if same_template(one.spec.template, template)), None)
        return cls(deployment, new, [one for one in by_age if one is not new])

    @property
    def replica_sets(self) -> list[ReplicaSet]:
        """All ReplicaSets, the old ones first."""
        return self.old if self.new is None else [*self.old, self.new]

    @property
    def active(self) -> list[ReplicaSet]:
        """The ReplicaSets that are asked to have Pods."""
        return [one for one in self.replica_sets if size_of(one)]

    @property
    def replicas(self) -> int:
        """How many Pods there should be in the end."""
        return self.deployment.spec.replicas or 0

    @property
    def is_rolling(self) -> bool:
        """Return whether new Pods replace old ones step by step."""
        return self.deployment.spec.strategy.type == "RollingUpdate"

    @property
    def surge(self) -> int:
        """How many Pods more than the wanted number there may be."""
        return self._fenceposts()[0] if self.is_rolling else 0

    @property
    def unavailable(self) -> int:
        """How many of the wanted Pods may be missing."""
        return min(self._fenceposts()[1], self.replicas) if self.is_rolling else 0

    def _fenceposts(self) -> tuple[int, int]:
        rolling = self.deployment.spec.strategy.rolling_update
        if rolling is None:
            return 1, 0
        surge = scaled_value(rolling.max_surge or 0, self.replicas, round_up=True)
        unavailable = scaled_value(rolling.max_unavailable or 0, self.replicas, round_up=False)
        return (surge, unavailable) if surge or unavailable else (0, 1)  # a rollout has to be able to move

    @property
    def most(self) -> int:
        """How many Pods there may be at once."""
        return self.replicas + self.surge

    @property
    def size(self) -> int:
        """How many Pods all ReplicaSets together are asked to have."""
        return sum(map(size_of, self.replica_sets))

    @property
    def available(self) -> int:
        """How many Pods are available."""
        return sum(one.status.available_replicas for one in self.replica_sets)

    @property
    def max_revision(self) -> int:
        """The newest revision among the old ReplicaSets."""
        return max(map(revision_of, self.old), default=0)

    @property
    def is_scaled(self) -> bool:
        """Return whether the wanted number changed since the active ReplicaSets were last sized."""
        told = (number(one, DESIRED) for one in self.active)
        return any(desired is not None and desired != self.replicas for desired in told)

    def new_size(self) -> int:
        """How large the new ReplicaSet may be now."""
        current = size_of(self.new) if self.new is not None else 0
        if not self.is_rolling:
            return self.replicas
        if current > self.replicas:
            return self.replicas
        room = self.most - self.size
        return current if room <= 0 else current + min(room, self.replicas - current)

    def old_sizes(self) -> dict[str, int]:
        """How small the old ReplicaSets should be now, by name: first without what is not available anyway."""
        assert self.new is not None
        sizes = {one.metadata.name: size_of(one) for one in self.old}
        needed = self.replicas - self.unavailable
        spare = self.size - needed - (size_of(self.new) - self.new.status.available_replicas)
        if spare <= 0:
            return sizes
        for one in self.old:
            unhealthy = max(0, size_of(one) - one.status.available_replicas)
            cut = min(spare, unhealthy, size_of(one))
            sizes[one.metadata.name] -= cut
            spare -= cut
        spare = self.available - needed
        for one in self.old:
            cut = max(0, min(spare, sizes[one.metadata.name]))
            sizes[one.metadata.name] -= cut
            spare -= cut
        return sizes

    def proportional_sizes(self) -> dict[str, int]:
        """How large the active ReplicaSets should be after the wanted number changed amid a rollout, by name.

        What is to be added or removed is shared in proportion to their sizes, the largest first; rounding errors go to
        the largest.
        """
        sets = self.active
        to_add = (self.most if self.replicas else 0) - sum(map(size_of, sets))
        sizes = {one.metadata.name: size_of(one) for one in sets}
        if not to_add:
            return sizes
        by_age = sorted(sets, key=_age, reverse=to_add > 0)
        largest_first = sorted(by_age, key=size_of, reverse=True)
        added = 0
        for one in largest_first:
            share, left = self._share(one), to_add - added
            share = min(share, left) if to_add > 0 else max(share, left)
            sizes[one.metadata.name] += share
            added += share
        first = largest_first[0].metadata.name
        sizes[first] = max(0, sizes[first] + to_add - added)
        return sizes

    def _share(self, replica_set: ReplicaSet) -> int:
        size = size_of(replica_set)
        if not self.replicas:
            return -size
        before = number(replica_set, MOST) or self.deployment.status.replicas
        return _rounded(size * self.most, before) - size if before else 0

    def is_saturated(self) -> bool:
        """Return whether the new ReplicaSet alone has all Pods that are wanted, available."""
        new = self.new
        return (
            new is not None
            and size_of(new) == self.replicas == number(new, DESIRED)
            and new.status.available_replicas == self.replicas
        )

    def active_or_latest(self) -> ReplicaSet | None:
        """The only active ReplicaSet, or the newest if none is; ``None`` when several are, or there is none at all."""
        active = self.active
        if len(active) > 1 or not self.replica_sets:
            return None
        return active[0] if active else self.new or self.old[-1]


def _rounded(product: int, divisor: int) -> int:
    """A quotient, rounded to the nearest number, halves away from zero."""
    return (2 * product + divisor) // (2 * divisor)
