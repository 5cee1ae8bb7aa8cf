"""Writes through subresources that are a part of the object: what they may change.

Everything else is put back to what it was, so that whoever may write the subresource may write nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.validation.control_plane import certificates
from attractor.apiserver.kinds.builtin.validation.pods import updates as pod_updates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.objects.field import FieldError
    from attractor.objects.json_types import JsonObject


def _only(obj: JsonObject, old: JsonObject, **changed: JsonObject) -> None:
    """Make ``obj`` the old object but for some fields; who owns fields is kept as it was worked out."""
    managed = obj["metadata"].get("managedFields")
    metadata = {**old["metadata"]}
    if managed:
        metadata["managedFields"] = managed
    fresh = obj["metadata"]
    fresh.clear()
    fresh.update(metadata)
    obj.clear()
    obj.update({**old, "metadata": fresh, **changed})


def prepare_ephemeral_containers(pod: JsonObject, old: JsonObject) -> None:
    """Only ephemeral containers change."""
    _only(pod, old, spec={**old["spec"], "ephemeralContainers": pod["spec"].get("ephemeralContainers") or []})


def prepare_resize(pod: JsonObject, old: JsonObject) -> None:
    """Only what containers ask for changes."""
    wanted = {container["name"]: container for container in pod["spec"].get("containers") or ()}
    containers = []
    for container in old["spec"].get("containers") or ():
        asked = wanted.get(container["name"], container)
        resized = {**container, "resources": asked.get("resources") or {}}
        if "resizePolicy" in asked:
            resized["resizePolicy"] = asked["resizePolicy"]
        containers.append(resized)
    _only(pod, old, spec={**old["spec"], "containers": containers})


def prepare_approval(request: JsonObject, old: JsonObject) -> None:
    """Only the conditions of a certificate signing request change, and its metadata, as in Kubernetes."""
    status = {**(old.get("status") or {})}
    conditions = (request.get("status") or {}).get("conditions")
    if conditions:
        status["conditions"] = conditions
    else:
        status.pop("conditions", None)
    request["spec"], request["status"] = old["spec"], status


PREPARE: Mapping[tuple[str, str], Callable[[JsonObject, JsonObject], None]] = {
    ("/Pod", "ephemeralcontainers"): prepare_ephemeral_containers,
    ("/Pod", "resize"): prepare_resize,
    ("certificates.k8s.io/CertificateSigningRequest", "approval"): prepare_approval,
}
VALIDATE: Mapping[tuple[str, str], Callable[[JsonObject, JsonObject], list[FieldError]]] = {
    ("/Pod", "ephemeralcontainers"): pod_updates.validate_ephemeral_containers,
    ("/Pod", "resize"): pod_updates.validate_resize,
    ("certificates.k8s.io/CertificateSigningRequest", "approval"): certificates.validate_approval,
}
