"""Facts about built-in kinds: names, generation, update rules, selectable fields.

Kinds are named ``group/Kind``; the core group's are ``/Kind``. What a kind does not say here is the common case:
subdomain names, no generation, updates only of what exists and without a version, selection by name and namespace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects import names
from attractor.objects.fields import SelectableFields, as_text, value_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.apply.fieldset import FieldSet
    from attractor.objects.json_types import JsonObject

_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"

NAME_RULES: Mapping[str, Callable[[str], list[str]]] = {
    "/Event": names.path_segment,
    "/Namespace": names.dns1123_label,
    "/Service": names.dns1123_label,
    "apps/StatefulSet": names.dns1123_label,
    "certificates.k8s.io/CertificateSigningRequest": names.path_segment,
    "apiregistration.k8s.io/APIService": names.path_segment,
    "internal.apiserver.k8s.io/StorageVersion": names.path_segment,
    "networking.k8s.io/IPAddress": names.path_segment,
    "policy/PodDisruptionBudget": names.path_segment,
    f"{_RBAC}/ClusterRole": names.path_segment,
    f"{_RBAC}/ClusterRoleBinding": names.path_segment,
    f"{_RBAC}/Role": names.path_segment,
    f"{_RBAC}/RoleBinding": names.path_segment,
}
"""Kinds whose names follow another rule than that of subdomains."""

WITH_GENERATION = frozenset(
    (
        "/Pod", "/PodTemplate", "/ReplicationController", "apps/DaemonSet", "apps/Deployment", "apps/ReplicaSet",
        "apps/StatefulSet", "batch/CronJob", "batch/Job", "networking.k8s.io/Ingress",
        "networking.k8s.io/IngressClass", "networking.k8s.io/NetworkPolicy", "networking.k8s.io/ServiceCIDR",
        "policy/PodDisruptionBudget", "apiextensions.k8s.io/CustomResourceDefinition",
        "discovery.k8s.io/EndpointSlice", "flowcontrol.apiserver.k8s.io/FlowSchema",
        "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "resource.k8s.io/DeviceClass", "resource.k8s.io/DeviceTaintRule", "resource.k8s.io/ResourceSlice",
        f"{_ADMISSION}/MutatingAdmissionPolicy", f"{_ADMISSION}/MutatingAdmissionPolicyBinding",
        f"{_ADMISSION}/MutatingWebhookConfiguration", f"{_ADMISSION}/ValidatingAdmissionPolicy",
        f"{_ADMISSION}/ValidatingAdmissionPolicyBinding", f"{_ADMISSION}/ValidatingWebhookConfiguration",
    )
)  # fmt: skip
"""Kinds whose ``metadata.generation`` counts changes."""

CREATED_BY_PUT = frozenset(
    (
        "/Endpoints", "/Event", "/LimitRange", "/Service", "coordination.k8s.io/Lease", "events.k8s.io/Event",
        "node.k8s.io/RuntimeClass", f"{_RBAC}/ClusterRole", f"{_RBAC}/ClusterRoleBinding", f"{_RBAC}/Role",
        f"{_RBAC}/RoleBinding",
    )
)  # fmt: skip
"""Kinds of which PUT creates what is missing."""

NEEDS_VERSION = frozenset(
    (
        "apiextensions.k8s.io/CustomResourceDefinition", "apiregistration.k8s.io/APIService",
        "coordination.k8s.io/Lease", "coordination.k8s.io/LeaseCandidate", "node.k8s.io/RuntimeClass",
        "policy/PodDisruptionBudget", "storage.k8s.io/CSIDriver", "storage.k8s.io/CSINode",
        "storage.k8s.io/CSIStorageCapacity", "storage.k8s.io/VolumeAttachment",
        "certificates.k8s.io/ClusterTrustBundle",
        f"{_ADMISSION}/MutatingAdmissionPolicy", f"{_ADMISSION}/MutatingAdmissionPolicyBinding",
        f"{_ADMISSION}/MutatingWebhookConfiguration", f"{_ADMISSION}/ValidatingAdmissionPolicy",
        f"{_ADMISSION}/ValidatingAdmissionPolicyBinding", f"{_ADMISSION}/ValidatingWebhookConfiguration",
    )
)  # fmt: skip
"""Kinds whose PUT has to name the version that it replaces."""

KEEPS_STATUS_ON_CREATE = frozenset(("/Node", "/Namespace", "storage.k8s.io/VolumeAttachment"))
"""Kinds with a status that may be created together with it, or whose preparation sets it."""

STATUS_KEEPS_METADATA = frozenset(
    (
        "apiextensions.k8s.io/CustomResourceDefinition", "apiregistration.k8s.io/APIService",
        "flowcontrol.apiserver.k8s.io/FlowSchema", "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "networking.k8s.io/ServiceCIDR", "resource.k8s.io/ResourceClaim", f"{_ADMISSION}/ValidatingAdmissionPolicy",
    )
)  # fmt: skip
"""Kinds whose status subresource changes neither labels nor annotations, finalizers or owners."""

RESET_FIELDS: Mapping[tuple[str, str], FieldSet] = {
    ("certificates.k8s.io/CertificateSigningRequest", ""): {"f:spec": {}, "f:status": {}},
    ("certificates.k8s.io/CertificateSigningRequest", "status"): {"f:spec": {}, "f:status": {"f:conditions": {}}},
    ("certificates.k8s.io/CertificateSigningRequest", "approval"): {"f:spec": {}, "f:status": {"f:certificate": {}}},
}
"""What writers of a kind, or of one of its subresources, never own, where it is not what others' do not."""

