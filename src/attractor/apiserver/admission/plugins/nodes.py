"""TaintNodesByCondition: a new node is not ready until somebody says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import is_about
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(Plugin):
    """Taints new nodes."""

    concerns = frozenset({GroupResource("", "nodes")})

    def admit(self, attributes: Attributes) -> None:
        """Add the taint, unless it is there."""
        if attributes.old is not None or attributes.obj is None or not is_about(attributes, "", "nodes"):
            return
        spec = attributes.obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if all((one.get("key"), one.get("effect")) != tuple(NOT_READY.values()) for one in taints):
            spec["taints"] = [*taints, dict(NOT_READY)]
