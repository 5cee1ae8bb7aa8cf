"""Properties of ConfigPairs, and the world in which the checker judges them.

``world()`` is the right controller's, ``naive_world()`` the naive one's. Both have two workers, caches that lag, and a
process that may crash at any step; in the first a user edits the spec besides, which the naive one would never notice.
"""

from collections.abc import Sequence

from attractor.check import Edit, Faults, World, WorldState, eventually_stable
from attractor.check.world.api.users import User
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.configpair.api import ConfigPair, ConfigPairSpec
from attractor.operators.configpair.controllers import CHILDREN, child_key, configpair, naive
from attractor.runtime import Controller

WEB = Key("default", "web")


def pair(value: str = "red") -> ConfigPair:
    """A pair as a user writes it."""
    meta = ObjectMeta(namespace=WEB.namespace, name=WEB.name)
    return ConfigPair(metadata=meta, spec=ConfigPairSpec(value=value))


def as_wanted_in(pairs: Sequence[ConfigPair], maps: Sequence[ConfigMap]) -> bool:
    """Every pair has its two ConfigMaps and says so; there is no ConfigMap besides."""
    wanted = {child_key(one.key, child): {"value": one.spec.value} for one in pairs for child in CHILDREN}
    reported = all(one.status.written == one.spec.value for one in pairs)
    return reported and {one.key: one.data for one in maps} == wanted


def as_wanted(state: WorldState) -> bool:
    """Every pair has its two ConfigMaps and says so; there is no ConfigMap besides."""
    return as_wanted_in(state.list(ConfigPair), state.list(ConfigMap))


def world(
    declared: Controller = configpair,
    *,
    users: tuple[User, ...] = (Edit(ConfigPair, WEB, spec=[{"value": "blue"}]),),
    faults: Faults | None = None,
    workers: int = 2,
) -> World:
    """One pair, and what may happen to it: one edit and one crash, unless said otherwise."""
    return World(
        controllers=[declared],
        objects=[pair()],
        users=users,
        faults=Faults(crash=1) if faults is None else faults,
        properties=[eventually_stable(as_wanted)],
        workers=workers,
    )


def naive_world() -> World:
    """The naive controller, to see it fail by a crash alone."""
    return world(naive, users=())
