"""Rules of the kinds that configure a cluster: RBAC, networking, storage, scheduling, admission."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.validation.control_plane.policies import match_condition_errors, rule_errors
from attractor.apiserver.kinds.builtin.validation.control_plane.webhook_client import validate_client
from attractor.apiserver.kinds.builtin.validation.rules import (
    cidr,
    domain_prefixed_path,
    each,
    forbidden_change,
    ip_address,
    known,
    named,
    one_of,
    port_number,
    port_number_or_name,
    required,
    required_name,
    unchanged,
)
from attractor.apiserver.kinds.builtin.validation.workloads.workloads import is_readable
from attractor.objects import names
from attractor.objects.field import FieldError, InOrder, repeated
from attractor.objects.labels import validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_HIGHEST_USER_PRIORITY = 1_000_000_000
_MAX_CONTROLLER_BYTES = 250
_MAX_DUPLICATES = 100
"""Complaints about equal topologies: Kubernetes makes one for each pair of them."""
_NOT_IN_UPDATE = "may not be changed in an update."


def _validate_policy_rules(role: JsonObject, *, namespaced: bool) -> list[FieldError]:
    errors = []
    for rule, at in each(role, "rules", ""):
        if not rule.get("verbs"):
            errors.append(FieldError.required(f"{at}.verbs", "verbs must contain at least one value"))
        urls = rule.get("nonResourceURLs")
        if urls:
            if namespaced:
                detail = "namespaced rules cannot apply to non-resource URLs"
                errors.append(FieldError.invalid(f"{at}.nonResourceURLs", urls, detail))
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(FieldError.invalid(f"{at}.nonResourceURLs", urls, detail))
            continue
        if not rule.get("apiGroups"):
            errors.append(FieldError.required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(FieldError.required(f"{at}.resources", "resource rules must supply at least one resource"))
    return errors


def validate_role(role: JsonObject) -> list[FieldError]:
    """Rules of a namespace."""
    return _validate_policy_rules(role, namespaced=True)


def validate_cluster_role(role: JsonObject) -> list[FieldError]:
    """Rules of the cluster, and which others are aggregated."""
    errors = _validate_policy_rules(role, namespaced=False)
    aggregation = role.get("aggregationRule")
    if aggregation is not None:
        path = "aggregationRule.clusterRoleSelectors"
        if not aggregation.get("clusterRoleSelectors"):
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(FieldError.required(path, detail))
        for selector, at in each(aggregation, "clusterRoleSelectors", "aggregationRule"):
            errors += validate_label_selector(selector, at)
            if not is_readable(selector):
                errors.append(FieldError.invalid(at, None, "invalid label selector."))
    return errors


def _validate_binding(binding: JsonObject, kinds: tuple[str, ...], *, namespaced: bool) -> list[FieldError]:
    role = binding["roleRef"]
    errors = []
    if role.get("apiGroup") != RBAC:
        errors.append(FieldError.unsupported("roleRef.apiGroup", role.get("apiGroup", ""), (RBAC,)))
    if role.get("kind") not in kinds:
        errors.append(FieldError.unsupported("roleRef.kind", role.get("kind", ""), kinds))
    name = role.get("name", "")
    errors += named(names.path_segment, name, "roleRef.name") if name else [FieldError.required("roleRef.name")]
    for subject, at in each(binding, "subjects", ""):
        errors += _validate_subject(subject, at, namespaced=namespaced)
    return errors


def _validate_subject(subject: JsonObject, path: str, *, namespaced: bool) -> list[FieldError]:
    errors = required(subject, path, "name")
    kind, group = subject.get("kind", ""), subject.get("apiGroup", "")
    if kind == "ServiceAccount":
        if subject.get("name"):
            errors += named(names.dns1123_subdomain, subject["name"], f"{path}.name")
        if group:
            errors.append(FieldError.unsupported(f"{path}.apiGroup", group, ("",)))
        if not subject.get("namespace") and not namespaced:
            errors.append(FieldError.required(f"{path}.namespace"))
    elif kind in {"User", "Group"}:
        if group != RBAC:
            errors.append(FieldError.unsupported(f"{path}.apiGroup", group, (RBAC,)))
    else:
        errors.append(FieldError.unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors


def validate_role_binding(binding: JsonObject) -> list[FieldError]:
    """The role, and who gets it in a namespace."""
    return _validate_binding(binding, ("Role", "ClusterRole"), namespaced=True)


def validate_cluster_role_binding(binding: JsonObject) -> list[FieldError]:
    """The role, and who gets it everywhere."""
    return _validate_binding(binding, ("ClusterRole",), namespaced=False)


def update_binding(binding: JsonObject, old: JsonObject) -> list[FieldError]:
    """A binding stays with its role."""
    if binding["roleRef"] == old["roleRef"]:
        return []
    ref = binding["roleRef"]
    # The struct that Kubernetes prints here has no names for JSON.
    shown = InOrder(APIGroup=ref.get("apiGroup") or "", Kind=ref.get("kind") or "", Name=ref.get("name") or "")
    return [FieldError.invalid("roleRef", shown, "cannot change roleRef")]


def validate_ingress(ingress: JsonObject) -> list[FieldError]:
    """Hosts, paths, backends."""
    spec = ingress["spec"]
    errors: list[FieldError] = []
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        errors.append(FieldError.invalid("spec", spec.get("rules"), detail))
    if spec.get("defaultBackend") is not None:
        errors += _validate_backend(spec["defaultBackend"], "spec.defaultBackend")
    for rule, at in each(spec, "rules", "spec"):
        errors += _validate_host(rule.get("host", ""), f"{at}.host")
        http = rule.get("http")
        if http is not None:
            errors += required(http, f"{at}.http", "paths")
            for path, where in each(http, "paths", f"{at}.http"):
                errors += _validate_ingress_path(path, where)
    for tls, at in each(spec, "tls", "spec"):
        for host, where in each(tls, "hosts", at):
            rule = names.wildcard_dns1123_subdomain if "*" in host else names.dns1123_subdomain
            errors += named(rule, host, where)
        if tls.get("secretName"):
            errors += named(names.dns1123_subdomain, tls["secretName"], f"{at}.secretName")
    if spec.get("ingressClassName") is not None:
        errors += named(names.dns1123_subdomain, spec["ingressClassName"], "spec.ingressClassName")
    return errors


_INGRESS_CLASS = "kubernetes.io/ingress.class"


def create_ingress(ingress: JsonObject) -> list[FieldError]:
    """A new ingress says its class once, or twice the same."""
    said = (ingress["metadata"].get("annotations") or {}).get(_INGRESS_CLASS)
    name = ingress["spec"].get("ingressClassName")
    if said is None or name is None or said == name:
        return []
    detail = "must match `ingressClassName` when both are specified"
    return [FieldError.invalid(f"annotations.{_INGRESS_CLASS}", said, detail)]


def validate_ingress_status(ingress: JsonObject, old: JsonObject) -> list[FieldError]:
    """Where the load balancer is: addresses and names."""
    status, before = ((one.get("status") or {}).get("loadBalancer") or {} for one in (ingress, old))
    had = {one.get("ip") for one in before.get("ingress") or ()}
    errors: list[FieldError] = []
    for one, at in each(status, "ingress", "status.loadBalancer"):
        if one.get("ip") and one["ip"] not in had:
            errors += ip_address(one["ip"], f"{at}.ip")
        if one.get("hostname"):
            errors += _validate_host(one["hostname"], f"{at}.hostname")
    return errors


def _validate_host(host: str, path: str) -> list[FieldError]:
    if not host:
        return []
    try:
        ipaddress.ip_address(host)
    except ValueError:
        rule = names.wildcard_dns1123_subdomain if "*" in host else names.dns1123_subdomain
        return named(rule, host, path)
    return [FieldError.invalid(path, host, "must be a DNS name, not an IP address")]


def _validate_ingress_path(path: JsonObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, value = path.get("pathType"), path.get("path", "")
    if kind is None:
        return [FieldError.required(f"{at}.pathType", "pathType must be specified")]
    errors += known(kind, f"{at}.pathType", ("Exact", "ImplementationSpecific", "Prefix"))
    wrong: list[str] = []
    if not value.startswith("/") and (kind in {"Exact", "Prefix"} or (kind == "ImplementationSpecific" and value)):
        wrong.append("must be an absolute path")
    if kind in {"Exact", "Prefix"}:
        wrong += [f"must not contain '{found}'" for found in ("//", "/./", "/../", "%2f", "%2F") if found in value]
        wrong += [f"cannot end with '{found}'" for found in ("/..", "/.") if value.endswith(found)]
    errors += [FieldError.invalid(f"{at}.path", value, why) for why in wrong]
    return errors + _validate_backend(path.get("backend") or {}, f"{at}.backend")


def _validate_backend(backend: JsonObject, path: str) -> list[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [FieldError.invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        group = resource.get("apiGroup")
        wrong = named(names.dns1123_subdomain, group, f"{path}.resource.apiGroup") if group is not None else []
        for field in ("kind", "name"):
            wrong += required_name(names.path_segment, resource.get(field), f"{path}.resource.{field}")
        return wrong
    if service is None:
        return [FieldError.invalid(path, "", "resource or service backend is required")]
    name = service.get("name", "")
    errors = (
        named(names.dns1123_label, name, f"{path}.service.name")
        if name
        else required(service, f"{path}.service", "name")
    )
    port = service.get("port") or {}
    if port.get("name") and port.get("number"):
        errors.append(FieldError.invalid(path, "", "cannot set both port name & port number"))
    elif port.get("name"):
        errors += named(names.port_name, port["name"], f"{path}.service.port.name")
    elif port.get("number"):
        errors += port_number(port["number"], f"{path}.service.port.number")
    else:
        errors.append(FieldError.required(path, "port name or number is required"))
    return errors


def validate_network_policy(policy: JsonObject) -> list[FieldError]:
    """Selectors, ports, peers."""
    spec = policy["spec"]
    errors = validate_label_selector(spec.get("podSelector"), "spec.podSelector")
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for rule, at in each(spec, field, "spec"):
            for port, where in each(rule, "ports", at):
                errors += _validate_policy_port(port, where)
            for peer, where in each(rule, peers, at):
                errors += _validate_peer(peer, where)
    kinds = spec.get("policyTypes") or ()
    if len(kinds) > 2:
        errors.append(FieldError.invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes"))
        return errors
    for kind, at in each(spec, "policyTypes", "spec"):
        errors += known(kind, at, ("Ingress", "Egress"))
    return errors


def _validate_policy_port(port: JsonObject, path: str) -> list[FieldError]:
    errors = known(port.get("protocol"), f"{path}.protocol", ("TCP", "UDP", "SCTP"))
    first, last, at = port.get("port"), port.get("endPort"), f"{path}.endPort"
    if first is None:
        if last is not None:
            errors.append(FieldError.invalid(at, last, "may not be specified when `port` is not specified"))
        return errors
    errors += port_number_or_name(first, f"{path}.port")
    if last is None:
        return errors
    if isinstance(first, str):
        errors.append(FieldError.invalid(at, last, "may not be specified when `port` is non-numeric"))
    else:
        if last < first:  # Kubernetes shows the port here
            errors.append(FieldError.invalid(at, first, "must be greater than or equal to `port`"))
        errors += port_number(last, at)
    return errors


def _is_inside(inner: str, outer: str) -> bool:
    """Whether one block is a part, and not the whole, of another."""
    try:
        small, large = ipaddress.ip_network(inner), ipaddress.ip_network(outer)
    except ValueError:
        return True  # which is said elsewhere
    if small.version != large.version:
        return False
    return small.prefixlen > large.prefixlen and small.network_address in large


def _validate_peer(peer: JsonObject, path: str) -> list[FieldError]:
    selectors = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    block = peer.get("ipBlock")
    errors = [error for name in selectors for error in validate_label_selector(peer[name], f"{path}.{name}")]
    if block is not None:
        value = block.get("cidr", "")
        wrong = cidr(value, f"{path}.ipBlock.cidr") if value else required(block, f"{path}.ipBlock", "cidr")
        errors += wrong
        for excluded, at in each(block, "except", f"{path}.ipBlock") if not wrong else ():
            wrong = cidr(excluded, at)
            if not wrong and not _is_inside(excluded, value):
                wrong = [FieldError.invalid(at, excluded, "must be a strict subset of `cidr`")]
            errors += wrong
    if not selectors and block is None:
        errors.append(FieldError.required(path, "must specify a peer"))
    elif selectors and block is not None:
        errors.append(FieldError.forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def validate_ingress_class(ingress_class: JsonObject) -> list[FieldError]:
    """The controller is a path with a domain."""
    controller = ingress_class["spec"].get("controller", "")
    too_long = len(controller.encode()) > _MAX_CONTROLLER_BYTES
    errors = [FieldError.too_long("spec.controller", _MAX_CONTROLLER_BYTES)] if too_long else []
    errors += domain_prefixed_path(controller, "spec.controller")
    parameters = ingress_class["spec"].get("parameters")
    return errors if parameters is None else errors + _parameter_errors(parameters, "spec.parameters")


def _parameter_errors(parameters: JsonObject, path: str) -> list[FieldError]:
    """Where a class has its parameters: in the cluster, or in a namespace."""
    errors: list[FieldError] = []
    if parameters.get("apiGroup") is not None:
        errors += named(names.dns1123_subdomain, parameters["apiGroup"], f"{path}.apiGroup")
    for field in ("kind", "name"):
        errors += required_name(names.path_segment, parameters.get(field), f"{path}.{field}")
    scope, namespace, at = parameters.get("scope"), parameters.get("namespace"), f"{path}.namespace"
    errors += known(scope or "", f"{path}.scope", ("Cluster", "Namespace"))
    if scope == "Namespace":
        missing = FieldError.required(at, "`parameters.scope` is set to 'Namespace'")
        errors += [missing] if namespace is None else named(names.dns1123_label, namespace, at)
    elif scope == "Cluster" and namespace is not None:
        errors.append(FieldError.forbidden(at, "`parameters.scope` is set to 'Cluster'"))
    return errors


def update_ingress_class(ingress_class: JsonObject, old: JsonObject) -> list[FieldError]:
    """The controller never changes."""
    return unchanged({"controller": "", **ingress_class["spec"]}, old["spec"], "spec", "controller")


def validate_storage_class(storage_class: JsonObject) -> list[FieldError]:
    """The provisioner and the policies."""
    errors = _provider_errors(storage_class, "provisioner")
    errors += one_of(storage_class.get("reclaimPolicy"), "reclaimPolicy", ("Delete", "Retain"), optional=True)
    mode, modes = storage_class.get("volumeBindingMode"), ("Immediate", "WaitForFirstConsumer")
    errors += known(mode, "volumeBindingMode", modes)
    seen: Counter[frozenset[tuple[str, frozenset[str]]]] = Counter()
    seen[frozenset()] = len(storage_class.get("allowedTopologies") or ())  # so Kubernetes has it
    left = _MAX_DUPLICATES
    for term, at in each(storage_class, "allowedTopologies", ""):
        labels, wrong = _topology(term, at)
        errors += wrong
        key = frozenset((name, frozenset(values)) for name, values in labels.items())
        errors += [FieldError.duplicate(f"{at}.matchLabelExpressions", "")] * min(seen[key], left)
        left -= min(seen[key], left)
        seen[key] += 1
    return errors


def _topology(term: JsonObject, path: str) -> tuple[dict[str, set[str]], list[FieldError]]:
    """The labels that a topology asks of a node, and what is wrong with them."""
    labels: dict[str, set[str]] = {}
    errors = []
    for expression, at in each(term, "matchLabelExpressions", path):
        key, values = expression.get("key", ""), expression.get("values") or []
        errors += [] if values else [FieldError.required(f"{at}.values")]
        errors += [FieldError.duplicate(f"{at}.values[{index}]", values[index]) for index in sorted(repeated(values))]
        errors += named(names.qualified_name, key, f"{at}.key")
        errors += [FieldError.duplicate(f"{at}.key", key)] if key in labels else []
        labels[key] = set(values)
    return labels, errors


def _provider_errors(volume_class: JsonObject, field: str) -> list[FieldError]:
    """Who provides, and with what parameters."""
    provider = volume_class.get(field, "")
    errors = named(names.qualified_name, provider.lower(), field) if provider else [FieldError.required(field)]
    if "" in (volume_class.get("parameters") or {}):
        errors.append(FieldError.invalid("parameters", "", "field can not be empty."))
    return errors


def validate_volume_attributes_class(volume_class: JsonObject) -> list[FieldError]:
    """The driver, and at least one parameter."""
    errors = _provider_errors(volume_class, "driverName")
    if not volume_class.get("parameters"):
        errors.append(FieldError.required("parameters", "must contain at least one key/value pair"))
    return errors


def update_volume_attributes_class(volume_class: JsonObject, old: JsonObject) -> list[FieldError]:
    """What a class means never changes."""
    return [
        FieldError.forbidden(field, f"updates to {field} are forbidden.")
        for field in ("driverName", "parameters")
        if volume_class.get(field) != old.get(field)
    ]


def update_storage_class(storage_class: JsonObject, old: JsonObject) -> list[FieldError]:
    """What a class means never changes."""
    return unchanged(storage_class, old, "", "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def create_priority_class(priority_class: JsonObject) -> list[FieldError]:
    """Names and values that belong to the system."""
    name, value = priority_class["metadata"].get("name", ""), priority_class.get("value", 0)
    errors = []
    if name.startswith("system-"):
        trouble = _system_class_trouble(name, value, bool(priority_class.get("globalDefault")))
        if trouble:
            detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
            errors.append(FieldError.forbidden("metadata.name", detail + trouble))
    elif value > _HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        errors.append(FieldError.forbidden("value", detail))
    policies, policy = ("PreemptLowerPriority", "Never"), priority_class.get("preemptionPolicy")
    return errors + ([] if policy is None else one_of(policy, "preemptionPolicy", policies))


def _system_class_trouble(name: str, value: int, is_default: bool) -> str:
    """Why a class is none of the system's."""
    expected = _SYSTEM_PRIORITIES.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if value != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def update_priority_class(priority_class: JsonObject, old: JsonObject) -> list[FieldError]:
    """The value never changes."""
    errors = forbidden_change(priority_class, old, "", _NOT_IN_UPDATE, "value")
    return errors + unchanged(priority_class, old, "", "preemptionPolicy")


