"""Patches and field management of a 1-KB object: microseconds for each operation, as JSON.

The rival is the PyPI package ``jsonpatch`` (RFC 6902, and its own merge for RFC 7396 is none, so a merge patch is
compared with the JSON patch that does the same), measured in the same run.
"""

from __future__ import annotations

import json
import platform
import sys
import timeit
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jsonpatch

from attractor import __version__
from attractor.apply.manager import FieldManager
from attractor.patch.json_patch import apply_json_patch
from attractor.patch.merge_patch import apply_merge_patch, merge_patch_between
from attractor.patch.strategic import apply_strategic_merge_patch
from attractor.schema.node import Schema

NOW = "2026-01-01T00:00:00Z"
STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
CONFIG_MAP = Schema({"type": "object", "properties": {"data": STRINGS, "immutable": {"type": "boolean"}}})
EMPTY: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}
LISTED = Schema(
    {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": ITEM,
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
            }
        },
    }
)


def us(action: Callable[[], object]) -> float:
    """Microseconds for one call: the best of seven rounds."""
    timer = timeit.Timer(action)
    number = max(1, timer.autorange()[0] // 5)
    return round(min(timer.repeat(7, number)) / number * 1e6, 2)


def config_map() -> dict[str, Any]:
    metadata = {"name": "x", "namespace": "default", "uid": "u", "resourceVersion": "1", "labels": {"app": "x"}}
    return {**EMPTY, "metadata": metadata, "data": {f"key{number}": "v" * 90 for number in range(9)}}


def patches() -> dict[str, dict[str, float]]:
    obj = config_map()
    operations = [
        {"op": "test", "path": "/data/key1", "value": "v" * 90},
        {"op": "replace", "path": "/data/key1", "value": "new"},
        {"op": "add", "path": "/metadata/labels/tier", "value": "a"},
    ]
    change = {"data": {"key1": "new"}, "metadata": {"labels": {"tier": "a"}}}
    changed = apply_merge_patch(obj, change)
    rival = jsonpatch.JsonPatch(operations)
    listed = {"items": [{"name": f"n{number}", "value": "v" * 90} for number in range(9)]}
    return {
        "json patch, 3 operations": {
            "us": us(lambda: apply_json_patch(obj, operations)),
            "jsonpatch_us": us(lambda: jsonpatch.apply_patch(obj, operations)),
            "jsonpatch_prepared_us": us(lambda: rival.apply(obj)),
        },
        "merge patch, 2 fields": {
            "us": us(lambda: apply_merge_patch(obj, change)),
            "jsonpatch_us": us(lambda: jsonpatch.apply_patch(obj, operations[1:])),
        },
        "difference of two objects": {
            "us": us(lambda: merge_patch_between(obj, changed)),
            "jsonpatch_us": us(lambda: jsonpatch.make_patch(obj, changed)),
        },
        "strategic merge patch, 1 of 9 items": {
            "us": us(lambda: apply_strategic_merge_patch(listed, {"items": [{"name": "n4", "value": "new"}]}, LISTED))
        },
    }


def field_management() -> dict[str, dict[str, float]]:
    fields = FieldManager(CONFIG_MAP, EMPTY)
    obj = config_map()
    live = stored(obj, fields.on_update(None, obj, manager="one", now=NOW))
    new = {**live, "data": {**live["data"], "key1": "new"}}
    applied = {**EMPTY, "metadata": {"name": "x"}, "data": {"key1": "z", "more": "1"}}
    after = stored(*fields.on_apply(live, applied, manager="two", force=True, now=NOW))
    less = {**applied, "data": {"more": "1"}}
    return {
        "on_update, create": {"us": us(lambda: fields.on_update(None, obj, manager="one", now=NOW))},
        "on_update, same manager": {"us": us(lambda: fields.on_update(live, new, manager="one", now=NOW))},
        "on_update, other manager": {"us": us(lambda: fields.on_update(live, new, manager="two", now=NOW))},
        "on_update, nothing changed": {"us": us(lambda: fields.on_update(live, dict(live), manager="two", now=NOW))},
        "on_apply, forced": {"us": us(lambda: fields.on_apply(live, applied, manager="two", force=True, now=NOW))},
        "on_apply, nothing changed": {
            "us": us(lambda: fields.on_apply(after, applied, manager="two", force=False, now=NOW))
        },
        "on_apply, a field let go": {
            "us": us(lambda: fields.on_apply(after, less, manager="two", force=False, now=NOW))
        },
    }


def stored(obj: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


def main() -> None:
    results = {**patches(), **field_management()}
    for found in results.values():
        if "jsonpatch_us" in found:
            found["times_faster"] = round(found["jsonpatch_us"] / found["us"], 1)
    report = {
        "benchmark": "objects_patch",
        "object_bytes": len(json.dumps(config_map())),
        "python": platform.python_version(),
        "versions": {"attractor": __version__, "jsonpatch": version("jsonpatch")},
        "results": results,
    }
    json.dump(report, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
