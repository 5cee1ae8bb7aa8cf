"""Versions of built-in kinds that are served no more, but that Kubernetes still reads: it knows what they mean, and so
says that they are of the wrong version where it would say of others that there is no such kind."""

from __future__ import annotations

_ROLES = frozenset(("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"))
_FLOWS = frozenset(("FlowSchema", "PriorityLevelConfiguration"))
_POLICIES = frozenset(("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"))
_WEBHOOKS = frozenset(("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))
_REVIEWS = frozenset(
    ("LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview")
)
_FIRST_WORKLOADS = frozenset(("ControllerRevision", "Deployment", "StatefulSet"))
_RETIRED: dict[str, frozenset[str]] = {
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": _POLICIES | _WEBHOOKS,
    "apiextensions.k8s.io/v1beta1": frozenset(("CustomResourceDefinition",)),
    "apiregistration.k8s.io/v1beta1": frozenset(("APIService",)),
    "apps/v1beta1": _FIRST_WORKLOADS,
    "apps/v1beta2": _FIRST_WORKLOADS | {"DaemonSet", "ReplicaSet"},
    "authentication.k8s.io/v1alpha1": frozenset(("SelfSubjectReview",)),
    "authentication.k8s.io/v1beta1": frozenset(("SelfSubjectReview", "TokenReview")),
    "authorization.k8s.io/v1beta1": _REVIEWS,
    "autoscaling/v2beta1": frozenset(("HorizontalPodAutoscaler",)),
    "autoscaling/v2beta2": frozenset(("HorizontalPodAutoscaler",)),
    "batch/v1beta1": frozenset(("CronJob",)),
    "certificates.k8s.io/v1beta1": frozenset(("CertificateSigningRequest",)),
    "coordination.k8s.io/v1beta1": frozenset(("Lease",)),
    "discovery.k8s.io/v1beta1": frozenset(("EndpointSlice",)),
    "events.k8s.io/v1beta1": frozenset(("Event",)),
    "flowcontrol.apiserver.k8s.io/v1beta1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta2": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta3": _FLOWS,
    "networking.k8s.io/v1beta1": frozenset(("Ingress", "IngressClass")),
    "node.k8s.io/v1alpha1": frozenset(("RuntimeClass",)),
    "node.k8s.io/v1beta1": frozenset(("RuntimeClass",)),
    "policy/v1beta1": frozenset(("PodDisruptionBudget",)),
    "rbac.authorization.k8s.io/v1alpha1": _ROLES,
    "rbac.authorization.k8s.io/v1beta1": _ROLES,
    "scheduling.k8s.io/v1beta1": frozenset(("PriorityClass",)),
    "storage.k8s.io/v1alpha1": frozenset(("CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass")),
    "storage.k8s.io/v1beta1": frozenset(
        ("CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment")
    ),
}


def is_retired(api_version: str, kind: str) -> bool:
    """Whether the kind was once served in that version, and can still be read."""
    return kind in _RETIRED.get(api_version, ())
