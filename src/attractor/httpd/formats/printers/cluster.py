"""The cluster itself: nodes, namespaces, events, leases, API services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    Cells,
    Column,
    age_of,
    at,
    condition,
    items,
    name_of,
    number,
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


def _address(node: JsonObject, kind: str) -> str:
    addresses = items(node, "status", "addresses")
    return next((one.get("address", "") for one in addresses if one.get("type") == kind), NONE)


@prints(
    "",
    "Node",
    NAME,
    Column("Status", about="The status of the node"),
    Column("Roles", about="The roles of the node"),
    AGE,
    Column("Version", about=f"{_CORE}.NodeSystemInfo#kubeletVersion"),
    wide("Internal-IP", f"{_CORE}.NodeStatus#addresses"),
    wide("External-IP", f"{_CORE}.NodeStatus#addresses"),
    wide("OS-Image", f"{_CORE}.NodeSystemInfo#osImage"),
    wide("Kernel-Version", f"{_CORE}.NodeSystemInfo#kernelVersion"),
    wide("Container-Runtime", f"{_CORE}.NodeSystemInfo#containerRuntimeVersion"),
)
def node_cells(node: JsonObject, clock: Clock) -> Cells:
    """A node."""
    about = at(node, "status", "nodeInfo") or {}
    kernel = about.get("kernelVersion") or "<unknown>"
    if about.get("architecture"):
        kernel += f" ({about['architecture']})"
    return [
        name_of(node),
        _node_status(node),
        _roles(node),
        age_of(node, clock),
        about.get("kubeletVersion") or "",
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        about.get("osImage") or "<unknown>",
        kernel,
        about.get("containerRuntimeVersion") or "<unknown>",
    ]


@prints("", "Namespace", NAME, Column("Status", about="The status of the namespace"), AGE)
def namespace(obj: JsonObject, clock: Clock) -> Cells:
    """A namespace."""
    return [name_of(obj), at(obj, "status", "phase") or "", age_of(obj, clock)]


def _seen(event: JsonObject, clock: Clock) -> tuple[str, str, int]:
    """When an event was first and last seen, and how often."""
    first = clock.since(event.get("firstTimestamp") or event.get("eventTime"))
    last = clock.since(event["lastTimestamp"]) if event.get("lastTimestamp") else first
    count = number(event, "count") or 1
    series = event.get("series")
    if series is not None:
        last, count = clock.since(series.get("lastObservedTime")), number(series, "count")
    return first, last, count


def _source(event: JsonObject) -> str:
    component = at(event, "source", "component") or event.get("reportingComponent") or ""
    instance = at(event, "source", "host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


@prints(
    "",
    "Event",
    Column("Last Seen", about=f"{_CORE}.Event#lastTimestamp"),
    Column("Type", about=f"{_CORE}.Event#type"),
    Column("Reason", about=f"{_CORE}.Event#reason"),
    Column("Object", about=f"{_CORE}.Event#involvedObject"),
    wide("Subobject", f"{_CORE}.ObjectReference#fieldPath"),
    wide("Source", f"{_CORE}.Event#source"),
    Column("Message", about=f"{_CORE}.Event#message"),
    wide("First Seen", f"{_CORE}.Event#firstTimestamp"),
    wide("Count", f"{_CORE}.Event#count"),
    NAME._replace(priority=1),
)
def event_cells(event: JsonObject, clock: Clock) -> Cells:
    """An event."""
    first, last, count = _seen(event, clock)
    kind, name = str(at(event, "involvedObject", "kind") or "").lower(), at(event, "involvedObject", "name")
    return [
        last,
        event.get("type") or "",
        event.get("reason") or "",
        f"{kind}/{name}" if name else kind,
        at(event, "involvedObject", "fieldPath") or "",
        _source(event),
        str(event.get("message") or "").strip(),
        first,
        count,
        name_of(event),
    ]


@prints(
    "",
    "ComponentStatus",
    NAME,
    Column("Status", about="Status of the component conditions"),
    Column("Message", about="Message of the component conditions"),
    Column("Error", about="Error of the component conditions"),
)
def component_status(obj: JsonObject, _clock: Clock) -> Cells:
    """A component."""
    healthy = next((one for one in items(obj, "conditions") if one.get("type") == "Healthy"), None)
    if healthy is None:
        return [name_of(obj), "Unknown", "", ""]
    status = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name_of(obj), status, healthy.get("message") or "", healthy.get("error") or ""]


@prints(
    "coordination.k8s.io",
    "Lease",
    NAME,
    Column("Holder", about="io.k8s.api.coordination.v1.LeaseSpec#holderIdentity"),
    AGE,
)
def lease(obj: JsonObject, clock: Clock) -> Cells:
    """A lease."""
    return [name_of(obj), at(obj, "spec", "holderIdentity") or "", age_of(obj, clock)]


@prints("node.k8s.io", "RuntimeClass", NAME, Column("Handler"), AGE)
def runtime_class(obj: JsonObject, clock: Clock) -> Cells:
    """A runtime class."""
    return [name_of(obj), obj.get("handler") or "", age_of(obj, clock)]


@prints(
    "apiregistration.k8s.io",
    "APIService",
    NAME,
    Column("Service", about="The reference to the service that hosts this API endpoint."),
    Column("Available", about="Whether this service is available."),
    AGE,
)
def api_service(obj: JsonObject, clock: Clock) -> Cells:
    """An API service."""
    service, available = at(obj, "spec", "service"), condition(obj, "Available")
    status = "Unknown" if available is None else available.get("status", "")
    if available is not None and status != "True" and available.get("reason"):
        status = f"{status} ({available['reason']})"
    shown = "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"
    return [name_of(obj), shown, status, age_of(obj, clock)]
