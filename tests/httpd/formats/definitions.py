"""CustomResourceDefinitions as the store keeps them, for these tests."""

from typing import Any

import orjson

WIDGET_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A widget.",
    "properties": {
        "spec": {
            "type": "object",
            "description": "What the widget should be.",
            "required": ["size"],
            "properties": {"size": {"type": "integer", "minimum": 0}, "color": {"type": "string", "default": "red"}},
            "x-kubernetes-validations": [{"rule": "self.size < 100"}],
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def definition(
    *,
    group: str = "example.org",
    plural: str = "widgets",
    kind: str = "Widget",
    versions: tuple[str, ...] = ("v1",),
    established: bool = True,
    terminating: bool = False,
    scope: str = "Namespaced",
    columns: list[dict[str, Any]] | None = None,
    schema: dict[str, Any] | None = None,
) -> bytes:
    names = {
        "plural": plural,
        "singular": kind.lower(),
        "kind": kind,
        "listKind": f"{kind}List",
        "shortNames": ["wd"],
        "categories": ["all"],
    }
    conditions = [{"type": "Established", "status": "True" if established else "False"}]
    if terminating:
        conditions.append({"type": "Terminating", "status": "True"})
    served = [
        {
            "name": name,
            "served": True,
            "storage": name == versions[0],
            "schema": {"openAPIV3Schema": schema or WIDGET_SCHEMA},
            "subresources": {
                "status": {},
                "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
            },
            **({"additionalPrinterColumns": columns} if columns else {}),
        }
        for name in versions
    ]
    return orjson.dumps(
        {
            "kind": "CustomResourceDefinition",
            "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {"name": f"{plural}.{group}", "uid": "u"},
            "spec": {"group": group, "names": names, "scope": scope, "versions": served},
            "status": {"conditions": conditions, "acceptedNames": names},
        }
    )
