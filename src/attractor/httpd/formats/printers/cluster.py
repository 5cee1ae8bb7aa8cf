"""The cluster itself: nodes, namespaces, events, leases, API services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    Cell,
    Column,
    at,
    condition,
    field,
    items,
    number,
    of,
    prints,
    wide,
)

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_CORE = "io.k8s.api.core.v1"
_ROLE = "node-role.kubernetes.io/"


def _node_status(node: JsonObject) -> str:
    ready = condition(node, "Ready")
    status = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if at(node, "spec", "unschedulable") else status


def _roles(node: JsonObject) -> str:
    found = set()
    for key, value in (at(node, "metadata", "labels") or {}).items():
        if key.startswith(_ROLE):
            found.add(key.removeprefix(_ROLE))
        elif key == "kubernetes.io/role":
            found.add(value)
    return ",".join(sorted(found - {""})) or NONE


def _address(kind: str) -> Cell:
    def cell(node: JsonObject, _clock: Clock) -> str:
        addresses = items(node, "status", "addresses")
        return next((one.get("address", "") for one in addresses if one.get("type") == kind), NONE)

    return cell


def _about(name: str, otherwise: str = "<unknown>") -> Cell:
    return field("status", "nodeInfo", name, otherwise=otherwise)


def _kernel(node: JsonObject, clock: Clock) -> str:
    architecture = at(node, "status", "nodeInfo", "architecture")
    kernel = str(_about("kernelVersion")(node, clock))
    return f"{kernel} ({architecture})" if architecture else kernel


prints(
    "",
    "Node",
    NAME,
    Column("Status", of(_node_status), "The status of the node"),
    Column("Roles", of(_roles), "The roles of the node"),
    AGE,
    Column("Version", _about("kubeletVersion", ""), f"{_CORE}.NodeSystemInfo#kubeletVersion"),
    wide("Internal-IP", _address("InternalIP"), f"{_CORE}.NodeStatus#addresses"),
    wide("External-IP", _address("ExternalIP"), f"{_CORE}.NodeStatus#addresses"),
    wide("OS-Image", _about("osImage"), f"{_CORE}.NodeSystemInfo#osImage"),
    wide("Kernel-Version", _kernel, f"{_CORE}.NodeSystemInfo#kernelVersion"),
    wide(
        "Container-Runtime",
        _about("containerRuntimeVersion"),
        f"{_CORE}.NodeSystemInfo#containerRuntimeVersion",
    ),
)
prints("", "Namespace", NAME, Column("Status", field("status", "phase"), "The status of the namespace"), AGE)


def _first_seen(event: JsonObject, clock: Clock) -> str:
    return clock.since(event.get("firstTimestamp") or event.get("eventTime"))


def _last_seen(event: JsonObject, clock: Clock) -> str:
    if event.get("series") is not None:
        return clock.since(at(event, "series", "lastObservedTime"))
    return clock.since(event["lastTimestamp"]) if event.get("lastTimestamp") else _first_seen(event, clock)


def _seen(event: JsonObject) -> int:
    return number(event, "series", "count") if event.get("series") is not None else number(event, "count") or 1


def _involved(event: JsonObject) -> str:
    kind, name = str(at(event, "involvedObject", "kind") or "").lower(), at(event, "involvedObject", "name")
    return f"{kind}/{name}" if name else kind


def _source(event: JsonObject) -> str:
    component = at(event, "source", "component") or event.get("reportingComponent") or ""
    instance = at(event, "source", "host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


prints(
    "",
    "Event",
    Column("Last Seen", _last_seen, f"{_CORE}.Event#lastTimestamp"),
    Column("Type", field("type"), f"{_CORE}.Event#type"),
    Column("Reason", field("reason"), f"{_CORE}.Event#reason"),
    Column("Object", of(_involved), f"{_CORE}.Event#involvedObject"),
    wide("Subobject", field("involvedObject", "fieldPath"), f"{_CORE}.ObjectReference#fieldPath"),
    wide("Source", of(_source), f"{_CORE}.Event#source"),
    Column("Message", of(lambda event: str(event.get("message") or "").strip()), f"{_CORE}.Event#message"),
    wide("First Seen", _first_seen, f"{_CORE}.Event#firstTimestamp"),
    wide("Count", of(_seen), f"{_CORE}.Event#count"),
    NAME._replace(priority=1),
)


def _component(name: str, otherwise: str = "") -> Cell:
    def cell(obj: JsonObject, _clock: Clock) -> str:
        healthy = next((one for one in items(obj, "conditions") if one.get("type") == "Healthy"), None)
        return otherwise if healthy is None else healthy.get(name) or ""

    return cell


def _health(obj: JsonObject, clock: Clock) -> str:
    status = _component("status", "Unknown")(obj, clock)
    return status if status == "Unknown" else "Healthy" if status == "True" else "Unhealthy"


prints(
    "",
    "ComponentStatus",
    NAME,
    Column("Status", _health, "Status of the component conditions"),
    Column("Message", _component("message"), "Message of the component conditions"),
    Column("Error", _component("error"), "Error of the component conditions"),
)
_HOLDER = "io.k8s.api.coordination.v1.LeaseSpec#holderIdentity"
prints("coordination.k8s.io", "Lease", NAME, Column("Holder", field("spec", "holderIdentity"), _HOLDER), AGE)
prints("node.k8s.io", "RuntimeClass", NAME, Column("Handler", field("handler")), AGE)


def _serving(obj: JsonObject) -> str:
    service = at(obj, "spec", "service")
    return "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"


def _available(obj: JsonObject) -> str:
    available = condition(obj, "Available")
    if available is None:
        return "Unknown"
    status: str = available.get("status", "")
    return f"{status} ({available['reason']})" if status != "True" and available.get("reason") else status


prints(
    "apiregistration.k8s.io",
    "APIService",
    NAME,
    Column("Service", of(_serving), "The reference to the service that hosts this API endpoint."),
    Column("Available", of(_available), "Whether this service is available."),
    AGE,
)
