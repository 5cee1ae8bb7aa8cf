"""How a pod is doing, in one word, from its phase, its conditions and its containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.ages import seconds_of
from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    Column,
    at,
    containers,
    field,
    is_true,
    items,
    labels,
    number,
    of,
    prints,
    wide,
)

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_CORE = "io.k8s.api.core.v1"
_ENDED = {
    "Succeeded": {
        "type": "Completed",
        "status": "True",
        "reason": "Succeeded",
        "message": "The pod has completed successfully.",
    },
    "Failed": {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."},
}


class _Summary:
    """Summary of the statuses of a pod's containers."""

    def __init__(self, pod: JsonObject) -> None:
        self.pod = pod
        self.phase: str = at(pod, "status", "phase") or ""
        self.reason: str = at(pod, "status", "reason") or self.phase
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        specs = {one.get("name"): one for one in items(pod, "spec", "initContainers")}
        self.sidecars = {name for name, one in specs.items() if one.get("restartPolicy") == "Always"}
        self.total = len(items(pod, "spec", "containers")) + len(self.sidecars)
        for one in items(pod, "status", "conditions"):
            if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
                self.reason = "SchedulingGated"
        initializing = self._read_init_containers(len(specs))
        if not initializing or is_true(pod, "Initialized"):
            self._read_containers()
        self._read_deletion()

    def _read_init_containers(self, count: int) -> bool:
        """Whether the pod is still (or failed) initializing; counts restarts on the way."""
        sidecar_restarts, sidecar_last = 0, ""
        initializing = False
        for i, one in enumerate(items(self.pod, "status", "initContainerStatuses")):
            self._count_restarts(one)
            is_sidecar = one.get("name") in self.sidecars
            if is_sidecar:
                sidecar_restarts += number(one, "restartCount")
                sidecar_last = max(sidecar_last, _last_end(one), key=_moment)
            terminated, waiting = at(one, "state", "terminated"), at(one, "state", "waiting")
            if terminated is not None and not terminated.get("exitCode"):
                continue
            if is_sidecar and one.get("started"):
                self.ready += bool(one.get("ready"))
                continue
            initializing = True
            if terminated is not None:
                self.reason = f"Init:{_end_reason(terminated)}"
            elif waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{i}/{count}"
            break
        if not initializing or is_true(self.pod, "Initialized"):
            self.restarts, self.last_restart = sidecar_restarts, sidecar_last
        return initializing

    def _read_containers(self) -> None:
        running, failure = False, ""
        for one in reversed(items(self.pod, "status", "containerStatuses")):
            self._count_restarts(one)
            terminated, waiting = at(one, "state", "terminated"), at(one, "state", "waiting")
            if waiting is not None and waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated is not None:
                self.reason = _end_reason(terminated)
                if terminated.get("exitCode"):
                    failure = self.reason
            elif one.get("ready") and at(one, "state", "running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and is_true(self.pod, "Ready"):
                self.reason = "Running"
            elif failure:
                self.reason = failure
            elif running:
                self.reason = "NotReady"

    def _read_deletion(self) -> None:
        if not at(self.pod, "metadata", "deletionTimestamp"):
            return
        if at(self.pod, "status", "reason") == "NodeLost":
            self.reason = "Unknown"
        elif self.phase not in _ENDED:
            self.reason = "Terminating"

    def _count_restarts(self, status: JsonObject) -> None:
        self.restarts += number(status, "restartCount")
        self.last_restart = max(self.last_restart, _last_end(status), key=_moment)


def _last_end(status: JsonObject) -> str:
    return at(status, "lastState", "terminated", "finishedAt") or ""


def _moment(timestamp: str) -> float:
    return (seconds_of(timestamp) if timestamp else None) or float("-inf")


def _end_reason(terminated: JsonObject) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _gates(pod: JsonObject) -> str:
    gates = items(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    return f"{sum(is_true(pod, gate.get('conditionType', '')) for gate in gates)}/{len(gates)}"


def _summarized(pod: JsonObject) -> JsonObject:
    """The pod with its summary, under a name that no field has."""
    return {**pod, "": _Summary(pod)}


def _restarts(pod: JsonObject, clock: Clock) -> str:
    found = pod[""]
    if found.restarts and found.last_restart:
        return f"{found.restarts} ({clock.since(found.last_restart)} ago)"
    return str(found.restarts)


def _ip(pod: JsonObject) -> str:
    addresses = items(pod, "status", "podIPs")
    return (addresses[0].get("ip") if addresses else "") or NONE


_RESTARTS = (
    "The number of times the containers in this pod have been restarted and when the last container in "
    "this pod has restarted."
)

prints(
    "",
    "Pod",
    NAME,
    Column(
        "Ready",
        of(lambda pod: f"{pod[''].ready}/{pod[''].total}"),
        "The aggregate readiness state of this pod for accepting traffic.",
    ),
    Column("Status", of(lambda pod: pod[""].reason), "The aggregate status of the containers in this pod."),
    Column("Restarts", _restarts, _RESTARTS),
    AGE,
    wide("IP", of(_ip), f"{_CORE}.PodStatus#podIP"),
    wide("Node", field("spec", "nodeName", otherwise=NONE), f"{_CORE}.PodSpec#nodeName"),
    wide(
        "Nominated Node",
        field("status", "nominatedNodeName", otherwise=NONE),
        f"{_CORE}.PodStatus#nominatedNodeName",
    ),
    wide("Readiness Gates", of(_gates), f"{_CORE}.PodSpec#readinessGates"),
    conditions=lambda pod: [_ENDED[phase]] if (phase := at(pod, "status", "phase")) in _ENDED else [],
    prepare=_summarized,
)
prints(
    "",
    "PodTemplate",
    NAME,
    *containers("template", "spec", priority=0),
    Column(
        "Pod Labels",
        of(lambda obj: labels(at(obj, "template", "metadata", "labels"))),
        "The labels for the pod template.",
    ),
)
