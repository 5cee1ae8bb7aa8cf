"""Preparation before validation: status on create, identity of jobs, phases, finalizers of namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attractor.apiserver.kinds.builtin.defaults.workloads import TEMPLATE_GENERATION
from attractor.apiserver.kinds.builtin.service_network import keep_allocated, settle_families
from attractor.objects.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.objects.json_types import JsonObject

Preparation: TypeAlias = "Callable[[JsonObject], None]"
UpdatePreparation: TypeAlias = "Callable[[JsonObject, JsonObject], None]"

_UID_LABELS = ("batch.kubernetes.io/controller-uid", "controller-uid")
_NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")
_QOS_RESOURCES = ("cpu", "memory")
_DATA_SOURCES = frozenset((("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")))
"""What a claim may be filled from by the older of the two fields."""


_GATED: JsonObject = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def prepare_pod(pod: JsonObject) -> None:
    """A new pod is pending, in the class of service that its resources buy."""
    gated = {}
    if pod["spec"].get("schedulingGates"):
        gated["conditions"] = [{**_GATED, "lastTransitionTime": pod["metadata"].get("creationTimestamp")}]
    pod["status"] = {"phase": "Pending", **gated, "qosClass": qos_class(pod["spec"])}


def qos_class(spec: JsonObject) -> str:
    """``Guaranteed`` when every container has equal limits and requests of both resources, ``BestEffort`` when none
    has any, else ``Burstable``.
    """
    asked = False
    guaranteed = True
    whole = spec.get("resources") or {}
    containers = (
        [spec]
        if whole.get("limits") or whole.get("requests")
        else [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    )
    for container in containers:
        resources = container.get("resources") or {}
        limits, requests = _positive(resources.get("limits")), _positive(resources.get("requests"))
        asked = asked or bool(limits or requests)
        guaranteed = guaranteed and len(limits) == len(_QOS_RESOURCES) and (not requests or requests == limits)
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _positive(amounts: JsonObject | None) -> dict[str, Quantity]:
    found = {name: Quantity.parse(str((amounts or {}).get(name, "0"))) for name in _QOS_RESOURCES}
    return {name: value for name, value in found.items() if value.sign > 0}


def prepare_namespace(namespace: JsonObject) -> None:
    """A new namespace is active, and Kubernetes has a finalizer on its content."""
    finalizers = namespace["spec"].get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    namespace["spec"]["finalizers"] = finalizers
    namespace["status"] = {"phase": "Active"}
    labels = namespace["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = namespace["metadata"].get("name", "")


def prepare_claim(claim: JsonObject) -> None:
    """A new claim is pending; what it is filled from is said in both fields that there are for it."""
    _drop_unknown_source(claim["spec"])
    settle_data_sources(claim["spec"])
    claim["status"] = {"phase": "Pending"}


def update_claim(claim: JsonObject, _old: JsonObject) -> None:
    """Who says what a claim is filled from in one field says it in both."""
    settle_data_sources(claim["spec"])


def _drop_unknown_source(spec: JsonObject) -> None:
    source = spec.get("dataSource")
    if source is not None and (source.get("apiGroup") or "", source.get("kind")) not in _DATA_SOURCES:
        del spec["dataSource"]


def settle_data_sources(spec: JsonObject) -> None:
    """Fill either of the two fields that say what a claim is filled from by the other."""
    source = spec.get("dataSource")
    if source is not None and spec.get("dataSourceRef") is None:
        spec["dataSourceRef"] = {name: source.get(name) for name in ("apiGroup", "kind", "name")}
    elif source is None and spec.get("dataSourceRef") is not None:
        _fill_data_source(spec)


def _fill_data_source(spec: JsonObject) -> None:
    reference = spec["dataSourceRef"]
    if not reference.get("namespace") and (reference.get("apiGroup") or "", reference.get("kind")) in _DATA_SOURCES:
        spec["dataSource"] = {name: reference.get(name) for name in ("apiGroup", "kind", "name")}


def prepare_volume(volume: JsonObject) -> None:
    """A new volume is pending, from now on."""
    since = volume["metadata"].get("creationTimestamp")
    volume["status"] = {"phase": "Pending", **({"lastPhaseTransitionTime": since} if since else {})}


def prepare_daemon_set(daemon_set: JsonObject) -> None:
    """The first template has the number 1."""
    daemon_set["metadata"]["annotations"][TEMPLATE_GENERATION] = "1"


def update_daemon_set(daemon_set: JsonObject, old: JsonObject) -> None:
    """Templates are numbered: another one has the next number."""
    before = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    number = int(before) if before.isdigit() else 0
    if daemon_set["spec"]["template"] != old["spec"]["template"]:
        number += 1
    annotations = daemon_set["metadata"].get("annotations") or {}
    daemon_set["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(number)}


def prepare_priority_class(priority_class: JsonObject) -> None:
    """Its generation is 1, and never counts on."""
    priority_class["metadata"]["generation"] = 1


def prepare_job(job: JsonObject) -> None:
    """A job that does not bring its own selector gets one from its uid, and labels its pods with it."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    labels = spec["template"]["metadata"].setdefault("labels", {})
    given = dict(labels)
    for names, value in ((_NAME_LABELS, metadata.get("name", "")), (_UID_LABELS, metadata.get("uid", ""))):
        for name in names:
            labels.setdefault(name, value)
    selector = spec.get("selector") or {}
    spec["selector"] = selector
    selector.setdefault("matchLabels", {}).setdefault(_UID_LABELS[0], metadata.get("uid", ""))
    if metadata.get("generateName") and metadata.get("labels") is labels:
        metadata["labels"] = given  # of a job that gets its name here, what is added to the template is not seen


