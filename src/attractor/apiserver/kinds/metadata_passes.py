"""How often Kubernetes looks at the metadata of an updated object, which shows in how often it reports one mistake.

The code that all kinds share reads metadata twice: as that of a new object and as that of a changed one. Most kinds'
own validation does one of these again, or both, or one of them twice; and most, but not all, also want finalizers to
be qualified by a domain. There is no rule behind it, so this is a table, taken from the answers of a real server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from attractor.apiserver.kinds.served_kind import Kind


class Passes(NamedTuple):
    """How often a kind's own validation reads metadata again."""

    as_update: int
    as_new: int
    qualified_finalizers: bool


_CUSTOM = Passes(as_update=1, as_new=0, qualified_finalizers=False)
_BOTH = Passes(as_update=1, as_new=1, qualified_finalizers=True)
_CHANGE = Passes(as_update=1, as_new=0, qualified_finalizers=True)
_WHOLE = Passes(as_update=0, as_new=1, qualified_finalizers=True)
_NONE = Passes(as_update=0, as_new=0, qualified_finalizers=False)
_LAX_WHOLE = Passes(as_update=0, as_new=1, qualified_finalizers=False)

_PASSES: dict[tuple[str, str], Passes] = {
    ("", "Event"): _NONE,
    ("", "LimitRange"): _WHOLE,
    ("", "PersistentVolume"): Passes(as_update=0, as_new=2, qualified_finalizers=True),
    ("", "PodTemplate"): _CHANGE,
    ("", "ReplicationController"): _CHANGE,
    ("", "ResourceQuota"): _CHANGE,
    ("", "Service"): _CHANGE,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): _LAX_WHOLE,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): _LAX_WHOLE,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _LAX_WHOLE,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _LAX_WHOLE,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _LAX_WHOLE,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _LAX_WHOLE,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _CUSTOM,
    ("apiregistration.k8s.io", "APIService"): Passes(as_update=1, as_new=1, qualified_finalizers=False),
    ("apps", "DaemonSet"): _CHANGE,
    ("apps", "Deployment"): _CHANGE,
    ("apps", "ReplicaSet"): _CHANGE,
    ("apps", "StatefulSet"): _CHANGE,
    ("autoscaling", "HorizontalPodAutoscaler"): _CHANGE,
    ("batch", "CronJob"): _CHANGE,
    ("coordination.k8s.io", "Lease"): _CUSTOM,
    ("discovery.k8s.io", "EndpointSlice"): _WHOLE,
    ("events.k8s.io", "Event"): _CHANGE,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _WHOLE,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _WHOLE,
    ("networking.k8s.io", "NetworkPolicy"): _CHANGE,
    ("node.k8s.io", "RuntimeClass"): Passes(as_update=1, as_new=1, qualified_finalizers=False),
    ("policy", "PodDisruptionBudget"): _NONE,
    ("scheduling.k8s.io", "PriorityClass"): _CHANGE,
    ("storage.k8s.io", "CSIDriver"): _CHANGE,
    ("storage.k8s.io", "CSINode"): _WHOLE,
    ("storage.k8s.io", "VolumeAttachment"): _WHOLE,
}
_UNREAD_WITH_STATUS = {("batch", "CronJob"), ("policy", "PodDisruptionBudget")}


def passes_of(kind: Kind, subresource: str) -> Passes:
    """How often the kind's own validation reads metadata again when the object, or a part of it, is updated."""
    if kind.is_custom:
        return _CUSTOM
    name = (kind.gvk.group, kind.gvk.kind)
    if subresource and name[0] != "apiextensions.k8s.io":
        return _NONE if name in _UNREAD_WITH_STATUS else _CHANGE
    return _PASSES.get(name, _BOTH)
