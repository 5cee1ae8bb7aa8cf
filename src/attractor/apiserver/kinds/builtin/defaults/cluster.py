"""Defaults of the kinds that configure a cluster: networking, RBAC, storage, admission, extensions, flow control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.defaults.fill import child, fill, fill_absent, items

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.defaults.fill import Defaulter
    from attractor.objects.json_types import JsonObject

RBAC_GROUP = "rbac.authorization.k8s.io"
_HTTPS = 443


def default_network_policy(policy: JsonObject) -> None:
    """Policy types from the rules that are there; protocols of ports."""
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for name in ("ingress", "egress"):
        for rule in items(spec, name):
            for port in items(rule, "ports"):
                fill_absent(port, protocol="TCP")


def default_ingress_class(ingress_class: JsonObject) -> None:
    """Parameters are cluster-wide unless they say otherwise."""
    parameters = ingress_class["spec"].get("parameters")
    if parameters is not None:
        fill_absent(parameters, scope="Cluster")


def default_endpoint_slice(endpoint_slice: JsonObject) -> None:
    """Names and protocols of ports."""
    for port in items(endpoint_slice, "ports"):
        fill_absent(port, protocol="TCP")
        if port.get("name") is None:
            port["name"] = ""


def default_binding(binding: JsonObject) -> None:
    """API groups of the role and of the subjects."""
    fill(binding["roleRef"], apiGroup=RBAC_GROUP)
    for subject in items(binding, "subjects"):
        if subject.get("kind") in {"User", "Group"}:
            fill(subject, apiGroup=RBAC_GROUP)


def default_storage_class(storage_class: JsonObject) -> None:
    """Delete released volumes, bind at once."""
    fill_absent(storage_class, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def default_csi_driver(driver: JsonObject) -> None:
    """What a driver is assumed to need."""
    spec = driver["spec"]
    fill_absent(
        spec,
        attachRequired=True,
        podInfoOnMount=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        storageCapacity=False,
        requiresRepublish=False,
        seLinuxMount=False,
    )
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _default_webhooks(configuration: JsonObject) -> None:
    for webhook in items(configuration, "webhooks"):
        fill_absent(webhook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
        child(webhook, "namespaceSelector")
        child(webhook, "objectSelector")
        for rule in items(webhook, "rules"):
            fill_absent(rule, scope="*")
        _default_service_port(webhook["clientConfig"])


def _default_service_port(client: JsonObject) -> None:
    if client.get("service") is not None:
        fill(client["service"], port=_HTTPS)


def default_mutating_webhooks(configuration: JsonObject) -> None:
    """Policies, selectors, scope, port, and whether to call again."""
    _default_webhooks(configuration)
    for webhook in items(configuration, "webhooks"):
        fill_absent(webhook, reinvocationPolicy="Never")


def _default_match_resources(match: JsonObject | None) -> None:
    if match is None:
        return
    fill_absent(match, matchPolicy="Equivalent")
    child(match, "namespaceSelector")
    child(match, "objectSelector")
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in items(match, name):
            fill_absent(rule, scope="*")


def default_admission_policy(policy: JsonObject) -> None:
    """The failure policy and what is matched."""
    fill_absent(policy["spec"], failurePolicy="Fail")
    _default_match_resources(policy["spec"].get("matchConstraints"))


def default_admission_policy_binding(binding: JsonObject) -> None:
    """What is matched."""
    _default_match_resources(binding["spec"].get("matchResources"))


def default_crd(crd: JsonObject) -> None:
    """Names from the kind, and no conversion."""
    spec = crd["spec"]
    names = spec["names"]
    kind = names.get("kind")
    if kind:
        fill(names, singular=kind.lower(), listKind=f"{kind}List")
    conversion = child(spec, "conversion")
    fill(conversion, strategy="None")
    client = (conversion.get("webhook") or {}).get("clientConfig")
    if client is not None:
        _default_service_port(client)


def default_api_service(api_service: JsonObject) -> None:
    """The port of the service behind it."""
    _default_service_port(api_service["spec"])


def default_priority_class(priority_class: JsonObject) -> None:
    """Pods of the class may preempt others."""
    fill_absent(priority_class, preemptionPolicy="PreemptLowerPriority")


def default_flow_schema(schema: JsonObject) -> None:
    """The middle precedence."""
    if not schema["spec"].get("matchingPrecedence"):
        schema["spec"]["matchingPrecedence"] = 1000


def default_priority_level(level: JsonObject) -> None:
    """Shares and queues."""
    spec = level["spec"]
    if spec.get("exempt") is not None:
        fill(spec["exempt"], nominalConcurrencyShares=0, lendablePercent=0)
    limited = spec.get("limited")
    if limited is not None:
        fill(limited, nominalConcurrencyShares=30, lendablePercent=0)
        queuing = limited["limitResponse"].get("queuing")
        if queuing is not None:
            for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                queuing[name] = queuing.get(name) or value


def default_claim(claim: JsonObject) -> None:
    """One device of each request."""
    _default_devices(claim["spec"].get("devices"))


def default_claim_template(template: JsonObject) -> None:
    """One device of each request, in each claim."""
    _default_devices((template["spec"].get("spec") or {}).get("devices"))


def _default_devices(devices: JsonObject | None) -> None:
    for request in items(devices, "requests"):
        exactly = request.get("exactly")
        for wanted in (*([exactly] if exactly is not None else ()), *items(request, "firstAvailable")):
            fill(wanted, allocationMode="ExactCount")
            if wanted["allocationMode"] == "ExactCount" and not wanted.get("count"):
                wanted["count"] = 1


CLUSTER: Mapping[tuple[str, str], Defaulter] = {
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): default_admission_policy,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): default_admission_policy_binding,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): default_mutating_webhooks,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): default_admission_policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): default_admission_policy_binding,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _default_webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): default_crd,
    ("apiregistration.k8s.io", "APIService"): default_api_service,
    ("discovery.k8s.io", "EndpointSlice"): default_endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): default_flow_schema,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): default_priority_level,
    ("networking.k8s.io", "IngressClass"): default_ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): default_network_policy,
    (RBAC_GROUP, "ClusterRoleBinding"): default_binding,
    ("resource.k8s.io", "ResourceClaim"): default_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): default_claim_template,
    (RBAC_GROUP, "RoleBinding"): default_binding,
    ("scheduling.k8s.io", "PriorityClass"): default_priority_class,
    ("storage.k8s.io", "CSIDriver"): default_csi_driver,
    ("storage.k8s.io", "StorageClass"): default_storage_class,
}
"""Kinds that configure a cluster, by group and kind."""
