"""ResourceQuotas as a planner: what is limited, and what there is of it, counted anew.

Admission adds to what is used as objects are made; here is found what deletions and the ends of pods give back, and
what was charged for objects that were not made after all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.admission.plugins.quota import MANAGER as CHARGER
from attractor.apiserver.admission.plugins.quota import QUOTAS, RESOURCE, quotas
from attractor.apiserver.controllers.quota_usage import CLAIMS, PODS, SERVICES, counts, is_in_scope, usage_of
from attractor.apiserver.request.operation import status_update
from attractor.objects.gvk import GroupResource
from attractor.objects.quantity import Quantity
from attractor.objects.timestamps import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.request.operation import Operation
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Event, Snapshot

MANAGER = "kube-controller-manager"
SETTLING_S = 2
"""For so long after a charge the object that it is for may not be there yet."""
_DEADLINE = re.compile(rb'"activeDeadlineSeconds"')
_CLASS = re.compile(rb'"(?:currentV|targetV|v)olumeAttributesClassName":"[^"]*"')
_ENDED = (b'"phase":"Succeeded"', b'"phase":"Failed"')


def gives_back(event: Event) -> bool:
    """Whether a change may leave more of a quota than it says, or change what is limited."""
    if event.value is None:
        return True
    if event.key.startswith(QUOTAS):
        quota: JsonObject = orjson.loads(event.value)
        return bool(quota["spec"].get("hard") != (quota.get("status") or {}).get("hard"))
    if event.key.startswith("core/pods/"):
        return any(mark in event.value for mark in _ENDED) or _is_changed(event, _DEADLINE)
    return event.key.startswith("core/persistentvolumeclaims/") and _is_changed(event, _CLASS)


def _is_changed(event: Event, what: re.Pattern[bytes]) -> bool:
    """Whether an update changes what tells the scope of an object, so that it may have left that of a quota."""
    if event.previous is None or event.value is None:
        return False
    return what.findall(event.value) != what.findall(event.previous.value)


def plan_quotas(snapshot: Snapshot, now: str) -> Iterator[Operation]:
    """Bring the status of every quota up to date.

    A request is charged before its object is there to be counted. So what is used is not lowered within some seconds of
    a charge: the write that is planned instead changes nothing, and the next plan comes to it again.
    """
    for quota, revision in quotas(snapshot.range(QUOTAS)):
        hard, before = quota["spec"].get("hard") or {}, quota.get("status") or {}
        counted = _used(quota, snapshot)
        used = _not_lowered(counted, before.get("used") or {}) if _is_being_charged(quota, now) else counted
        status: JsonObject = {"hard": hard, "used": used} if hard else {}
        if status != before or used != counted:
            yield status_update(RESOURCE, quota, revision, status, MANAGER)


def _is_being_charged(quota: JsonObject, now: str) -> bool:
    charged = [one["time"] for one in quota["metadata"].get("managedFields") or () if one["manager"] == CHARGER]
    return any(parse_time(now).seconds - parse_time(time).seconds < SETTLING_S for time in charged)


def _not_lowered(counted: JsonObject, before: JsonObject) -> JsonObject:
    said = {name: before.get(name, amount) for name, amount in counted.items()}
    return {
        name: said[name] if Quantity.parse(str(amount)) < Quantity.parse(str(said[name])) else amount
        for name, amount in counted.items()
    }


def _used(quota: JsonObject, snapshot: Snapshot) -> JsonObject:
    hard = quota["spec"].get("hard") or {}
    used = dict.fromkeys(hard, Quantity(0))
    for resource in sorted({_resource_of(name) for name in hard}):
        prefix = f"{resource.group or 'core'}/{resource.resource}/{quota['metadata']['namespace']}/"
        for entry in snapshot.range(prefix):
            obj: JsonObject = orjson.loads(entry.value)
            if not is_in_scope(quota, resource, obj):
                continue
            for name, amount in usage_of(resource, obj).items():
                if name in used:
                    used[name] += amount
    return {name: str(amount) for name, amount in used.items()}


def _resource_of(name: str) -> GroupResource:
    """Whose objects count under a name."""
    if name.startswith("count/"):
        resource, _, group = name.removeprefix("count/").partition(".")
        return GroupResource(group, resource)
    return next((known for known in (PODS, SERVICES, CLAIMS) if counts(known, name)), GroupResource("", name))