def canonicalize_job(job: JsonObject) -> None:
    """A job that says no labels has those of its pods, once nobody judges them any more."""
    metadata = job["metadata"]
    if not job["spec"].get("manualSelector") and not metadata.get("labels") and not metadata.get("generateName"):
        metadata["labels"] = dict(job["spec"]["template"]["metadata"]["labels"])


def prepare_service(service: JsonObject) -> None:
    """IP families are settled; addresses are the allocator's business."""
    settle_families(service)


def prepare_crd(crd: JsonObject) -> None:
    """The storage version counts as stored from the start."""
    storing = [version["name"] for version in crd["spec"].get("versions") or () if version.get("storage")][:1]
    stored = crd["status"].get("storedVersions") or []
    crd["status"]["storedVersions"] = [*stored, *(name for name in storing if name not in stored)] or None


def update_namespace(namespace: JsonObject, old: JsonObject) -> None:
    """Finalizers of the content change only through their subresource."""
    namespace["spec"] = old["spec"]


def update_service(service: JsonObject, old: JsonObject) -> None:
    """What was allocated stays."""
    keep_allocated(service, old)
    settle_families(service)
    if service["spec"].get("type") != "LoadBalancer":
        service["status"] = {**(service.get("status") or {}), "loadBalancer": {}}


def update_crd(crd: JsonObject, old: JsonObject) -> None:
    """A new storage version is remembered as stored."""
    crd["status"] = dict(old["status"])
    prepare_crd(crd)


def update_pod_status(pod: JsonObject, old: JsonObject) -> None:
    """The class of service never changes, and owners are not the kubelet's business."""
    qos = (old.get("status") or {}).get("qosClass")
    if qos and not pod["status"].get("qosClass"):
        pod["status"]["qosClass"] = qos
    for field in ("ownerReferences", "deletionTimestamp"):
        pod["metadata"].pop(field, None)
        if field in old["metadata"]:
            pod["metadata"][field] = old["metadata"][field]


def prepare_account(account: JsonObject) -> None:
    """Of secrets, an account knows only the names."""
    if account.get("secrets"):
        account["secrets"] = [
            {name: value for name, value in (one or {}).items() if name == "name"} for one in account["secrets"]
        ]


