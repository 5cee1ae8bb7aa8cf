"""APIServices of custom kinds as a planner: one for each group and version that a CustomResourceDefinition serves.

Nothing is served because of them; they are what ``kubectl get apiservices`` and tools that wait for a group look at.
Those that somebody made or took over (without the label, or with another value) are left alone, as kube-apiserver does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.kinds.custom.registry import PREFIX as DEFINITIONS
from attractor.apiserver.request.caller import DeleteOptions, Preconditions
from attractor.apiserver.request.operation import NO_DELETE_OPTIONS, Operation, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.request.operation import Verb
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

GROUP = "apiregistration.k8s.io"
SERVICES = f"{GROUP}/apiservices/"
LABEL = "kube-aggregator.kubernetes.io/automanaged"
_ALWAYS = "true"
_MANAGER = "kube-apiserver"


def plan_api_services(snapshot: Snapshot) -> Iterator[Operation]:
    """Make what is missing, correct what was changed, and remove what no definition serves any more."""
    wanted = _wanted(snapshot)
    for entry in snapshot.range(SERVICES):
        service: JsonObject = orjson.loads(entry.value)
        metadata = service["metadata"]
        spec = wanted.pop(metadata["name"], None)
        if (metadata.get("labels") or {}).get(LABEL) != _ALWAYS:
            continue
        if spec is None:
            yield _operation(
                "delete", metadata["name"], delete=DeleteOptions(preconditions=Preconditions(uid=metadata["uid"]))
            )
        elif service.get("spec") != spec:
            metadata["resourceVersion"] = str(entry.revision)
            yield _operation("update", metadata["name"], {**service, "spec": spec})
    for name, spec in wanted.items():
        metadata = {"name": name, "labels": {LABEL: _ALWAYS}}
        identity = {"kind": "APIService", "apiVersion": f"{GROUP}/v1"}
        yield _operation("create", "", {**identity, "metadata": metadata, "spec": spec})


def _wanted(snapshot: Snapshot) -> dict[str, JsonObject]:
    """What the definitions ask for, by name."""
    wanted: dict[str, JsonObject] = {}
    for entry in snapshot.range(DEFINITIONS):
        spec = orjson.loads(entry.value)["spec"]
        for version in spec["versions"]:
            if version.get("served"):
                wanted[f"{version['name']}.{spec['group']}"] = {
                    "group": spec["group"],
                    "version": version["name"],
                    "groupPriorityMinimum": 1000,
                    "versionPriority": 100,
                }
    return wanted


def _operation(
    verb: Verb, name: str, body: JsonObject | None = None, delete: DeleteOptions = NO_DELETE_OPTIONS
) -> Operation:
    return Operation(
        verb=verb,
        group=GROUP,
        version="v1",
        resource="apiservices",
        name=name,
        body=body,
        write=WriteOptions(field_manager=_MANAGER),
        delete=delete,
    )
