"""ResourceQuota: nothing is made that would exceed what a namespace may have.

As in kube-apiserver, what a request takes is written into the quota's status by a write of its own, before the object
is stored: two requests that race for the last of something cannot both get it. What a request takes that fails after
all, and what deleted objects give back, a controller finds when it counts (``controllers.quota_status``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import forbidden
from attractor.apiserver.controllers.quota_usage import (
    CHARGED_ON_UPDATE,
    PODS,
    is_in_scope,
    limited_by,
    unsaid,
    usage_of,
)
from attractor.apiserver.kinds.registry import builtin_kind
from attractor.apiserver.request.operation import status_update
from attractor.apiserver.transaction import Beforehand
from attractor.objects.gvk import GroupVersionResource
from attractor.objects.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.controllers.quota_usage import Usage
    from attractor.objects.errors import Forbidden
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Entry

QUOTAS, RESOURCE = "core/resourcequotas/", GroupVersionResource("", "v1", "resourcequotas")
MANAGER = "kube-apiserver"


class ResourceQuota(Plugin):
    """Admission by ResourceQuotas: charges each write, and refuses what exceeds a quota."""

    runs_last: ClassVar[bool] = True

    def validate(self, attributes: Attributes) -> None:
        """Charge the quotas of the namespace; raises ``Forbidden`` where one is exceeded."""
        txn, op = attributes.txn, attributes.op
        if not txn.snapshot.has_any(QUOTAS) or not attributes.kind.namespaced or attributes.obj is None:
            return
        resource = attributes.kind.group_resource
        if op.subresource and (resource, op.subresource) != (PODS, "resize"):
            return
        if attributes.old is not None and resource not in CHARGED_ON_UPDATE:
            return
        charges = {}
        for entry in txn.range(f"{QUOTAS}{op.namespace}/"):
            quota = _decoded(entry)
            used = _used_then(attributes, quota) if entry.key not in txn.done else None
            if used is not None:
                charges[entry.key] = status_update(
                    RESOURCE, quota, entry.revision, {**quota["status"], "used": used}, MANAGER
                )
        if charges and not attributes.is_dry_run:
            raise Beforehand(charges)


def _decoded(entry: Entry) -> JsonObject:
    kind = builtin_kind("", "v1", "resourcequotas")
    assert kind is not None, "quotas are built in"
    return kind.decode(entry.value)


def _used_then(attributes: Attributes, quota: JsonObject) -> JsonObject | None:
    """``status.used`` with what the object takes; None when it takes nothing of this quota."""
    resource, obj = attributes.kind.group_resource, attributes.obj or {}
    status, name = quota.get("status") or {}, quota["metadata"]["name"]
    hard, used = status.get("hard") or {}, status.get("used") or {}
    limited = limited_by(resource, hard)
    if not limited or not is_in_scope(quota, resource, obj):
        return None
    taken = {one: amount for one, amount in _taken(attributes, quota).items() if one in hard and amount.sign}
    if attributes.old is not None and not taken:
        return None
    missing = unsaid(obj, limited) if resource == PODS else ""
    if missing:
        raise forbidden(attributes, f"failed quota: {name}: must specify {missing}")
    if any(one not in used for one in limited):
        raise forbidden(attributes, f"status unknown for quota: {name}, resources: {','.join(limited)}")
    if not taken:
        return None
    then = {one: Quantity.parse(str(used[one])) + amount if one in used else amount for one, amount in taken.items()}
    exceeded = sorted(one for one, amount in then.items() if Quantity.parse(str(hard[one])) < amount)
    if exceeded:
        raise _exceeded(attributes, name, exceeded, (taken, used, hard))
    return {**used, **{one: str(amount) for one, amount in then.items()}}


def _taken(attributes: Attributes, quota: JsonObject) -> Usage:
    """What the object takes, or more than before; what a change brings into the quota's scope takes all it has."""
    resource = attributes.kind.group_resource
    taken = usage_of(resource, attributes.obj or {})
    if attributes.old is None or not is_in_scope(quota, resource, attributes.old):
        return taken
    before = usage_of(resource, attributes.old)
    return {name: amount - before[name] if name in before else amount for name, amount in taken.items()}


def _exceeded(
    attributes: Attributes, quota: str, names: Iterable[str], amounts: tuple[Mapping[str, object], ...]
) -> Forbidden:
    requested, used, limited = (",".join(f"{name}={one.get(name)}" for name in names) for one in amounts)
    why = f"exceeded quota: {quota}, requested: {requested}, used: {used}, limited: {limited}"
    return forbidden(attributes, why)


def quotas(entries: Iterable[Entry]) -> Iterator[tuple[JsonObject, int]]:
    """Stored quotas, each with its version."""
    for entry in entries:
        yield _decoded(entry), entry.revision
