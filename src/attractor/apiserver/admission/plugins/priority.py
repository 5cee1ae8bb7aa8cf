"""Priority: a pod's priority is its class's, and one class at most is everybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import PODS, every, find, forbidden, is_about
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

GROUP = "scheduling.k8s.io"
_SYSTEM = frozenset(("system-node-critical", "system-cluster-critical"))
_NO_CLASS: dict[str, object] = {"metadata": {"name": ""}, "value": 0, "preemptionPolicy": "PreemptLowerPriority"}


class Priority(Plugin):
    """Resolves ``priorityClassName`` of new pods."""

    concerns = frozenset({PODS, GroupResource(GROUP, "priorityclasses")})

    def admit(self, attributes: Attributes) -> None:
        """Set a new pod's priority; keep what an update leaves out."""
        if attributes.obj is None or not is_about(attributes, "", "pods"):
            return
        spec = attributes.obj["spec"]
        if attributes.old is None:
            _set_priority(attributes, spec)
            return
        for field in ("priority", "preemptionPolicy"):
            if spec.get(field) is None and attributes.old["spec"].get(field) is not None:
                spec[field] = attributes.old["spec"][field]

    def validate(self, attributes: Attributes) -> None:
        """Refuse a second default, and the end of a class that the system needs."""
        obj = attributes.obj
        if obj is None and is_about(attributes, GROUP, "priorityclasses") and attributes.name in _SYSTEM:
            raise forbidden(attributes, "this is a system priority class and cannot be deleted")
        if obj is None or not is_about(attributes, GROUP, "priorityclasses") or not obj.get("globalDefault"):
            return
        default = _default_class(attributes.txn)
        if default is None:
            return
        name = default["metadata"]["name"]
        if attributes.old is None or name != obj["metadata"].get("name"):
            raise forbidden(
                attributes, f"PriorityClass {name} is already marked as default. Only one default can exist"
            )


def _set_priority(attributes: Attributes, spec: JsonObject) -> None:
    found = _class_of(attributes, spec.get("priorityClassName") or "")
    if found["metadata"]["name"]:
        spec["priorityClassName"] = found["metadata"]["name"]
    value, policy = found["value"], found.get("preemptionPolicy")
    computed = "must not be provided in pod spec; priority admission controller computed"
    given = "from the given PriorityClass name"
    if spec.get("priority") not in (None, value):
        raise forbidden(attributes, f"the integer value of priority ({spec['priority']}) {computed} {value} {given}")
    spec["priority"] = value
    if policy is None:
        return
    if spec.get("preemptionPolicy") not in (None, policy):
        said = spec["preemptionPolicy"]
        raise forbidden(attributes, f"the string value of PreemptionPolicy ({said}) {computed} {policy} {given}")
    spec["preemptionPolicy"] = policy


def _class_of(attributes: Attributes, name: str) -> JsonObject:
    if not name:
        return _default_class(attributes.txn) or _NO_CLASS
    found = find(attributes.txn, GROUP, "priorityclasses", "", name)
    if found is None:
        raise forbidden(attributes, f"no PriorityClass with name {name} was found")
    return found


def _default_class(txn: Transaction) -> JsonObject | None:
    """The default; of several, which only a race can make, the lowest."""
    defaults = [one for one in every(txn, GROUP, "priorityclasses") if one.get("globalDefault")]
    return min(defaults, key=lambda one: int(one["value"]), default=None)