ORPHANS_BY_DEFAULT = frozenset(("/ReplicationController", "batch/Job"))
"""Kinds whose dependents outlive them, unless the caller says otherwise."""

ORPHAN_WARNINGS = {
    "batch/Job": "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to "
    "remove them or set propagationPolicy=Orphan to suppress this warning",
}
"""What callers are told who did not say that dependents should stay."""

STATUS_KEEPS_LABELS = frozenset(("apps/Deployment",))
"""Kinds whose status subresource does not change labels."""


def _flag(path: str) -> Callable[[JsonObject], str]:
    """A truth value that Go has even when JSON leaves it out."""
    return lambda obj: value_at(obj, path) or "false"


def _count(path: str) -> Callable[[JsonObject], str]:
    return lambda obj: value_at(obj, path) or "0"


def _fields(**named: Callable[[JsonObject], str]) -> Mapping[str, Callable[[JsonObject], str]]:
    return {name.replace("__", "."): getter for name, getter in named.items()}


def _event_source(event: JsonObject) -> str:
    return value_at(event, "source.component") or as_text(event.get("reportingComponent"))


def _with(base: SelectableFields, **named: Callable[[JsonObject], str]) -> SelectableFields:
    return SelectableFields({**base.getters, **_fields(**named)}, base.refusal_text)


def _first_pod_ip(pod: JsonObject) -> str:
    addresses = (pod.get("status") or {}).get("podIPs") or ()
    return as_text(addresses[0].get("ip")) if addresses else value_at(pod, "status.podIP")


def _about(field: str) -> tuple[str, ...]:
    return tuple(
        f"{field}.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    )


SELECTABLE_FIELDS: Mapping[str, SelectableFields] = {
    "/Pod": _with(
        SelectableFields.of(
            "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase",
            "status.nominatedNodeName",
        ),
        spec__hostNetwork=_flag("spec.hostNetwork"), status__podIP=_first_pod_ip, status__podIPs=_first_pod_ip,
    ),
    "/Node": _with(SelectableFields.of(), spec__unschedulable=_flag("spec.unschedulable")),
    "/ReplicationController": _with(SelectableFields.of(), status__replicas=_count("status.replicas")),
    "/Event": _with(
        SelectableFields.of(*_about("involvedObject"), "reason", "reportingComponent", "type"), source=_event_source
    ),
    "events.k8s.io/Event": SelectableFields.of(*_about("regarding"), "reason", "reportingController", "type"),
    "/Namespace": SelectableFields.of("status.phase"),
    "/Secret": SelectableFields.of("type"),
    "/Service": SelectableFields.of("spec.clusterIP", "spec.type"),
    "batch/Job": _with(
        SelectableFields.of(refusal_text='field label "{}" not supported for Job'),
        status__successful=_count("status.succeeded"),
    ),
    "resource.k8s.io/ResourceSlice": SelectableFields.of(
        "spec.nodeName", "spec.driver",
        refusal_text="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
    ),
    "certificates.k8s.io/CertificateSigningRequest": SelectableFields.of("spec.signerName"),
}  # fmt: skip
"""Kinds that can be selected by more than name and namespace."""

EMPTY_IS_SAID: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "autoscaling/HorizontalPodAutoscaler": (
        ("spec", "behavior", "scaleDown", "policies"),
        ("spec", "behavior", "scaleUp", "policies"),
    ),
    "discovery.k8s.io/EndpointSlice": (("endpoints",), ("ports",)),
    "rbac.authorization.k8s.io/ClusterRole": (("rules",),),
    "rbac.authorization.k8s.io/Role": (("rules",),),
}
"""Lists that mean something when they are sent empty: the sender owns them, or they are no way to say nothing."""

METADATA_LAST = frozenset(("/Event", "events.k8s.io/Event", "policy/PodDisruptionBudget"))
"""Kinds whose own validation leaves metadata to that of all kinds, which comes after it."""