def validate_webhooks(configuration: JsonObject) -> list[FieldError]:
    """Names, rules, policies, and how each webhook is called."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for webhook, at in each(configuration, "webhooks", ""):
        errors += names.fully_qualified_name(webhook.get("name", ""), f"{at}.name")
        if webhook.get("name") in seen:
            errors.append(FieldError.duplicate(f"{at}.name", webhook["name"]))
        seen.add(webhook.get("name", ""))
        errors += _validate_webhook(webhook, at)
    return errors


def _validate_webhook(webhook: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    versions = webhook.get("admissionReviewVersions") or ()
    if not versions:
        errors.append(FieldError.required(f"{path}.admissionReviewVersions", "must specify one of v1, v1beta1"))
    elif not {"v1", "v1beta1"} & set(versions):
        detail = "must include at least one of v1, v1beta1"
        errors.append(FieldError.invalid(f"{path}.admissionReviewVersions", versions, detail))
    twice = repeated(versions)
    for index, version in enumerate(versions):
        at = f"{path}.admissionReviewVersions[{index}]"
        errors += [FieldError.invalid(at, version, "duplicate version")] if index in twice else []
        errors += named(names.dns1035_label, version, at)
    for rule, at in each(webhook, "rules", path):
        errors += rule_errors(rule, at)
    errors += known(webhook.get("failurePolicy"), f"{path}.failurePolicy", ("Fail", "Ignore"))
    errors += known(webhook.get("matchPolicy"), f"{path}.matchPolicy", ("Equivalent", "Exact"))
    effects = webhook.get("sideEffects")
    if effects is None:
        errors.append(FieldError.required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun"))
    errors += known(effects, f"{path}.sideEffects", ("None", "NoneOnDryRun"))
    errors += known(webhook.get("reinvocationPolicy"), f"{path}.reinvocationPolicy", ("IfNeeded", "Never"))
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        errors.append(FieldError.invalid(f"{path}.timeoutSeconds", timeout, detail))
    for field in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(webhook.get(field), f"{path}.{field}")
    errors += match_condition_errors(webhook, path)
    return errors + validate_client(webhook.get("clientConfig") or {}, f"{path}.clientConfig")


VALIDATE: Mapping[tuple[str, str], Validator] = {
    (_ADMISSION, "MutatingWebhookConfiguration"): validate_webhooks,
    (_ADMISSION, "ValidatingWebhookConfiguration"): validate_webhooks,
    ("networking.k8s.io", "Ingress"): validate_ingress,
    ("networking.k8s.io", "IngressClass"): validate_ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): validate_network_policy,
    (RBAC, "ClusterRole"): validate_cluster_role,
    (RBAC, "ClusterRoleBinding"): validate_cluster_role_binding,
    (RBAC, "Role"): validate_role,
    (RBAC, "RoleBinding"): validate_role_binding,
    ("storage.k8s.io", "StorageClass"): validate_storage_class,
    ("storage.k8s.io", "VolumeAttributesClass"): validate_volume_attributes_class,
}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {
    ("networking.k8s.io", "IngressClass"): update_ingress_class,
    (RBAC, "ClusterRoleBinding"): update_binding,
    (RBAC, "RoleBinding"): update_binding,
    ("scheduling.k8s.io", "PriorityClass"): update_priority_class,
    ("storage.k8s.io", "StorageClass"): update_storage_class,
    ("storage.k8s.io", "VolumeAttributesClass"): update_volume_attributes_class,
}