def update_account(account: JsonObject, _old: JsonObject) -> None:
    """The same on an update."""
    prepare_account(account)


def prepare_lease(lease: JsonObject) -> None:
    """Coordinated election is behind a feature gate that is off."""
    for field in ("strategy", "preferredHolder"):
        lease["spec"].pop(field, None)


def update_lease(lease: JsonObject, old: JsonObject) -> None:
    """What a lease that was made behind that gate says may stay; nothing of it comes new."""
    before = old["spec"]
    if not before.get("strategy"):
        lease["spec"].pop("strategy", None)
    if not before.get("preferredHolder"):
        lease["spec"].pop("preferredHolder", None)


def keep_request(request: JsonObject, old: JsonObject) -> None:
    """A certificate signing request never changes; its subresources say what became of it."""
    request["spec"] = old["spec"]


def keep_decisions(request: JsonObject, old: JsonObject) -> None:
    """Who writes the status keeps what was decided, unless the number of decisions changes."""
    conditions = (request.get("status") or {}).get("conditions") or []
    for kind in ("Approved", "Denied"):
        had = [one for one in (old.get("status") or {}).get("conditions") or () if one.get("type") == kind]
        places = [index for index, one in enumerate(conditions) if one.get("type") == kind]
        if len(had) == len(places):
            for index, one in zip(places, had, strict=True):
                conditions[index] = one


def prepare_api_service(service: JsonObject) -> None:
    """A group that this server itself serves is there at once."""
    if (service.get("spec") or {}).get("service") is None:
        available = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": service["metadata"].get("creationTimestamp"),
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        service["status"] = {"conditions": [available]}


CREATE: Mapping[str, Preparation] = {
    "/Namespace": prepare_namespace,
    "/PersistentVolume": prepare_volume,
    "/PersistentVolumeClaim": prepare_claim,
    "/Pod": prepare_pod,
    "/Service": prepare_service,
    "/ServiceAccount": prepare_account,
    "apiextensions.k8s.io/CustomResourceDefinition": prepare_crd,
    "apiregistration.k8s.io/APIService": prepare_api_service,
    "apps/DaemonSet": prepare_daemon_set,
    "batch/Job": prepare_job,
    "coordination.k8s.io/Lease": prepare_lease,
    "scheduling.k8s.io/PriorityClass": prepare_priority_class,
}
CANONICAL: Mapping[str, Preparation] = {"batch/Job": canonicalize_job}
UPDATE: Mapping[str, UpdatePreparation] = {
    "/Namespace": update_namespace,
    "/PersistentVolumeClaim": update_claim,
    "/Service": update_service,
    "/ServiceAccount": update_account,
    "apiextensions.k8s.io/CustomResourceDefinition": update_crd,
    "apps/DaemonSet": update_daemon_set,
    "coordination.k8s.io/Lease": update_lease,
    "certificates.k8s.io/CertificateSigningRequest": keep_request,
}


def update_daemon_set_status(daemon_set: JsonObject, old: JsonObject) -> None:
    """The number of the template is the spec's, though it is an annotation."""
    number = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    if number is not None:
        annotations = daemon_set["metadata"].get("annotations") or {}
        daemon_set["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: number}


def stamp_phase(volume: JsonObject, old: JsonObject, now: str) -> None:
    """A phase that stays has been so since it was; another one is so from now on, unless the caller says otherwise."""
    status, before = volume.get("status") or {}, old.get("status") or {}
    said, since = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    is_same = status.get("phase") == before.get("phase")
    if is_same and since and not said:
        volume["status"] = {**status, "lastPhaseTransitionTime": since}
    elif not is_same and (not said or said == since):
        volume["status"] = {**status, "lastPhaseTransitionTime": now}


STATUS: Mapping[str, UpdatePreparation] = {
    "/Pod": update_pod_status,
    "apps/DaemonSet": update_daemon_set_status,
    "certificates.k8s.io/CertificateSigningRequest": keep_decisions,
}
