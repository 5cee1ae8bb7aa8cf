"""Usage of ResourceQuotas by an object: the names it counts under, how much, and which quotas it falls under.

>>> usage_of(GroupResource("", "configmaps"), {})
{'count/configmaps': Quantity('1'), 'configmaps': Quantity('1')}
>>> pod = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
>>> {name: str(amount) for name, amount in usage_of(GroupResource("", "pods"), pod).items()}
{'count/pods': '1', 'pods': '1', 'cpu': '2', 'requests.cpu': '2'}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attractor.apiserver.kinds.builtin.pod_resources import amounts_of, pod_amounts
from attractor.apiserver.kinds.builtin.preparation import qos_class
from attractor.objects.gvk import GroupResource
from attractor.objects.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from attractor.objects.json_types import JsonObject

Usage: TypeAlias = "dict[str, Quantity]"

PODS, SERVICES = GroupResource("", "pods"), GroupResource("", "services")
CLAIMS = GroupResource("", "persistentvolumeclaims")
_ONE, _NONE = Quantity(10**9), Quantity(0)
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_FINISHED = ("Failed", "Succeeded")
_OF_CLASS = ".storageclass.storage.k8s.io/"
_NAMED_ALONE = frozenset(("configmaps", "secrets", "replicationcontrollers", "resourcequotas"))
"""Resources that are also counted under their plain name."""
MUST_BE_SAID = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
"""What each container has to ask for where a quota limits it."""


def counted_as(resource: GroupResource) -> str:
    """The name under which objects of any kind are counted."""
    return f"count/{resource.resource}.{resource.group}" if resource.group else f"count/{resource.resource}"


def usage_of(resource: GroupResource, obj: JsonObject) -> Usage:
    """How much an object takes, by the names that quotas may limit."""
    usage = {counted_as(resource): _ONE}
    special = _SPECIAL.get(resource)
    if special is not None:
        usage.update(special(obj))
    elif not resource.group and resource.resource in _NAMED_ALONE:
        usage[resource.resource] = _ONE
    return usage


def _pod_usage(pod: JsonObject) -> Usage:
    if (pod.get("status") or {}).get("phase") in _FINISHED:
        return {}
    return {
        "pods": _ONE,
        **compute_usage(pod_amounts(pod["spec"], "requests"), pod_amounts(pod["spec"], "limits")),
    }


def compute_usage(requests: Usage, limits: Usage) -> Usage:
    """Requests and limits under the names of quotas."""
    found: Usage = {}
    for name, amount in requests.items():
        if name in _STANDARD or name.startswith("hugepages-"):
            found[name] = amount
        if name in _STANDARD or name.startswith("hugepages-") or "/" in name:
            found[f"requests.{name}"] = amount
    found.update((f"limits.{name}", amount) for name, amount in limits.items() if name in _STANDARD)
    return found


def unsaid(pod: JsonObject, limited: Iterable[str]) -> str:
    """Which containers do not ask for what is limited, in words; empty when all do."""
    wanted = MUST_BE_SAID & set(limited)
    missing: dict[str, set[str]] = {}
    spec = pod["spec"]
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        asked = compute_usage(amounts_of(container, "requests"), amounts_of(container, "limits"))
        for name in wanted - asked.keys():
            missing.setdefault(name, set()).add(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _service_usage(service: JsonObject) -> Usage:
    spec = service["spec"]
    ports, kind = spec.get("ports") or [], spec.get("type")
    usage = {"services": _ONE, "services.nodeports": _NONE, "services.loadbalancers": _NONE}
    if kind == "LoadBalancer":
        usage["services.loadbalancers"] = _ONE
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
    if kind in {"NodePort", "LoadBalancer"}:
        usage["services.nodeports"] = Quantity.of(len(ports))
    return usage


def _claim_usage(claim: JsonObject) -> Usage:
    spec = claim["spec"]
    usage = {"persistentvolumeclaims": _ONE}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if asked is not None:
        usage["requests.storage"] = Quantity.parse(str(asked))
    annotations = claim["metadata"].get("annotations") or {}
    storage_class = annotations.get("volume.beta.kubernetes.io/storage-class") or spec.get("storageClassName")
    if storage_class:
        usage.update({f"{storage_class}{_OF_CLASS}{name}": amount for name, amount in list(usage.items())})
    return usage


_SPECIAL: Mapping[GroupResource, Callable[[JsonObject], Usage]] = {
    PODS: _pod_usage,
    SERVICES: _service_usage,
    CLAIMS: _claim_usage,
}
CHARGED_ON_UPDATE = frozenset((PODS, SERVICES, CLAIMS))
"""Resources of which a change may take more than was taken, or bring an object into a quota's scope."""


def limited_by(resource: GroupResource, hard: Iterable[str]) -> list[str]:
    """Which of the limited names objects of the resource count under."""
    return sorted(name for name in hard if counts(resource, name))


def counts(resource: GroupResource, name: str) -> bool:
    """Whether objects of the resource count under a name."""
    if name == counted_as(resource):
        return True
    if resource == PODS:
        plain = name.removeprefix("requests.").removeprefix("limits.")
        return name == "pods" or plain in _STANDARD or plain.startswith("hugepages-") or _is_extended(name)
    if resource == SERVICES:
        return name in {"services", "services.nodeports", "services.loadbalancers"}
    if resource == CLAIMS:
        return name.rpartition(_OF_CLASS)[2] in {"persistentvolumeclaims", "requests.storage"}
    return not resource.group and name == resource.resource and name in _NAMED_ALONE


def _is_extended(name: str) -> bool:
    return name.startswith("requests.") and "/" in name


def is_in_scope(quota: JsonObject, resource: GroupResource, obj: JsonObject) -> bool:
    """Whether an object is among those that a quota is for."""
    return all(_matches(selector, resource, obj) for selector in _scopes(quota))


def attributes_classes(obj: JsonObject) -> set[str]:
    """The VolumeAttributesClasses that a claim or a volume has, wants, or is being changed to."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    named = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), target)
    return {name for name in named if name}


def _scopes(quota: JsonObject) -> Iterator[JsonObject]:
    spec = quota["spec"]
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def _matches(selector: JsonObject, resource: GroupResource, obj: JsonObject) -> bool:
    if resource == CLAIMS and selector.get("scopeName") == "VolumeAttributesClass":
        return any(_is_selected(selector, name) for name in attributes_classes(obj) or {""})
    return resource == PODS and _matches_pod(selector, obj["spec"])


def _matches_pod(selector: JsonObject, spec: JsonObject) -> bool:
    match selector.get("scopeName"):
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return qos_class(spec) == "BestEffort"
        case "NotBestEffort":
            return qos_class(spec) != "BestEffort"
        case "PriorityClass":
            return _is_selected(selector, spec.get("priorityClassName") or "")
        case "CrossNamespacePodAffinity":
            return _reaches_other_namespaces(spec)
    return False


def _is_selected(selector: JsonObject, value: str) -> bool:
    values = selector.get("values") or ()
    match selector.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return bool(value)
    return not value


def _reaches_other_namespaces(spec: JsonObject) -> bool:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        for term in (*required, *(one.get("podAffinityTerm") or {} for one in preferred)):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
