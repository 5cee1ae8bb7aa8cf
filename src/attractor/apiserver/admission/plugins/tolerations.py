"""DefaultTolerationSeconds: a pod outlives its node's silence by five minutes, unless it says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import PODS, is_about

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes

TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SECONDS = 300


class DefaultTolerationSeconds(Plugin):
    """Adds the two tolerations that are missing."""

    concerns = frozenset({PODS})

    def admit(self, attributes: Attributes) -> None:
        """Add them, on creation and on every update."""
        if attributes.obj is None or not is_about(attributes, "", "pods"):
            return
        spec = attributes.obj["spec"]
        tolerated = {
            one.get("key") or ""
            for one in spec.get("tolerations") or ()
            if one.get("effect") in (None, "", "NoExecute")
        }
        added = [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}
            for taint in TAINTS
            if not tolerated & {taint, ""}
        ]
        if added:
            spec["tolerations"] = [*(spec.get("tolerations") or ()), *added]
