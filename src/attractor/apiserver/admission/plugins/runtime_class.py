"""RuntimeClass: a pod that names one gets its overhead and goes where it can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import PODS, find, forbidden, is_about

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.objects.json_types import JsonObject


class RuntimeClass(Plugin):
    """Merges the class of a new pod into it."""

    concerns = frozenset({PODS})

    def admit(self, attributes: Attributes) -> None:
        """Set overhead, node selector and tolerations; refuse a class that is missing."""
        if attributes.obj is None or attributes.old is not None or not is_about(attributes, "", "pods"):
            return
        found, spec = _class_of(attributes), attributes.obj["spec"]
        if found is None:
            return
        overhead = (found.get("overhead") or {}).get("podFixed")
        if overhead:
            if spec.get("overhead") and spec["overhead"] != overhead:
                why = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
                raise forbidden(attributes, f"pod rejected: {why}")
            spec["overhead"] = dict(overhead)
        scheduling = found.get("scheduling") or {}
        self._schedule(attributes, spec, scheduling)

    @staticmethod
    def _schedule(attributes: Attributes, spec: JsonObject, scheduling: JsonObject) -> None:
        wanted, selector = spec.get("nodeSelector") or {}, scheduling.get("nodeSelector") or {}
        for key, value in selector.items():
            if wanted.get(key, value) != value:
                why = (
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = "
                )
                raise forbidden(attributes, f"{why}{wanted[key]}")
        if selector:
            spec["nodeSelector"] = {**wanted, **selector}
        tolerations = spec.get("tolerations") or []
        added = [one for one in scheduling.get("tolerations") or () if one not in tolerations]
        if added:
            spec["tolerations"] = [*tolerations, *added]

    def validate(self, attributes: Attributes) -> None:
        """Refuse overhead that no class gives."""
        if attributes.obj is None or attributes.old is not None or not is_about(attributes, "", "pods"):
            return
        found, overhead = _class_of(attributes), attributes.obj["spec"].get("overhead")
        if overhead and not ((found or {}).get("overhead") or {}).get("podFixed"):
            why = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise forbidden(attributes, f"pod rejected: {why}")


def _class_of(attributes: Attributes) -> JsonObject | None:
    assert attributes.obj is not None, "asked about a new pod"
    name = attributes.obj["spec"].get("runtimeClassName")
    if not name:
        return None
    found = find(attributes.txn, "node.k8s.io", "runtimeclasses", "", name)
    if found is None:
        raise forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
    return found
