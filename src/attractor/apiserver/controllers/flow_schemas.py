"""FlowSchemas as a planner: each says in its status whether the priority level that it names exists.

Whose requests wait for whose is decided in ``fairness``; the condition is for people and tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.fairness.configuration import GROUP, LEVELS, SCHEMAS
from attractor.apiserver.request.operation import APPLY_PATCH, Operation, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

MANAGER = "api-priority-and-fairness-config-consumer-v1"
_DANGLING = "Dangling"


def plan_flow_schemas(snapshot: Snapshot, now: str) -> Iterator[Operation]:
    """Bring the condition ``Dangling`` of every FlowSchema up to date."""
    for entry in snapshot.range(SCHEMAS):
        schema: JsonObject = orjson.loads(entry.value)
        name = schema["metadata"]["name"]
        level = ((schema.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name") or ""
        wanted = _condition(level, exists=snapshot.get(f"{LEVELS}{level}") is not None)
        conditions = (schema.get("status") or {}).get("conditions") or ()
        said: JsonObject = next((one for one in conditions if one.get("type") == _DANGLING), {})
        if wanted.items() <= said.items():
            continue
        since = said["lastTransitionTime"] if said.get("status") == wanted["status"] else now
        yield Operation(
            verb="patch",
            group=GROUP,
            version="v1",
            resource="flowschemas",
            name=name,
            subresource="status",
            body={
                "apiVersion": f"{GROUP}/v1",
                "kind": "FlowSchema",
                "metadata": {"name": name, "uid": schema["metadata"]["uid"]},
                "status": {"conditions": [{**wanted, "lastTransitionTime": since}]},
            },
            patch_type=APPLY_PATCH,
            write=WriteOptions(field_manager=MANAGER, force=True),
        )


def _condition(level: str, *, exists: bool) -> JsonObject:
    what = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
    return {
        "type": _DANGLING,
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": f"{what} and it exists" if exists else f"{what} but there is no such object",
    }
