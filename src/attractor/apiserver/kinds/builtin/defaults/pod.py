"""Defaults of pods and pod templates.

A template gets less than a pod: what Kubernetes fills in only on pods (requests from limits, service links, host
ports) would change the hash of every existing template.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.defaults.fill import (
    fill,
    fill_absent,
    items,
    round_up_requirements,
    round_up_resources,
)

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_FILE_MODE = 0o644
_HOUR_S = 3600
_VOLUME_DEFAULTS: dict[str, JsonObject] = {
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def default_pod_spec(spec: JsonObject) -> None:
    """What every pod spec gets, in a pod or in a template."""
    fill(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        schedulerName="default-scheduler",
    )
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:  # one value under its name and its old name
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in items(spec, "volumes"):
        _default_volume(volume)
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for container in items(spec, name):
            _default_container(container)
    round_up_resources(spec.get("overhead"))
    round_up_requirements(spec.get("resources"))


def default_pod(pod: JsonObject) -> None:
    """What a pod gets."""
    spec = pod["spec"]
    default_pod_spec(spec)
    if "status" in pod:
        _settle_addresses(pod["status"])
    for name in ("initContainers", "containers"):
        for container in items(spec, name):
            _default_requests(container["resources"])
    if spec.get("resources"):
        _default_requests(spec["resources"])
    fill(spec, enableServiceLinks=True)
    if spec.get("hostNetwork"):
        for name in ("initContainers", "containers"):
            for container in items(spec, name):
                for port in items(container, "ports"):
                    port.setdefault("hostPort", port.get("containerPort", 0))


def _settle_addresses(status: JsonObject) -> None:
    """The first of a pod's addresses is said in two fields; where they differ, the older one is right."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def default_template(obj: JsonObject) -> None:
    """What the pod template of a workload gets."""
    template = obj["spec"].get("template")
    if template is not None:
        default_pod_spec(template["spec"])


def default_pod_template(obj: JsonObject) -> None:
    """What an object of kind PodTemplate gets."""
    default_pod_spec(obj["template"]["spec"])


def default_claim_spec(spec: JsonObject) -> None:
    """What the spec of a PersistentVolumeClaim gets, wherever it stands."""
    fill_absent(spec, volumeMode="Filesystem")
    round_up_requirements(spec.get("resources"))


def default_volume_source(volume: JsonObject) -> None:
    """What the sources get that pods' volumes and PersistentVolumes share."""
    for name, values in _VOLUME_DEFAULTS.items():
        source = volume.get(name)
        if source is not None:
            fill(source, **values)


def _default_volume(volume: JsonObject) -> None:
    if len(volume) == 1:  # nothing but its name
        volume["emptyDir"] = {}
    default_volume_source(volume)
    for item in items(volume, "downwardAPI", "items"):
        _default_field_ref(item)
    for source in items(volume, "projected", "sources"):
        for item in items(source, "downwardAPI", "items"):
            _default_field_ref(item)
        if source.get("serviceAccountToken") is not None:
            fill(source["serviceAccountToken"], expirationSeconds=_HOUR_S)
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(template["spec"])
    image = volume.get("image")
    if image is not None:
        fill(image, pullPolicy=_pull_policy(image.get("reference", "")))


def _default_field_ref(holder: JsonObject) -> None:
    if holder.get("fieldRef") is not None:
        fill(holder["fieldRef"], apiVersion="v1")


def _default_container(container: JsonObject) -> None:
    fill(
        container,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=_pull_policy(container.get("image", "")),
    )
    for port in items(container, "ports"):
        fill(port, protocol="TCP")
    for variable in items(container, "env"):
        _default_field_ref(variable.get("valueFrom") or {})
    round_up_requirements(container.get("resources"))
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            fill(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
            _default_action(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _default_action(hook)


def _default_action(action: JsonObject) -> None:
    if action.get("httpGet") is not None:
        fill(action["httpGet"], path="/", scheme="HTTP")
    grpc = action.get("grpc")
    if grpc is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_requests(resources: JsonObject) -> None:
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(rf"(?:[a-zA-Z0-9.:\[\]-]+/)?{_PART}(?:/{_PART})*(?::[\w][\w.-]{{0,127}})?")
"""A name with or without a registry and a tag; what is no name has no tag either."""


_MAX_IMAGE = 255


def _pull_policy(image: str) -> str:
    """``Always`` for the tag ``latest``, said or implied; a digest is never ``latest``."""
    if "@" in image:
        return "IfNotPresent"
    if not _IMAGE.fullmatch(image) or len(image) > _MAX_IMAGE:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in {"", "latest"} else "IfNotPresent"
