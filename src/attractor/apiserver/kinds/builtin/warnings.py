"""Warnings to writers of valid objects: what is deprecated, ignored, ambiguous or does not do what it seems to.

>>> service = {"metadata": {}, "spec": {"type": "ClusterIP", "externalName": "example.com"}}
>>> list(warner_of("", "Service")(service, None))
['spec.externalName is ignored when spec.type is not "ExternalName"']
"""

from __future__ import annotations

import ipaddress
import re
from base64 import b64decode
from typing import TYPE_CHECKING, TypeAlias

from attractor.apiserver.kinds.builtin.pod_warnings import DEPRECATED_LABELS, pod_warnings, term_warnings
from attractor.apiserver.kinds.builtin.validation.rules import amount, each
from attractor.objects import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from attractor.objects.json_types import JsonObject

Warner: TypeAlias = "Callable[[JsonObject, JsonObject | None], Iterator[str]]"

_NAMED_PODS = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: "
)
_POD_NAME = (
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
    "a DNS label is recommended: "
)
_ENFORCES_SECRETS = "kubernetes.io/enforce-mountable-secrets"
_VOLUME_ANNOTATIONS = {
    "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_VOLUME_PLUGINS = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_PEM = re.compile(rb"^-----BEGIN ([A-Z0-9 ]+)-----\n[A-Za-z0-9+/=\s]*\n-----END \1-----\s*?$", re.MULTILINE)


def warner_of(group: str, kind: str) -> Warner | None:
    """What tells writers of a kind about an object, which may replace an old one; None where nothing is ever said."""
    return _WARNERS.get((group, kind))


def _pod(pod: JsonObject, old: JsonObject | None) -> Iterator[str]:
    wrong = names.dns1123_label(pod["metadata"].get("name", "")) if old is None else []
    if wrong:
        yield f"{_POD_NAME}[{' '.join(wrong)}]"
    yield from pod_warnings(pod["spec"], pod["metadata"], "", is_template=False)


def _template(template: JsonObject, path: str) -> Iterator[str]:
    yield from pod_warnings(template["spec"], template.get("metadata") or {}, f"{path}.", is_template=True)


def _same_generation(obj: JsonObject, old: JsonObject | None) -> bool:
    return old is not None and obj["metadata"].get("generation") == old["metadata"].get("generation")


def _name(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    wrong = names.dns1123_label(obj["metadata"].get("name", "")) if old is None else []
    if wrong:
        yield f"{_NAMED_PODS}[{' '.join(wrong)}]"


def _workload(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    yield from _name(obj, old)
    template = obj["spec"].get("template")
    if template is not None and not _same_generation(obj, old):
        yield from _template(template, "spec.template")


def _daemon_set(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None or obj["spec"]["template"] != old["spec"]["template"]:
        yield from _template(obj["spec"]["template"], "spec.template")


def _stateful_set(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if not _same_generation(obj, old):
        yield from _template(obj["spec"]["template"], "spec.template")
    for claim, at in each(obj["spec"], "volumeClaimTemplates", "spec"):
        yield from _claim_spec(claim["spec"], at if old is None else f"{at}.Spec")
    if (obj["spec"].get("revisionHistoryLimit") or 0) < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
        )


def _cron_job(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    yield from _name(obj, old)
    if not _same_generation(obj, old):
        yield from _template(obj["spec"]["jobTemplate"]["spec"]["template"], "spec.jobTemplate.spec.template")


def _pod_template(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if not _same_generation(obj, old):
        yield from _template(obj["template"], "template")


def _service(service: JsonObject, _old: JsonObject | None) -> Iterator[str]:
    spec = service["spec"]
    headless, kind = spec.get("clusterIP") == "None", spec.get("type")
    hints = "service.kubernetes.io/topology-aware-hints"
    if hints in (service["metadata"].get("annotations") or {}):
        yield f"annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode instead"
    if headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if spec.get("externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    if spec.get("externalIPs") and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    for block, at in each(spec, "loadBalancerSourceRanges", "spec"):
        yield from cidr_warnings(block, at)
    if kind == "ExternalName" and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def cidr_warnings(text: str, path: str) -> Iterator[str]:
    """A block whose address has bits beyond its length may mean the block, or the address alone."""
    try:
        interface = ipaddress.ip_interface(text)
    except ValueError:
        return
    if interface.ip != interface.network.network_address:
        alone = f"{interface.ip}/{interface.max_prefixlen}"
        yield (
            f'{path}: CIDR value "{text}" is ambiguous in this context (should be "{interface.network}" or "{alone}"?)'
        )
    elif interface.version == 6 and str(interface.network) != text:
        yield f'{path}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{interface.network}")'


def _network_policy(policy: JsonObject, _old: JsonObject | None) -> Iterator[str]:
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for rule, at in each(policy["spec"], direction, "spec"):
            for peer, where in each(rule, peers, at):
                block = peer.get("ipBlock")
                if block is not None:
                    yield from cidr_warnings(block.get("cidr", ""), f"{where}.ipBlock.cidr")
                    for text, place in each(block, "except", f"{where}.ipBlock"):
                        yield from cidr_warnings(text, place)


def _secret(secret: JsonObject, _old: JsonObject | None) -> Iterator[str]:
    if secret.get("type") != "kubernetes.io/tls":
        return
    data = secret.get("data") or {}
    trouble = _pem_trouble(b64decode(data.get("tls.crt") or ""), is_key=False)
    trouble = trouble or _pem_trouble(b64decode(data.get("tls.key") or ""), is_key=True)
    if trouble:
        yield f"tls: failed to find {trouble}"


def _pem_trouble(text: bytes, *, is_key: bool) -> str:
    """Why there is no certificate, or no key, in the text; whether the two belong together is not looked at."""
    found = [kind.decode() for kind in _PEM.findall(text.replace(b"\r\n", b"\n"))]
    what = "key" if is_key else "certificate"
    if not found:
        return f"any PEM data in {what} input"
    if any(kind.endswith("PRIVATE KEY") if is_key else kind == "CERTIFICATE" for kind in found):
        return ""
    if is_key and found == ["CERTIFICATE"]:
        return "private key PEM data in key input, but did find a certificate; PEM inputs may have been switched"
    if not is_key and len(found) == 1 and found[0].endswith("PRIVATE KEY"):
        return (
            "certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
        )
    wanted = 'PEM block with type ending in "PRIVATE KEY"' if is_key else '"CERTIFICATE" PEM block'
    return f"{wanted} in {what} input after skipping PEM blocks of the following types: [{' '.join(found)}]"


def _service_account(account: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is not None and _ENFORCES_SECRETS in (old["metadata"].get("annotations") or {}):
        return
    if _ENFORCES_SECRETS in (account["metadata"].get("annotations") or {}):
        yield (
            f"metadata.annotations[{_ENFORCES_SECRETS}]: deprecated in v1.32+; "
            "prefer separate namespaces to isolate access to mounted secrets"
        )


def _claim(claim: JsonObject, _old: JsonObject | None) -> Iterator[str]:
    key = "volume.beta.kubernetes.io/storage-class"
    if key in (claim["metadata"].get("annotations") or {}):
        yield f"metadata.annotations[{key}]: {_VOLUME_ANNOTATIONS[key]}"
    yield from _claim_spec(claim["spec"], "spec")


def _claim_spec(spec: JsonObject, path: str) -> Iterator[str]:
    for field in ("requests", "limits"):
        size = ((spec.get("resources") or {}).get(field) or {}).get("storage")
        if size is not None and amount(size).nanos // 10**6 % 1000:
            at = f"{path}.resources.{field}[storage]"
            yield f'{at}: fractional byte value "{size}" is invalid, must be an integer'


def _volume(volume: JsonObject, _old: JsonObject | None) -> Iterator[str]:
    spec = volume["spec"]
    for key in _VOLUME_ANNOTATIONS.keys() & (volume["metadata"].get("annotations") or {}).keys():
        yield f"metadata.annotations[{key}]: {_VOLUME_ANNOTATIONS[key]}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )
    required = (spec.get("nodeAffinity") or {}).get("required")
    for term, at in each(required, "nodeSelectorTerms", "spec.nodeAffinity.required"):
        yield from term_warnings(term, at, with_values=False)
    for name, text in _VOLUME_PLUGINS.items():
        if spec.get(name) is not None:
            yield f"spec.{'storageOS' if name == 'storageos' else name}: {text}"


def _node(node: JsonObject, _old: JsonObject | None) -> Iterator[str]:
    spec = node.get("spec") or {}
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for block, at in each(spec, "podCIDRs", "spec"):
        yield from cidr_warnings(block, at)


def _ingress(ingress: JsonObject, old: JsonObject | None) -> Iterator[str]:
    key = "kubernetes.io/ingress.class"
    if old is None and key in (ingress["metadata"].get("annotations") or {}):
        yield f"annotation \"{key}\" is deprecated, please use 'spec.ingressClassName' instead"


def _storage_class(storage_class: JsonObject, _old: JsonObject | None) -> Iterator[str]:
    for term, at in each(storage_class, "allowedTopologies", ""):
        for expression, where in each(term, "matchLabelExpressions", at):
            if expression.get("key") in DEPRECATED_LABELS:
                yield f"{where}.key: {DEPRECATED_LABELS[expression['key']]}"


def _runtime_class(runtime_class: JsonObject, _old: JsonObject | None) -> Iterator[str]:
    for key in (runtime_class.get("scheduling") or {}).get("nodeSelector") or {}:
        if key in DEPRECATED_LABELS:
            yield f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"


def _endpoint_slice(endpoint_slice: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None and endpoint_slice.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"


def _csi_driver(driver: JsonObject, old: JsonObject | None) -> Iterator[str]:
    spec = driver["spec"]
    requests = spec.get("tokenRequests")
    if (
        requests
        and spec.get("serviceAccountTokenInSecrets") is None
        and requests != (old or {}).get("spec", {}).get("tokenRequests")
    ):
        yield (
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent "
            "possible logging of tokens in volume attributes"
        )


_WARNERS: Mapping[tuple[str, str], Warner] = {
    ("", "Node"): _node,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "PodTemplate"): _pod_template,
    ("", "ReplicationController"): _workload,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("", "ServiceAccount"): _service_account,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _workload,
    ("apps", "ReplicaSet"): _workload,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _workload,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    ("storage.k8s.io", "CSIDriver"): _csi_driver,
    ("storage.k8s.io", "StorageClass"): _storage_class,
}
