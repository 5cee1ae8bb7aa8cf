"""Equality of recorded values and those of a world, as far as they can be equal.

Not compared: uids, versions and times (each has its own), wherever they stand; addresses and ports that the server has
chosen; managed fields, what was redacted, texts of refusals. A field that is empty is as good as one that is not there.
"""

from __future__ import annotations

import re
from typing import Any

from attractor.check.world.api.bounds import Bounds
from attractor.testing.recording.redaction import HIDDEN

_OWN = ("uid", "resourceVersion", "managedFields", "creationTimestamp", "deletionTimestamp", "selfLink")
_CHOSEN = ("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort")
"""What the server chooses from what is free, where nobody says; ``None`` is said, and means something."""
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
"""Labels whose values are uids: a server sets them on a Job, and on what its selector and its template say."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def alike(recorded: Any, world: Any) -> bool:
    """Return whether two JSON values say the same."""
    if HIDDEN in (recorded, world):
        return True
    if isinstance(recorded, dict) and isinstance(world, dict):
        return _alike_objects(recorded, world)
    if isinstance(recorded, list) and isinstance(world, list):
        return len(recorded) == len(world) and all(map(alike, recorded, world))
    if isinstance(recorded, str) and isinstance(world, str):
        if _TIME.fullmatch(recorded):
            return bool(_TIME.fullmatch(world))
        return _UID.sub("uid", recorded) == _UID.sub("uid", world)
    return bool(recorded == world)


def _alike_objects(recorded: dict[str, Any], world: dict[str, Any]) -> bool:
    if recorded.get("kind") == world.get("kind") == "Status":
        return (recorded.get("code"), recorded.get("reason")) == (world.get("code"), world.get("reason"))
    for name in {*recorded, *world}:
        one, other = recorded.get(name), world.get(name)
        if name in _OWN:
            if name == "deletionTimestamp" and bool(one) != bool(other):
                return False
            continue
        if name in _UID_LABELS or (name in _CHOSEN and one != other and _are_chosen(one) and _are_chosen(other)):
            if bool(one) != bool(other):
                return False
            continue
        if name == "generation" and isinstance(one, int) and one > Bounds.generations:
            continue
        if not one and not other and (one is None or other is None):
            continue
        if not alike(one, other):
            return False
    return True


def _are_chosen(given: Any) -> bool:
    """Return whether these are addresses or a port, and no word such as ``None``."""
    if isinstance(given, list):
        return all(map(_are_chosen, given))
    return isinstance(given, int) or (isinstance(given, str) and given != "None")


def without_kind(obj: Any) -> Any:
    """An object without the names that items of a list do not have."""
    return {name: each for name, each in obj.items() if name not in {"kind", "apiVersion"}} if obj else obj
